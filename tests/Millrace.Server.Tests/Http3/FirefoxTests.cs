using System.Diagnostics;
using Millrace.Server.Tests.Http3.Kit;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Http3;

/// <summary>HTTP/3 with a Firefox of the machine, whose pages report what they have seen by the last request that they make.</summary>
public class FirefoxTests
{
    private const string Firefox = "firefox-esr";

    private static readonly string[] Quiet =
    [
        "\"network.http.http3.disable_when_third_party_roots_found\", false",
        "\"browser.shell.checkDefaultBrowser\", false",
        "\"browser.aboutwelcome.enabled\", false",
        "\"datareporting.policy.dataSubmissionEnabled\", false",
        "\"toolkit.telemetry.enabled\", false",
        "\"app.update.enabled\", false",
        "\"network.captive-portal-service.enabled\", false",
        "\"network.connectivity-service.enabled\", false",
        "\"extensions.getAddons.cache.enabled\", false",
        "\"services.settings.server\", \"http://localhost:9\"",
        "\"network.dns.disableIPv6\", true",
    ];

    [Fact]
    public async Task A_page_of_a_hundred_parts_is_loaded_whole()
    {
        Require();
        const string report =
            "onload = async () => { "
            + "const counts = (" + HundredParts.Count + ")(); "
            + "const old = performance.getEntriesByType('resource')"
            + ".filter(one => one.name.startsWith('https:') && one.nextHopProtocol !== 'h3').length; "
            + "await fetch('/seen-' + counts.join('-') + '-' + old); };";
        await using Http3Site site = await Http3Site.StartAsync(static folder => HundredParts.Write(folder, report));
        using Process browser = await StartAsync(site, $"\"network.http.http3.alt-svc-mapping-for-testing\", \"localhost;h3=:{site.Port}\"");
        try
        {
            string log = await site.AwaitLogAsync("GET /seen-");
            Assert.Equal("/seen-40-30-30-0 HTTP/3.0", log[(log.IndexOf("GET /seen-", StringComparison.Ordinal) + 4)..].Split('"')[0]);
            // The page itself may come by HTTP/2, where the handshake of QUIC is not the first to end.
            Assert.True(log.Split(" HTTP/3.0\"").Length > 100, log);
        }
        finally
        {
            await EndAsync(browser);
        }
    }

    private static void Require()
    {
        Tool.Require(Firefox);
        Tool.Require("certutil");
    }

    /// <summary>A browser with a profile that trusts the site's authority, and with its page open.</summary>
    private static async Task<Process> StartAsync(Http3Site site, params string[] preferences)
    {
        string profile = Directory.CreateDirectory(site.PathOf("profile")).FullName;
        await Tool.RunToSuccessAsync(Http3Site.Patience, "certutil", "-N", "-d", $"sql:{profile}", "--empty-password");
        await Tool.RunToSuccessAsync(
            Http3Site.Patience, "certutil", "-A", "-n", "authority", "-t", "C,,", "-i", site.Authority, "-d", $"sql:{profile}");
        await File.WriteAllLinesAsync(
            Path.Combine(profile, "user.js"), Quiet.Concat(preferences).Select(static preference => $"user_pref({preference});"));
        var start = new ProcessStartInfo(Firefox, ["--headless", "--no-remote", "--profile", profile, site.Url.ToString()])
        {
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };
        start.Environment["HOME"] = profile;
        Process browser = Process.Start(start)!;
        _ = browser.StandardOutput.ReadToEndAsync();
        _ = browser.StandardError.ReadToEndAsync();
        return browser;
    }

    private static async Task EndAsync(Process browser)
    {
        browser.Kill(entireProcessTree: true);
        await browser.WaitForExitAsync().WaitAsync(Http3Site.Patience);
    }
}
