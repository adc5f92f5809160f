using System.Net;
using System.Net.Sockets;
using System.Runtime.Versioning;
using Millrace.Acme.Protocol;
using Millrace.Acme.Storage;
using Millrace.Acme.Tests.Kit;

namespace Millrace.Acme.Tests.Renewal;

/// <summary>The manager with a server that others have made, on the clock of the machine.</summary>
[SupportedOSPlatform("linux")]
public sealed class PebbleManagerTests : IDisposable
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(60);
    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("millrace-acme-");
    private readonly RecordingLog _log = new();

    public void Dispose()
    {
        _folder.Delete(recursive: true);
        _log.Dispose();
    }

    [Theory]
    [InlineData("http-01")]
    [InlineData("tls-alpn-01")]
    [InlineData("dns-01")]
    public async Task A_certificate_of_several_names_is_obtained_by(string challenge)
    {
        Assert.SkipUnless(Pebble.IsInstalled, "pebble is not installed.");
        Assert.SkipUnless(challenge != "dns-01" || ChildProcess.IsInstalled("curl"), "curl is not installed.");
        await using Pebble pebble = await Pebble.StartAsync(new PebbleOptions { RejectedNonces = 15, SleepSecondsMax = 1 });
        string[] names = challenge == "dns-01" ? ["one.example", "*.one.example"] : ["one.example", "www.one.example", "127.0.0.1"];
        StoredCertificate certificate = await ObtainAsync(pebble, TimeProvider.System, challenge, names);
        Assert.Equal(names.Order(), certificate.Names.Order());
        Assert.Contains(_log.Lines, line => line.Id == 813 && line.Text.Contains(challenge, StringComparison.Ordinal));
    }

    [Theory]
    [InlineData("http-01")]
    [InlineData("tls-alpn-01")]
    public async Task A_certificate_of_an_address_of_version_6_is_obtained_by(string challenge)
    {
        Assert.SkipUnless(Pebble.IsInstalled, "pebble is not installed.");
        Assert.SkipUnless(Socket.OSSupportsIPv6, "This machine has no IPv6.");
        await using Pebble pebble = await Pebble.StartAsync();
        StoredCertificate certificate = await ObtainAsync(pebble, TimeProvider.System, challenge, "::1");
        Assert.Equal(["::1"], certificate.Names);
        Assert.Contains(_log.Lines, line => line.Id == 813 && line.Text.Contains(challenge, StringComparison.Ordinal));
    }

    [Fact]
    public async Task A_certificate_is_renewed_after_a_restart()
    {
        Assert.SkipUnless(Pebble.IsInstalled, "pebble is not installed.");
        await using Pebble pebble = await Pebble.StartAsync(new PebbleOptions { Validity = TimeSpan.FromDays(90), ReusedAuthorizations = 50 });
        StoredCertificate first = await ObtainAsync(pebble, TimeProvider.System, "http-01", "one.example");
        StoredCertificate second = await ObtainAsync(pebble, new ShiftedClock(TimeSpan.FromDays(61)), "http-01", "one.example");
        Assert.NotEqual(first.Leaf.Thumbprint, second.Leaf.Thumbprint);
        Assert.Single(_log.Lines, static line => line.Id == 800);
    }

    [Fact]
    public async Task An_account_whose_URL_is_wrong_is_found_by_its_key()
    {
        Assert.SkipUnless(Pebble.IsInstalled, "pebble is not installed.");
        await using Pebble pebble = await Pebble.StartAsync(new PebbleOptions { Validity = TimeSpan.FromDays(90) });
        await ObtainAsync(pebble, TimeProvider.System, "http-01", "one.example");

        string file = Directory.GetFiles(_folder.FullName, "account.json", SearchOption.AllDirectories).Single();
        string text = File.ReadAllText(file);
        int end = text.LastIndexOf("\"url\"", StringComparison.Ordinal);
        File.WriteAllText(file, text[..end] + text[end..].Replace("/my-account/", "/my-account/0", StringComparison.Ordinal));
        Assert.NotEqual(text, File.ReadAllText(file));
        await ObtainAsync(pebble, new ShiftedClock(TimeSpan.FromDays(61)), "http-01", "one.example");
        string url = text[end..text.IndexOf('}', end)].Trim();
        Assert.Contains(url, File.ReadAllText(file), StringComparison.Ordinal);
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task A_kill_at_any_step_is_continued_to_the_end()
    {
        Assert.SkipUnless(Pebble.IsInstalled, "pebble is not installed.");
        await using Pebble pebble = await Pebble.StartAsync(new PebbleOptions { Validity = TimeSpan.FromDays(90) });
        for (int at = 0; ; at++)
        {
            int orders = Count(pebble, "Added order");
            int issued = Count(pebble, "Issued certificate serial");
            string folder = Path.Combine(_folder.FullName, $"kill-{at}");
            IReadOnlyList<string> steps = await KillAsync(pebble, folder, at);
            if (steps.Count <= at)
            {
                // It has obtained its certificate before.
                Assert.True(at > 30, string.Join('\n', steps));
                break;
            }

            string where = $"killed at step {at}:\n{string.Join('\n', steps)}";
            StoredCertificate certificate = await ObtainAsync(pebble, folder, at);
            Assert.Equal([$"kill-{at}.example"], certificate.Names);
            Assert.True(Count(pebble, "Issued certificate serial") == issued + 1, where);

            // Orders that cannot be continued: one whose URL did not reach the disk, and one that was validated when nobody answered.
            bool isUnknown = steps.Contains("after CreateOrderAsync") && steps.Count(static step => step == "after writing order.json") < 2;
            bool isFailed = steps.Contains("before AcceptChallengeAsync") && !steps.Contains("before FinalizeAsync");
            int made = Count(pebble, "Added order") - orders;
            Assert.True(isUnknown ? made == 2 : isFailed ? made is 1 or 2 : made == 1, $"{made} orders, {where}");
            Assert.Equal(["account.json", "account.key"], Files(folder, "account*"));
            Assert.Empty(Files(folder, "*.tmp"));
            Assert.Empty(Files(folder, "order.json"));
        }
    }

    private static int Count(Pebble pebble, string words) => pebble.Log.Split(words).Length - 1;

    private static IEnumerable<string> Files(string folder, string pattern) =>
        [.. Directory.GetFiles(folder, pattern, SearchOption.AllDirectories).Select(static file => Path.GetFileName(file)).Order()];

    /// <summary>The steps until a process was killed, or had obtained its certificate.</summary>
    private async Task<IReadOnlyList<string>> KillAsync(Pebble pebble, string folder, int at)
    {
        var steps = new List<string>();
        var ended = new TaskCompletionSource();
        void Step(string step)
        {
            // From here on nothing is sent or written any more.
            if (steps.Count <= at)
            {
                steps.Add(step);
            }

            if (steps.Count > at)
            {
                ended.TrySetResult();
                throw new KillTests.KilledException();
            }
        }

        await using var manager = new AcmeManager(
            Options(pebble, folder, $"kill-{at}.example"), AcmeChallengeTypes.Http01, () => ended.TrySetResult(), _log, TimeProvider.System,
            (options, clock, log) => new SteppedClient(AcmeClient.Create(options, clock, log), Step), Step);
        await using ChallengeResponder responder = await ChallengeResponder.StartAsync(pebble.HttpPort, pebble.TlsPort, manager.Challenges);
        manager.Start();
        await ended.Task.WaitAsync(Patience);
        return steps;
    }

    private async Task<StoredCertificate> ObtainAsync(Pebble pebble, string folder, int at)
    {
        await using var manager = new AcmeManager(
            Options(pebble, folder, $"kill-{at}.example"), AcmeChallengeTypes.Http01, static () => { }, _log);
        await using ChallengeResponder responder = await ChallengeResponder.StartAsync(pebble.HttpPort, pebble.TlsPort, manager.Challenges);
        manager.Start();
        await manager.Waits.WhenIdleAsync().WaitAsync(Patience);

        // The waits of an order are short; only the one for the renewal is not.
        while (!(manager.Waits.NextWake > DateTimeOffset.UtcNow + TimeSpan.FromMinutes(5)))
        {
            // Sleeps: the authority is another process, which has no clock of ours.
            await Task.Delay(TimeSpan.FromMilliseconds(20), TestContext.Current.CancellationToken);
            await manager.Waits.WhenIdleAsync().WaitAsync(Patience);
        }

        Assert.Null(manager.Certificates.Single().LastError);
        return StoredCertificate.Parse(File.ReadAllText(manager.Certificates.Single().File!));
    }

    private static AcmeOptions Options(Pebble pebble, string folder, string name) => new()
    {
        Certificates = [[name]],
        Directory = folder,
        DirectoryUrl = pebble.Directory,
        RootsFile = pebble.RootsFile,
    };

    private async Task<StoredCertificate> ObtainAsync(Pebble pebble, TimeProvider clock, string challenge, params string[] names)
    {
        var options = new AcmeOptions
        {
            Certificates = [names],
            Directory = Path.Combine(_folder.FullName, "acme"),
            DirectoryUrl = pebble.Directory,
            RootsFile = pebble.RootsFile,
            DnsHook = challenge == "dns-01" ? Hook(pebble) : null,
        };
        AcmeChallengeTypes answered = challenge switch
        {
            "http-01" => AcmeChallengeTypes.Http01,
            "tls-alpn-01" => AcmeChallengeTypes.TlsAlpn01,
            _ => AcmeChallengeTypes.None,
        };
        var changed = new TaskCompletionSource();
        await using var manager = new AcmeManager(options, answered, changed.SetResult, _log, clock);
        await using ChallengeResponder responder = await ChallengeResponder.StartAsync(
            pebble.HttpPort, pebble.TlsPort, manager.Challenges, names.Contains("::1") ? IPAddress.IPv6Loopback : null);
        manager.Start();
        try
        {
            await changed.Task.WaitAsync(Patience);
        }
        catch (TimeoutException)
        {
            Assert.Fail($"no certificate:\n{_log}\n{pebble.Log}");
        }

        return StoredCertificate.Parse(File.ReadAllText(manager.Certificates.Single().File!));
    }

    private string Hook(Pebble pebble)
    {
        string file = Path.Combine(_folder.FullName, "hook");
        File.WriteAllText(file, $$"""
            #!/bin/sh -e
            case $1 in
              present) curl -sSf -d "{\"host\":\"$3.\",\"value\":\"$4\"}" {{pebble.DnsManagement}}set-txt ;;
              cleanup) curl -sSf -d "{\"host\":\"$3.\"}" {{pebble.DnsManagement}}clear-txt ;;
            esac

            """);
        File.SetUnixFileMode(file, UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute);
        return file;
    }

    /// <summary>The machine's, which is ahead.</summary>
    private sealed class ShiftedClock(TimeSpan ahead) : TimeProvider
    {
        public override DateTimeOffset GetUtcNow() => base.GetUtcNow() + ahead;
    }
}
