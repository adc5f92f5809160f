using System.Text.RegularExpressions;
using Millrace.Engine;
using Millrace.Tls.Tests.Kit;

namespace Millrace.Tls.Tests;

/// <summary>What the programs say that people judge a server's TLS with.</summary>
public class ScannerTests : TlsTest
{
    [Fact]
    public async Task Sslscan_finds_nothing()
    {
        Listener listener = await ServeTlsAsync(WebHandler.ServeAsync);
        string seen = await Tools.RunAsync(
            TimeSpan.FromMinutes(3), "sslscan", "", "--no-colour", "--no-check-certificate", $"127.0.0.1:{PortOf(listener)}");
        string[] lines = seen.Split('\n');
        foreach (string version in (string[])["SSLv2", "SSLv3", "TLSv1.0", "TLSv1.1"])
        {
            Assert.Matches($"{version} +disabled", Assert.Single(lines, line => line.StartsWith(version + " ", StringComparison.Ordinal)));
        }

        Assert.Contains("Session renegotiation not supported", seen, StringComparison.Ordinal);
        Assert.Contains("Server supports TLS Fallback SCSV", seen, StringComparison.Ordinal);
        string[] ciphers = [.. lines.Where(static line => Regex.IsMatch(line, "^(Accepted|Preferred) +TLSv1.2 "))];
        Assert.Equal(3, ciphers.Length);
        Assert.All(ciphers, static line => Assert.Matches("ECDHE-ECDSA-(AES(128|256)-GCM-SHA(256|384)|CHACHA20-POLY1305)", line));
    }

    [Fact]
    [Trait("Duration", "Long")]
    public async Task Testssl_finds_nothing()
    {
        Listener listener = await ServeTlsAsync(WebHandler.ServeAsync);
        string seen = await Tools.RunAsync(
            TimeSpan.FromMinutes(10), "testssl", "", "--color", "0", "--quiet", "--warnings", "off", "-p", "-s", "-f", "-U",
            $"https://127.0.0.1:{PortOf(listener)}");
        Assert.Contains("TLS 1.3    offered (OK)", seen, StringComparison.Ordinal);
        Assert.DoesNotContain("NOT ok", seen, StringComparison.Ordinal);
        Assert.DoesNotContain("VULNERABLE", seen, StringComparison.Ordinal);
    }
}
