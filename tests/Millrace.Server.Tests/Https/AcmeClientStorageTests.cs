using System.Runtime.InteropServices;
using System.Runtime.Versioning;
using System.Security.Cryptography.X509Certificates;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Https;

/// <summary>What other ACME clients have stored is served as it is, and again after they have renewed it.</summary>
[SupportedOSPlatform("linux")]
[Trait("Duration", "Full")]
public class AcmeClientStorageTests
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(60);

    [Fact]
    public async Task Certificates_of_lego_are_served_and_read_again_after_a_renewal()
    {
        Tool.Require("lego");
        await using AcmePlace place = await AcmePlace.MakeAsync();
        string[] client =
        [
            "env", $"LEGO_CA_CERTIFICATES={place.Authority.RootsFile}", "lego", "--path", place.Folder.PathOf("lego"), "--accept-tos",
            "--email", "owner@site.test", "--domains", "site.test", "--server", place.Authority.Directory.AbsoluteUri, "--http",
            "--http.port", $"127.0.0.1:{place.Authority.HttpPort}",
        ];
        await ServesAsync(
            place, [.. client, "run"], [.. client, "renew", "--days", "10000", "--no-random-sleep"],
            place.Folder.PathOf("lego/certificates/site.test.crt"), place.Folder.PathOf("lego/certificates/site.test.key"));
    }

    [Fact]
    public async Task Certificates_of_certbot_are_served_and_read_again_after_a_renewal()
    {
        Tool.Require("certbot");
        await using AcmePlace place = await AcmePlace.MakeAsync();
        string[] client =
        [
            "env", $"REQUESTS_CA_BUNDLE={place.Authority.RootsFile}", "certbot", "certonly", "--standalone", "--non-interactive",
            "--agree-tos", "--register-unsafely-without-email", "-d", "site.test", "--server", place.Authority.Directory.AbsoluteUri,
            "--http-01-address", "127.0.0.1", "--http-01-port", $"{place.Authority.HttpPort}", "--config-dir", place.Folder.PathOf("certbot"),
            "--work-dir", place.Folder.PathOf("work"), "--logs-dir", place.Folder.PathOf("logs"),
        ];
        await ServesAsync(
            place, client, [.. client, "--force-renewal"],
            place.Folder.PathOf("certbot/live/site.test/fullchain.pem"), place.Folder.PathOf("certbot/live/site.test/privkey.pem"));
    }

    private static async Task ServesAsync(AcmePlace place, string[] obtain, string[] renew, string certificate, string key)
    {
        _ = await Tool.RunToSuccessAsync(Patience, obtain[0], obtain[1..]);
        await using ServerProcess server = await place.StartAsync(
            Places.SampleSite, "--https", $"127.0.0.1:{place.Authority.TlsPort}", "--cert", certificate, "--key", key);
        using HttpClient client = await place.TrustingAsync();
        var page = new Uri("https://site.test/");
        Assert.Contains("Aldermere Mill", await client.GetStringAsync(page, TestContext.Current.CancellationToken), StringComparison.Ordinal);
        using X509Certificate2 first = await place.CertificateAsync("site.test");

        _ = await Tool.RunToSuccessAsync(Patience, renew[0], renew[1..]);
        server.Signal(PosixSignal.SIGHUP);
        await server.AwaitErrorAsync("Certificates reloaded");
        using X509Certificate2 second = await place.CertificateAsync("site.test");
        Assert.NotEqual(first.SerialNumber, second.SerialNumber);
        using HttpClient another = await place.TrustingAsync();
        Assert.Contains("Aldermere Mill", await another.GetStringAsync(page, TestContext.Current.CancellationToken), StringComparison.Ordinal);
    }
}
