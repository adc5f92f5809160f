using Millrace.StaticFiles.Dictionaries;
using Millrace.StaticFiles.Snapshots;
using Millrace.StaticFiles.Tests.Access;
using Millrace.StaticFiles.Tests.Compression;

namespace Millrace.StaticFiles.Tests.Dictionaries;

public sealed class DictionaryHistoryTests : IDisposable
{
    private const string Family = "/assets/app-*.js";

    private readonly DirectoryInfo _parent = Directory.CreateTempSubdirectory("millrace-dictionaries-");
    private readonly ManualTime _clock = new();
    private readonly List<Exception> _failures = [];

    private string Folder => Path.Combine(_parent.FullName, "kept");

    public void Dispose() => _parent.Delete(recursive: true);

    [Fact]
    public void Versions_survive_a_restart_newest_first_and_only_as_many_as_are_wanted()
    {
        DictionaryHistory first = Open(versionsMax: 2);
        for (int version = 1; version <= 5; version++)
        {
            Deploy(first, version);
        }

        Assert.Equal(3, first.CountHeld);

        DictionaryHistory second = Open(versionsMax: 2);
        Assert.Equal([3, 4, 5], Versions(second).Order());
        Deploy(second, 6);
        Assert.Equal([5, 4, 6], Versions(second));
#pragma warning disable CA1416 // Millrace runs only on Linux.
        Assert.All(Directory.GetFiles(Folder), static file =>
            Assert.Equal(UnixFileMode.UserRead | UnixFileMode.UserWrite, File.GetUnixFileMode(file)));
#pragma warning restore CA1416
        Assert.Equal(3, Directory.GetFiles(Folder).Length);
        Assert.Empty(_failures);
    }

    [Fact]
    public void Without_a_folder_they_are_in_memory_until_the_end()
    {
        var history = new DictionaryHistory(null, 1_000_000, 3, _clock, _failures.Add);
        Deploy(history, 1);
        Deploy(history, 2);

        Assert.Equal([1, 2], Versions(history));
        Assert.Equal(2 * 1000, history.BytesHeld);
    }

    [Fact]
    public void A_file_that_was_cut_or_changed_is_forgotten_when_it_is_read()
    {
        DictionaryHistory history = Open();
        Deploy(history, 1);
        Deploy(history, 2);
        Deploy(history, 3);
        string[] files = [.. history.Of(Family).Select(one => PathOf(one))];
        File.WriteAllBytes(files[0], File.ReadAllBytes(files[0])[..^1]);
        byte[] flipped = File.ReadAllBytes(files[1]);
        flipped[^1] ^= 1;
        File.WriteAllBytes(files[1], flipped);

        DictionaryHistory next = Open();
        Assert.Equal([3], Versions(next));
        Assert.Single(Directory.GetFiles(Folder));
        Assert.Equal(1, next.CountHeld);
    }

    [Fact]
    public void Foreign_files_are_left_alone()
    {
        Deploy(Open(), 1);
        string good = Directory.GetFiles(Folder).Single();
        string[] foreign =
        [
            "notes.txt", new string('0', 64) + "-0123456789abcdef.dict", new string('g', 64) + "-0123456789abcdef.dict", ".dict",
            Path.GetFileName(good).Replace(".dict", ".dict2", StringComparison.Ordinal),
        ];
        foreach (string name in foreign)
        {
            File.WriteAllText(Path.Combine(Folder, name), "millrace dictionary 1 /x\nother");
        }

        File.CreateSymbolicLink(Path.Combine(Folder, new string('1', 64) + "-0123456789abcdef.dict"), "/etc/passwd");
        Directory.CreateDirectory(Path.Combine(Folder, new string('2', 64) + "-0123456789abcdef.dict"));
        DictionaryHistory history = Open();
        Deploy(history, 2);

        Assert.Equal([1, 2], Versions(history));
        Assert.Equal(foreign.Length + 3, Directory.GetFiles(Folder).Length);
        Assert.Empty(_failures);
    }

    [Fact]
    public void Garbage_of_any_kind_is_never_a_dictionary()
    {
        var random = new Random(7);
        Deploy(Open(), 1);
        byte[] good = File.ReadAllBytes(Directory.GetFiles(Folder).Single());
        string goodName = Path.GetFileName(Directory.GetFiles(Folder).Single());
        for (int i = 0; i < 300; i++)
        {
            byte[] changed = [.. good];
            for (int j = random.Next(1, 5); j > 0; j--)
            {
                changed[random.Next(Math.Min(changed.Length, 100))] = (byte)random.Next(256);
            }

            File.WriteAllBytes(Path.Combine(Folder, goodName), changed[..random.Next(changed.Length)]);
            DictionaryHistory history = Open();
            Assert.All(history.Of(Family), one => Assert.Null(history.Read(one)));
            Assert.Empty(history.Of(Family));
        }

        Assert.Empty(_failures);
    }

    [Fact]
    public void A_file_that_was_being_written_when_the_server_was_killed_is_deleted_an_hour_later()
    {
        Deploy(Open(), 1);
        string left = Path.Combine(Folder, "x.dict-new");
        File.WriteAllText(left, "half");
        _ = Open();
        Assert.True(File.Exists(left));

        File.SetLastWriteTimeUtc(left, _clock.GetUtcNow().UtcDateTime - TimeSpan.FromHours(2));
        _ = Open();
        Assert.False(File.Exists(left));
    }

    [Fact]
    public void A_folder_that_is_deleted_meanwhile_is_made_again()
    {
        DictionaryHistory history = Open();
        Deploy(history, 1);
        Directory.Delete(Folder, recursive: true);

        // Until the next look it is believed to be there, and reading shows that it is not.
        Assert.Null(history.Read(history.Of(Family).Single()));
        Deploy(history, 2);
        Assert.Equal([2], Versions(history));
        Assert.Single(Directory.GetFiles(Folder));

        Directory.Delete(Folder, recursive: true);
        _clock.Advance(TimeSpan.FromMinutes(1));
        history.Refresh();
        Assert.Equal(0, history.CountHeld);
        Assert.False(history.MarkCurrent(Family, DictionaryHash.Of(Body(2))));
        Deploy(history, 2);
        Assert.Equal([2], Versions(history));
        Assert.Empty(_failures);
    }

    [Fact]
    public void A_folder_that_cannot_be_written_is_reported_and_memory_is_used()
    {
        File.WriteAllText(Folder, "a file where the folder should be");
        DictionaryHistory history = Open();
        Deploy(history, 1);
        Deploy(history, 2);

        Assert.Equal([1, 2], Versions(history));
        Assert.NotEmpty(_failures);
    }

    [Fact]
    public void A_full_disk_leaves_no_file_and_memory_is_used()
    {
        // A file system of 64 KiB, which a file of the test fills.
        Assert.SkipUnless(Environment.UserName == "root", "Only root mounts a small file system.");
        Directory.CreateDirectory(Folder);
        using var mounted = System.Diagnostics.Process.Start("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", Folder]);
        mounted.WaitForExit();
        Assert.SkipUnless(mounted.ExitCode == 0, "A file system cannot be mounted here.");
        try
        {
            File.WriteAllBytes(Path.Combine(Folder, "full"), new byte[64 * 1024]);
            DictionaryHistory history = Open();
            Deploy(history, 1);
            Deploy(history, 2);

            Assert.Equal([1, 2], Versions(history));
            Assert.NotEmpty(_failures);
            Assert.Single(Directory.GetFiles(Folder));
        }
        finally
        {
            using var unmounted = System.Diagnostics.Process.Start("umount", [Folder]);
            unmounted.WaitForExit();
        }
    }

    [Fact]
    public void The_oldest_make_room_and_what_the_site_has_stays()
    {
        DictionaryHistory history = Open(bytesMax: 2_500, versionsMax: 8);
        Deploy(history, 1);
        Deploy(history, 2);
        Deploy(history, 3);
        Assert.Equal([2, 3], Versions(history));
        Assert.Equal(2_000, history.BytesHeld);

        // Two present files fill it: a third has no place.
        Assert.True(history.TryAdd("/b-*.js", DictionaryHash.Of(Body(10)), Body(10)));
        Assert.False(history.TryAdd("/c-*.js", DictionaryHash.Of(Body(11)), Body(11)));
        Assert.Equal([3], Versions(history));
        Assert.Equal(2, Directory.GetFiles(Folder).Length);
    }

    [Fact]
    public void Two_servers_share_a_folder()
    {
        DictionaryHistory left = Open();
        DictionaryHistory right = Open();
        Deploy(left, 1);
        Deploy(right, 1);
        Deploy(left, 2);
        Assert.Equal([1, 2], Versions(left));

        _clock.Advance(TimeSpan.FromMinutes(1));
        right.Refresh();
        Deploy(right, 2);
        Assert.Equal([1, 2], Versions(right));

        // One deletes what the other believes to have.
        foreach (string file in Directory.GetFiles(Folder))
        {
            File.Delete(file);
        }

        Assert.All(left.Of(Family).ToArray(), one => Assert.Null(left.Read(one)));
        Assert.Empty(_failures);
    }

    [Fact]
    public async Task Two_servers_that_write_and_trim_at_the_same_time_leave_only_whole_files()
    {
        var folderFailures = new System.Collections.Concurrent.ConcurrentQueue<Exception>();
        await Task.WhenAll(Enumerable.Range(0, 4).Select(server => Task.Run(() =>
        {
            var history = new DictionaryHistory(new DictionaryFolder(Folder), 20_000, 2, new ManualTime(), folderFailures.Enqueue);
            for (int version = 1; version < 100; version++)
            {
                Deploy(history, version);
            }
        })));

        DictionaryHistory all = Open();
        Assert.NotEmpty(all.Of(Family));
        Assert.All(all.Of(Family), one => Assert.NotNull(all.Read(one)));
        Assert.DoesNotContain(Directory.GetFiles(Folder), static file => file.EndsWith("-new", StringComparison.Ordinal));
    }

    private static byte[] Body(int version) => TestText.Of(1000, version);

    private DictionaryHistory Open(long bytesMax = 1_000_000, int versionsMax = 3)
    {
        var history = new DictionaryHistory(new DictionaryFolder(Folder), bytesMax, versionsMax, _clock, _failures.Add);
        history.Refresh();
        return history;
    }

    /// <summary>Makes a version the only file of the family, as a deployment does.</summary>
    private void Deploy(DictionaryHistory history, int version)
    {
        _clock.Advance(TimeSpan.FromSeconds(10));
        byte[] body = Body(version);
        var hash = DictionaryHash.Of(body);
        Assert.True(history.TryAdd(Family, hash, body));
        history.Retire(new HashSet<(string, DictionaryHash)> { (Family, hash) });
    }

    private static int[] Versions(DictionaryHistory history)
    {
        StoredDictionary[] all = [.. history.Of(Family)];
        return
        [
            .. from one in all
               let bytes = history.Read(one)
               where bytes is not null
               select Enumerable.Range(1, 120).Single(version => Body(version).SequenceEqual(bytes)),
        ];
    }

    private string PathOf(StoredDictionary one) => Path.Combine(Folder, DictionaryFolder.NameOf(one.Family, one.Hash));
}
