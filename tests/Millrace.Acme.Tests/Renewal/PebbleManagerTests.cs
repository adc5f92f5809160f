using System.Runtime.Versioning;
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
        await using ChallengeResponder responder = await ChallengeResponder.StartAsync(pebble.HttpPort, pebble.TlsPort, manager.Challenges);
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
