using System.Runtime.Versioning;
using Millrace.Acme.Tests.Renewal;

namespace Millrace.Acme.Tests.Challenges;

/// <summary>Which challenges are answered, how, and what is left of them.</summary>
[SupportedOSPlatform("linux")]
public sealed class ChallengeTests
{
    private static readonly TimeSpan Soon = TimeSpan.FromMinutes(1);

    [Theory]
    [InlineData(AcmeChallengeTypes.Http01, "http-01")]
    [InlineData(AcmeChallengeTypes.TlsAlpn01, "tls-alpn-01")]
    [InlineData(AcmeChallengeTypes.Http01 | AcmeChallengeTypes.TlsAlpn01, "tls-alpn-01")]
    public async Task A_challenge_that_can_be_answered_is_chosen(AcmeChallengeTypes answered, string expected)
    {
        await using AcmeWorld world = await AcmeWorld.CreateAsync();
        RunningManager running = world.Start(answered: answered);
        await world.RunUntilAsync(() => running.Only.File is not null, Soon);
        Assert.Equal([expected], Valid(world));
    }

    [Fact]
    public async Task After_a_failure_another_type_is_tried_at_once_and_stays_first()
    {
        await using AcmeWorld world = await AcmeWorld.CreateAsync();
        world.Authority.Unreachable.Add("tls-alpn-01");
        RunningManager running = world.Start();
        await world.RunUntilAsync(() => running.Only.Failures == 1, Soon);
        Assert.Contains("could not validate example.org by tls-alpn-01", running.Only.LastError, StringComparison.Ordinal);
        Assert.Contains("connection refused", running.Only.LastError, StringComparison.Ordinal);

        // At once: not after the pause that follows a failure.
        await world.RunUntilAsync(() => running.Only.File is not null, TimeSpan.FromSeconds(20));
        Assert.Equal(["http-01"], Valid(world));
        await world.SleepUntilRenewalAsync(running);
        await world.RunUntilAsync(() => world.Authority.Issued.Count() == 2, TimeSpan.FromHours(2));
        Assert.Equal(["http-01", "http-01"], Valid(world));
        Assert.Equal(3, world.Authority.Orders.Count);
    }

    [Fact]
    public async Task An_authorization_that_stays_pending_is_given_up_and_deactivated()
    {
        await using AcmeWorld world = await AcmeWorld.CreateAsync();
        world.Authority.IsStuck = true;
        world.Authority.Offered = ["http-01"];
        RunningManager running = world.Start(options => options with { Certificates = [["example.org", "www.example.org"]] });
        await world.RunUntilAsync(() => running.Only.Failures == 1, TimeSpan.FromMinutes(6));
        Assert.Contains("did not validate", running.Only.LastError, StringComparison.Ordinal);
        Assert.Equal(["deactivated", "deactivated"], world.Authority.Authorizations.Select(static one => one.Status));
        Assert.Empty(Directory.GetFiles(world.Store, "order.json", SearchOption.AllDirectories));
        world.Authority.IsStuck = false;
        await world.RunUntilAsync(() => running.Only.File is not null, TimeSpan.FromMinutes(2));
    }

    [Fact]
    public async Task A_pause_that_is_longer_than_a_validation_may_take_is_cut()
    {
        await using AcmeWorld world = await AcmeWorld.CreateAsync();
        world.Authority.ValidationRetryAfter = TimeSpan.FromHours(1);
        RunningManager running = world.Start();
        await world.RunUntilAsync(() => running.Only.File is not null, TimeSpan.FromMinutes(6));
        Assert.Equal(0, running.Only.Failures);
    }

    [Fact]
    public async Task When_one_name_fails_the_others_authorizations_are_given_up()
    {
        await using AcmeWorld world = await AcmeWorld.CreateAsync();
        world.Authority.Offered = ["http-01", "dns-01"];
        world.Authority.Unreachable.Add("http-01");
        RunningManager running = world.Start(options => options with { Certificates = [["a.example", "b.example", "c.example"]] });
        await world.RunUntilAsync(() => running.Only.Failures == 1, TimeSpan.FromMinutes(6));
        Assert.DoesNotContain("pending", world.Authority.Authorizations.Select(static one => one.Status));
    }

    [Fact]
    public async Task Nothing_stays_in_the_table()
    {
        await using AcmeWorld world = await AcmeWorld.CreateAsync();
        world.Authority.Unreachable.Add("tls-alpn-01");
        RunningManager running = world.Start();
        await world.RunUntilAsync(() => running.Only.File is not null, TimeSpan.FromMinutes(3));
        Assert.All(
            world.Authority.Authorizations.SelectMany(static one => one.Challenges),
            challenge => Assert.False(running.Manager.Challenges.TryGetKeyAuthorization(challenge.Token, out _)));
        Assert.False(running.Manager.Challenges.TryGetCertificate("example.org", out _));
        Assert.Empty(Directory.GetFiles(Path.Combine(world.Store, "challenges")));
    }

    [Fact]
    public async Task A_wildcard_is_proved_by_the_hook_which_removes_its_record()
    {
        await using AcmeWorld world = await AcmeWorld.CreateAsync();
        string hook = Hook(world, Recording);
        RunningManager running = world.Start(options => options with { Certificates = [["example.org", "*.example.org"]], DnsHook = hook });
        await world.RunUntilAsync(() => running.Only.File is not null, Soon);
        Assert.Contains("example.org-p256-", running.Only.File, StringComparison.Ordinal);
        Assert.Equal(["dns-01", "tls-alpn-01"], Valid(world).Order(StringComparer.Ordinal));
        string[] calls = File.ReadAllLines(Path.Combine(world.Folder, "calls"));
        Assert.Equal(["present example.org _acme-challenge.example.org", "cleanup example.org _acme-challenge.example.org"],
            calls.Select(static line => line[..line.LastIndexOf(' ')]));
        Assert.Empty(File.ReadAllLines(world.Authority.DnsFile!));
    }

    [Fact]
    public async Task A_hook_alone_proves_every_host()
    {
        await using AcmeWorld world = await AcmeWorld.CreateAsync();
        string hook = Hook(world, Recording);
        RunningManager running = world.Start(
            options => options with { Certificates = [["*.example.org", "example.org", "example.com"]], DnsHook = hook },
            AcmeChallengeTypes.None);
        await world.RunUntilAsync(() => running.Only.File is not null, Soon);
        Assert.Contains("/_.example.org-p256-", running.Only.File, StringComparison.Ordinal);
        Assert.Equal(["dns-01", "dns-01", "dns-01"], Valid(world));
        Assert.Empty(File.ReadAllLines(world.Authority.DnsFile!));
    }

    [Fact]
    public async Task A_hook_that_fails_is_quoted_and_its_record_removed()
    {
        await using AcmeWorld world = await AcmeWorld.CreateAsync();
        string hook = Hook(world, Recording + "if [ $1 = present ]; then echo noise; echo one >&2; echo 'no such zone' >&2; exit 3; fi\n");
        RunningManager running = world.Start(options => options with { DnsHook = hook }, AcmeChallengeTypes.None);
        await world.RunUntilAsync(() => running.Only.Failures == 1, Soon);
        Assert.Contains("exited with 3: no such zone", running.Only.LastError, StringComparison.Ordinal);
        Assert.Empty(File.ReadAllLines(world.Authority.DnsFile!));
        Assert.Equal("deactivated", world.Authority.Authorizations.Single().Status);
    }

    [Fact]
    public async Task A_hook_that_does_not_end_is_killed_after_five_minutes()
    {
        await using AcmeWorld world = await AcmeWorld.CreateAsync();
        string fifo = Path.Combine(world.Folder, "started");
        string hook = Hook(world, $"if [ $1 = present ]; then touch {fifo}; exec sleep 1000; fi\n");
        RunningManager running = world.Start(options => options with { DnsHook = hook }, AcmeChallengeTypes.None);
        await FileAsync(fifo);
        world.Clock.Advance(TimeSpan.FromMinutes(4.9));
        Assert.Equal(0, running.Only.Failures);
        world.Clock.Advance(TimeSpan.FromMinutes(0.2));
        await world.RunUntilAsync(() => running.Only.Failures == 1, Soon);
        Assert.Contains("did not end within 5 minutes", running.Only.LastError, StringComparison.Ordinal);
    }

    [Fact]
    public async Task What_a_hook_says_cannot_rewrite_the_log()
    {
        await using AcmeWorld world = await AcmeWorld.CreateAsync();
        string hook = Hook(world, "printf 'no\\033[2Jrecord\\n' >&2; exit 3\n");
        RunningManager running = world.Start(options => options with { DnsHook = hook }, AcmeChallengeTypes.None);
        await world.RunUntilAsync(() => running.Only.Failures == 1, Soon);
        Assert.Contains("exited with 3: no [2Jrecord", running.Only.LastError, StringComparison.Ordinal);
        Assert.DoesNotContain(world.Log.Lines, static line => line.Text.Contains('\u001b', StringComparison.Ordinal));
    }

    [Fact]
    public async Task The_end_of_the_server_kills_the_hook_and_leaves_the_order()
    {
        await using AcmeWorld world = await AcmeWorld.CreateAsync();
        string started = Path.Combine(world.Folder, "started");
        string hook = Hook(world, Recording + $"if [ $1 = present ] && [ ! -e {started} ]; then echo $$ > {started}; exec sleep 1000; fi\n");
        RunningManager running = world.Start(options => options with { DnsHook = hook }, AcmeChallengeTypes.None);
        await FileAsync(started);
        await world.StopAsync(running);
        RunningManager next = world.Start(options => options with { DnsHook = hook }, AcmeChallengeTypes.None);
        await world.RunUntilAsync(() => next.Only.File is not null, Soon);
        Assert.Single(world.Authority.Orders);
        Assert.Empty(File.ReadAllLines(world.Authority.DnsFile!));
    }

    [Fact]
    public async Task A_record_of_a_killed_process_is_removed_by_the_next()
    {
        await using AcmeWorld world = await AcmeWorld.CreateAsync();
        string hook = Hook(world, Recording);
        bool isDead = false;
        RunningManager killed = world.Start(
            options => options with { DnsHook = hook },
            AcmeChallengeTypes.None,
            step => isDead = isDead || (step == "before GetAuthorizationAsync" && world.Authority.Count("challenge") > 0)
                ? throw new IOException("killed")
                : false);
        await world.RunUntilAsync(() => world.Authority.Count("challenge") > 0, Soon);

        // The hook's cleanup runs in this simulation, as it would not after a kill: the record is put back.
        string[] calls = File.ReadAllLines(Path.Combine(world.Folder, "calls"));
        string[] record = calls[0].Split(' ');
        await world.StopAsync(killed);
        File.WriteAllText(world.Authority.DnsFile!, $"{record[2]} {record[3]}\n");
        RunningManager next = world.Start(options => options with { DnsHook = hook }, AcmeChallengeTypes.None);
        await world.RunUntilAsync(() => next.Only.File is not null, Soon);
        Assert.Single(world.Authority.Orders);
        Assert.Empty(File.ReadAllLines(world.Authority.DnsFile!));
    }

    [Fact]
    public async Task A_host_that_no_offered_challenge_proves_says_so()
    {
        await using AcmeWorld world = await AcmeWorld.CreateAsync();
        world.Authority.Offered = ["dns-01"];
        RunningManager running = world.Start();
        await world.RunUntilAsync(() => running.Only.Failures == 1, Soon);
        Assert.Contains("the authority offers dns-01", running.Only.LastError, StringComparison.Ordinal);
        Assert.Equal("deactivated", world.Authority.Authorizations.Single().Status);
    }

    /// <summary>Notes its calls, and keeps the records in the file that the authority reads.</summary>
    private const string Recording = """
        echo "$@" >> calls
        touch dns
        if [ $1 = present ]; then echo "$3 $4" >> dns; else grep -v "^$3 $4" dns > dns.new; mv dns.new dns; fi

        """;

    private static string Hook(AcmeWorld world, string script)
    {
        string file = Path.Combine(world.Folder, "hook");
        world.Authority.DnsFile = Path.Combine(world.Folder, "dns");
        File.WriteAllText(file, $"#!/bin/sh\ncd {world.Folder}\n{script}\n");
        File.SetUnixFileMode(file, UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute);
        return file;
    }

    /// <summary>Waits for a file of another process.</summary>
    private static async Task FileAsync(string path)
    {
        using var watcher = new FileSystemWatcher(Path.GetDirectoryName(path)!, Path.GetFileName(path)) { EnableRaisingEvents = true };
        var created = new TaskCompletionSource();
        watcher.Created += (_, _) => created.TrySetResult();
        if (!File.Exists(path))
        {
            await created.Task.WaitAsync(TimeSpan.FromSeconds(30));
        }
    }

    private static IEnumerable<string> Valid(AcmeWorld world) =>
        from authorization in world.Authority.Authorizations
        from challenge in authorization.Challenges
        where challenge.Status == "valid"
        select challenge.Type;
}
