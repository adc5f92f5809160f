using System.Runtime.InteropServices;
using System.Runtime.Versioning;
using System.Security.Cryptography.X509Certificates;
using Microsoft.Extensions.Logging;
using Millrace.Acme.Storage;

namespace Millrace.Acme.Tests.Renewal;

/// <summary>Several processes on one folder.</summary>
[SupportedOSPlatform("linux")]
public sealed partial class ReaderTests : AcmeTest
{
    [Fact]
    public async Task A_second_process_reads_and_takes_over_when_the_first_has_ended()
    {
        RunningManager holder = World.Start();
        await World.WhenIdleAsync();
        RunningManager reader = World.Start();
        Assert.False(holder.Manager.IsReader);
        Assert.True(reader.Manager.IsReader);
        await World.RunUntilAsync(() => holder.Only.File is not null, Soon);
        await holder.ChangedAsync();
        await World.RunUntilAsync(() => reader.Only.File is not null, TimeSpan.FromSeconds(11));
        await reader.ChangedAsync();
        Assert.Equal(holder.Only with { Names = reader.Only.Names }, reader.Only);
        Assert.True(reader.Manager.IsReader);

        await World.RunForAsync(TimeSpan.FromDays(1));
        await World.StopAsync(holder);
        Assert.Equal(1, World.Authority.Count("new-order"));
        await World.RunUntilAsync(() => !reader.Manager.IsReader, TimeSpan.FromSeconds(11));
        RunningManager third = World.Start();
        Assert.True(third.Manager.IsReader);
        await World.SleepUntilRenewalAsync(reader);
        await World.RunUntilAsync(() => World.Authority.Issued.Count() == 2, TimeSpan.FromHours(2));
        await World.RunUntilAsync(() => third.Only.NotAfter > World.Now + TimeSpan.FromDays(80), Soon);
        await reader.ChangedAsync();
        await third.ChangedAsync();
        Assert.Single(World.Authority.Accounts);
        Assert.False(third.HasUnseenChanges);
    }

    [Fact]
    public async Task A_reader_shows_what_the_holder_fails_with()
    {
        World.Authority.IsDown = true;
        RunningManager holder = World.Start();
        RunningManager reader = World.Start();
        await World.RunUntilAsync(() => holder.Only.Failures == 2, TimeSpan.FromMinutes(5));
        await World.RunForAsync(TimeSpan.FromSeconds(11));
        Assert.Equal(holder.Only.LastError, reader.Only.LastError);
        Assert.Equal(holder.Only.NextRenewal, reader.Only.NextRenewal);
        Assert.False(reader.HasUnseenChanges);
    }

    [Theory]
    [InlineData("http-01", "example.org")]
    [InlineData("tls-alpn-01", "example.org")]
    [InlineData("tls-alpn-01", "::1")]
    public async Task A_reader_answers_the_challenges_of_the_holder(string challenge, string name)
    {
        World.Authority.Offered = [challenge];
        RunningManager holder = World.Start(options => options with { Certificates = [[name]] });
        RunningManager reader = World.Start(options => options with { Certificates = [[name]] });
        Assert.True(reader.Manager.IsReader);
        World.Authority.Tables.Remove(holder.Manager.Challenges);
        await World.RunUntilAsync(() => holder.Only.File is not null, Soon);
        Assert.Equal(0, holder.Only.Failures);
        Assert.Empty(Directory.GetFiles(Path.Combine(World.Store, "challenges")));
    }

    [Fact]
    public async Task A_reader_finds_only_what_is_open_and_does_not_read_without_end()
    {
        World.Authority.IsStuck = true;
        RunningManager holder = World.Start();
        RunningManager reader = World.Start();
        await World.RunForAsync(TimeSpan.FromSeconds(30));
        string token = World.Authority.Authorizations.Single().Challenges.Single(static one => one.Status == "processing").Token;
        ChallengeTable table = reader.Manager.Challenges;
        Assert.Null(await table.FindCertificateAsync("another.example"));
        using X509Certificate2 certificate = Assert.IsType<X509Certificate2>(await table.FindCertificateAsync("example.org"));
        Assert.True(certificate.HasPrivateKey);
        foreach (string other in (string[])[token, "", "../lock", "example.org", new string('a', 5000)])
        {
            Assert.True((await table.FindKeyAuthorizationAsync(other)).IsEmpty);
        }

        string[] files = Directory.GetFiles(Path.Combine(World.Store, "challenges"));
        Assert.Equal(UnixFileMode.UserRead | UnixFileMode.UserWrite, File.GetUnixFileMode(Assert.Single(files)));
        File.WriteAllText(files[0], "-----BEGIN");
        Assert.Null(await table.FindCertificateAsync("example.org"));
        Assert.Contains(World.Log.Lines, static line => line.Id == 803);

        // A file that is never read to its end, as on a network that is gone. 16 look-ups wait for it, another one does not.
        File.Delete(files[0]);
        Assert.Equal(0, MakeFifo(files[0], 0x180));
        ValueTask<X509Certificate2?>[] waiting = [.. Enumerable.Range(0, 16).Select(_ => table.FindCertificateAsync("example.org"))];
        Assert.All(waiting, static one => Assert.False(one.IsCompleted));
        ValueTask<X509Certificate2?> beyond = table.FindCertificateAsync("example.org");
        Assert.True(beyond.IsCompletedSuccessfully);
        Assert.Null(await beyond);
        foreach (ValueTask<X509Certificate2?> one in waiting)
        {
            Assert.Null(await one);
        }

        await using var end = new FileStream(files[0], FileMode.Open, FileAccess.Write);
        Assert.True(holder.Manager.Challenges.TryGetCertificate("example.org", out _));
    }

    [Fact]
    public async Task A_process_that_takes_over_continues_the_order_under_way()
    {
        World.Authority.IssuanceTime = TimeSpan.FromMinutes(3);
        RunningManager holder = World.Start();
        RunningManager reader = World.Start();
        await World.RunUntilAsync(() => World.Authority.Count("finalize") == 1, Soon);
        await World.StopAsync(holder);
        await World.RunUntilAsync(() => reader.Only.File is not null, TimeSpan.FromMinutes(5));
        Assert.Equal(1, World.Authority.Count("new-order"));
        Assert.Equal(1, World.Authority.Count("finalize"));
        StoredCertificate.Parse(File.ReadAllText(reader.Only.File!));
    }

    [Fact]
    public async Task A_process_whose_names_nobody_obtains_says_so()
    {
        RunningManager holder = await World.ObtainAsync(options => options with { Certificates = [["a.example"]] });
        RunningManager reader = World.Start(options => options with { Certificates = [["b.example", "a.example"], ["a.example"]] });
        await World.RunForAsync(TimeSpan.FromMinutes(1));
        Assert.Contains("b.example", reader.Manager.Certificates[0].LastError, StringComparison.Ordinal);
        Assert.Contains($"process {Environment.ProcessId} ", reader.Manager.Certificates[0].LastError, StringComparison.Ordinal);
        Assert.Contains("a folder of its own", reader.Manager.Certificates[0].LastError, StringComparison.Ordinal);
        Assert.Null(reader.Manager.Certificates[1].LastError);
        (LogLevel Level, int Id, string Text) line = Assert.Single(World.Log.Lines, static line => line.Level >= LogLevel.Warning);
        Assert.Equal((LogLevel.Warning, 827), (line.Level, line.Id));
        Assert.Contains("b.example", line.Text, StringComparison.Ordinal);
        Assert.Contains(World.Store, line.Text, StringComparison.Ordinal);

        // The holder takes the names in.
        holder.Manager.Replace([["a.example"], ["b.example", "a.example"]]);
        await World.RunForAsync(TimeSpan.FromMinutes(1));
        Assert.All(reader.Manager.Certificates, static one => Assert.Null(one.LastError));
        Assert.All(reader.Manager.Certificates, static one => Assert.NotNull(one.File));
        holder.Manager.Replace([["a.example"]]);
        await World.RunForAsync(TimeSpan.FromMinutes(1));
        Assert.NotNull(reader.Manager.Certificates[0].LastError);

        // It ends: nothing of it is believed any more.
        await World.StopAsync(holder);
        await World.RunUntilAsync(() => reader.Manager.Certificates.All(static one => one is { File: not null, LastError: null }), Soon);
        Assert.False(reader.Manager.IsReader);
        Assert.Equal(2, World.Authority.Orders.Count);
    }

    [Fact]
    public async Task A_process_that_groups_the_same_names_otherwise_follows_the_renewals()
    {
        RunningManager holder = await World.ObtainAsync(options => options with { Certificates = [["a.example", "b.example"]] });
        RunningManager reader = World.Start(options => options with { Certificates = [["b.example"], ["a.example"]] });
        Assert.All(reader.Manager.Certificates, one => Assert.Equal(holder.Only.File, one.File));
        await World.SleepUntilRenewalAsync(holder);
        await World.RunUntilAsync(() => World.Authority.Issued.Count() == 2, TimeSpan.FromHours(2));
        await World.RunUntilAsync(
            () => reader.Manager.Certificates.All(one => one.NotAfter > World.Now + TimeSpan.FromDays(80)), Soon);
        await reader.ChangedAsync();
        Assert.All(reader.Manager.Certificates, static one => Assert.Null(one.LastError));
    }

    [Fact]
    public async Task Certificates_are_read_while_the_lock_cannot_be_tried()
    {
        World.Authority.IssuanceTime = TimeSpan.FromMinutes(1);
        RunningManager holder = World.Start();
        await World.WhenIdleAsync();
        RunningManager reader = World.Start();
        File.Delete(Path.Combine(World.Store, "lock"));
        Directory.CreateDirectory(Path.Combine(World.Store, "lock"));
        await World.RunUntilAsync(() => holder.Only.File is not null, TimeSpan.FromMinutes(3));
        await World.RunUntilAsync(() => reader.Only.File is not null, TimeSpan.FromSeconds(11));
        await reader.ChangedAsync();
        Assert.Single(World.Log.Lines, static line => line.Level >= LogLevel.Warning);
        Assert.True(reader.Manager.IsReader);

        await World.StopAsync(holder);
        Directory.Delete(Path.Combine(World.Store, "lock"));
        await World.RunUntilAsync(() => !reader.Manager.IsReader, TimeSpan.FromSeconds(11));
    }

    [LibraryImport("libc", EntryPoint = "mkfifo", StringMarshalling = StringMarshalling.Utf8)]
    private static partial int MakeFifo(string path, uint mode);
}
