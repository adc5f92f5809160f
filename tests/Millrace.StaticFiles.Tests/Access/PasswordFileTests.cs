using Millrace.StaticFiles.Access;
using Millrace.StaticFiles.Tests.Kit;

namespace Millrace.StaticFiles.Tests.Access;

public sealed class PasswordFileTests : IDisposable
{
    private static readonly string Ann = $"ann:{TestHash.Of("secret")}\n";
    private static readonly string Bob = $"bob:{TestHash.Of("secret")}\n";

    private readonly TempSite _site = new();

    private string Path => _site.PathOf("users");

    public void Dispose() => _site.Dispose();

    [Fact]
    public void A_file_that_did_not_change_keeps_its_table()
    {
        PasswordFile file = Open(Ann);
        PasswordTable table = file.Table;

        Assert.False(file.Refresh());
        File.SetLastWriteTimeUtc(Path, DateTime.UtcNow.AddHours(-1));
        Assert.False(file.Refresh());

        Assert.Same(table, file.Table);
        Assert.Null(file.Refusal);
    }

    [Fact]
    public void A_file_rewritten_in_place_with_the_same_size_and_time_is_read_again()
    {
        PasswordFile file = Open(Ann);
        DateTime modifiedAt = File.GetLastWriteTimeUtc(Path);

        File.WriteAllText(Path, Bob);
        File.SetLastWriteTimeUtc(Path, modifiedAt);

        Assert.True(file.Refresh());
        Assert.True(Knows(file, "bob"u8));
        Assert.False(Knows(file, "ann"u8));
    }

    [Fact]
    public void A_file_swapped_by_rename_or_behind_a_symlink_is_read_again()
    {
        _site.File("v1/users", Ann);
        _site.File("v2/users", Bob);
        File.CreateSymbolicLink(Path, "v1/users");
        PasswordFile file = PasswordFile.Open(Path, TestHash.Library);

        File.CreateSymbolicLink(_site.PathOf("next"), "v2/users");
        Assert.Equal(0, TestCalls.Rename(_site.PathOf("next"), Path));

        Assert.True(file.Refresh());
        Assert.True(Knows(file, "bob"u8));
    }

    [Fact]
    public void An_invalid_file_keeps_the_previous_users_reports_why_and_is_read_when_fixed()
    {
        PasswordFile file = Open(Ann);

        File.WriteAllText(Path, "ann:plain\n");
        Assert.False(file.Refresh());
        Assert.Contains("users:1 ", file.Refusal!.Cause, StringComparison.Ordinal);
        Assert.True(Knows(file, "ann"u8));
        Assert.False(file.Refresh());
        Assert.NotNull(file.Refusal);

        File.Delete(Path);
        Assert.False(file.Refresh());
        Assert.Contains("does not exist", file.Refusal.Cause, StringComparison.Ordinal);
        Assert.True(Knows(file, "ann"u8));

        File.WriteAllText(Path, Bob);
        Assert.True(file.Refresh());
        Assert.Null(file.Refusal);
        Assert.True(Knows(file, "bob"u8));
    }

    [Fact]
    public async Task A_bad_file_that_became_quiet_is_still_refused()
    {
        PasswordFile file = Open(Ann);
        File.WriteAllText(Path, "ann:plain\n");
        await Task.Delay(100, TestContext.Current.CancellationToken);

        for (int i = 0; i < 3; i++)
        {
            Assert.False(file.Refresh());
            Assert.NotNull(file.Refusal);
        }
    }

    [Fact]
    public void What_is_no_file_is_refused_without_waiting_for_it()
    {
        Assert.Equal(0, TestCalls.MakeFifo(Path, 0x1b6));

        Assert.Contains("not a regular file", Refused().Cause, StringComparison.Ordinal);
        File.Delete(Path);
        Directory.CreateDirectory(Path);
        Assert.Contains("not a regular file", Refused().Cause, StringComparison.Ordinal);
    }

    [Fact]
    public void A_file_that_is_missing_or_too_large_is_refused_with_a_remedy()
    {
        Assert.Contains("htpasswd", Refused().Remedy, StringComparison.Ordinal);

        using (FileStream file = File.Create(Path))
        {
            file.SetLength(PasswordFile.BytesMax + 1);
        }

        Assert.Contains("bytes", Refused().Cause, StringComparison.Ordinal);
    }

    [Fact]
    public void A_check_of_the_file_leaves_no_descriptor_open()
    {
        PasswordFile file = Open(Ann);

        for (int i = 0; i < 10; i++)
        {
            _ = file.Refresh();
        }

        Assert.Equal(0, _site.OpenDescriptorCount());
    }

    private SiteException Refused() => Assert.Throws<SiteException>(() => PasswordFile.Open(Path, TestHash.Library));

    private PasswordFile Open(string content)
    {
        File.WriteAllText(Path, content);
        return PasswordFile.Open(Path, TestHash.Library);
    }

    private static bool Knows(PasswordFile file, ReadOnlySpan<byte> user)
    {
        _ = file.Table.HashOf(user, out bool isKnown);
        return isKnown;
    }
}
