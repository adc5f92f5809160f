using System.Globalization;
using System.Runtime.InteropServices;
using System.Text.Json;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Https;

/// <summary>Where an operator meets the expiry of a certificate.</summary>
public class ExpiryTests
{
    [Fact]
    public async Task The_start_line_the_log_metrics_and_the_live_page_have_it()
    {
        using var folder = new TempFolder();
        string[] flags = OwnCertificate.Make(folder, "a", days: 20.5, "a.example", "b.example");
        string date = DateTime.UtcNow.AddDays(20.5).ToString("yyyy-MM-dd", CultureInfo.InvariantCulture);
        await using ServerProcess server = await ServerProcess.StartAsync(
            [Places.SampleSite, "--https", "127.0.0.1:0", .. flags, "--admin", "0"]);

        Assert.Contains($"Certificate for a.example, b.example is valid until {date} (21 days)", server.Lines);
        await server.AwaitErrorAsync($"The certificate {folder.PathOf("a.crt")} (a.example, b.example) expires in 21 days, on {date}.");
        string metrics = await AskAsync(server, "metrics");
        foreach (string host in (string[])["a.example", "b.example"])
        {
            string line = metrics.Split('\n').Single(line => line.StartsWith("millrace_certificate_expiry_seconds{", StringComparison.Ordinal)
                && line.Contains($"host=\"{host}\"", StringComparison.Ordinal));
            long seconds = long.Parse(line.Split(' ')[1], CultureInfo.InvariantCulture);
            Assert.Equal(date, DateTimeOffset.FromUnixTimeSeconds(seconds).ToString("yyyy-MM-dd", CultureInfo.InvariantCulture));
        }

        using JsonDocument stats = JsonDocument.Parse(await AskAsync(server, "stats.json"));
        JsonElement certificate = Assert.Single(stats.RootElement.GetProperty("certificates").EnumerateArray());
        Assert.Equal("a.example, b.example", certificate.GetProperty("hosts").GetString());
        Assert.InRange(
            DateTimeOffset.FromUnixTimeMilliseconds(certificate.GetProperty("expiresMs").GetInt64()) - DateTimeOffset.UtcNow,
            TimeSpan.FromDays(20), TimeSpan.FromDays(21));
        Assert.Equal("valid", certificate.GetProperty("state").GetString());
        Assert.Equal($"is valid until {date} (21 days)", certificate.GetProperty("validity").GetString());
    }

    [Fact]
    public async Task A_reload_shows_the_renewed_one()
    {
        using var folder = new TempFolder();
        string[] flags = OwnCertificate.Make(folder, "a", days: 2.5, "a.example");
        await using ServerProcess server = await ServerProcess.StartAsync(
            [Places.SampleSite, "--https", "127.0.0.1:0", .. flags, "--admin", "0"]);
        await server.AwaitErrorAsync("expires in 3 days");
        using (JsonDocument due = JsonDocument.Parse(await AskAsync(server, "stats.json")))
        {
            Assert.Equal("due", due.RootElement.GetProperty("certificates")[0].GetProperty("state").GetString());
        }

        OwnCertificate.Make(folder, "a", days: 300, "a.example");
        server.Signal(PosixSignal.SIGHUP);
        await server.AwaitErrorAsync("Certificates reloaded");

        using JsonDocument stats = JsonDocument.Parse(await AskAsync(server, "stats.json"));
        long expiresMs = stats.RootElement.GetProperty("certificates")[0].GetProperty("expiresMs").GetInt64();
        Assert.True(DateTimeOffset.FromUnixTimeMilliseconds(expiresMs) > DateTimeOffset.UtcNow.AddDays(299));
    }

    [Theory]
    [InlineData(-0.5, 2, "expired on")]
    [InlineData(13.5, 0, "warning: the certificate")]
    [InlineData(14.5, 0, "")]
    public async Task Check_fails_when_it_has_expired_and_warns_before(double days, int exitCode, string words)
    {
        using var folder = new TempFolder();
        ToolResult result = await Tool.RunAsync(
            Publication.Program, ["check", Places.SampleSite, "--https", .. OwnCertificate.Make(folder, "a", days, "a.example")]);

        Assert.Equal(exitCode, result.ExitCode);
        Assert.Contains(words, result.Error, StringComparison.Ordinal);
        Assert.Equal(words.Length == 0 ? 0 : 1, result.Error.Count(static letter => letter == '\n'));
        Assert.Equal(exitCode == 0, result.Output.Contains("Certificate for a.example is valid until ", StringComparison.Ordinal));
    }

    [Theory]
    [InlineData(-0.5, "broken  certificate ", "expired on")]
    [InlineData(13.5, "slower  certificate ", "(14 days)")]
    [InlineData(14.5, "ok      certificate ", "(15 days)")]
    public async Task Doctor_judges_it(double days, string start, string words)
    {
        using var folder = new TempFolder();
        ToolResult result = await Tool.RunAsync(
            Publication.Program, ["doctor", Places.SampleSite, "--https", .. OwnCertificate.Make(folder, "a", days, "a.example")]);

        string line = Assert.Single(result.Output.Split('\n'), line => line.StartsWith(start, StringComparison.Ordinal));
        Assert.Contains(words, line, StringComparison.Ordinal);
        Assert.Equal(days < 0, result.ExitCode == 2);
    }

    private static async Task<string> AskAsync(ServerProcess server, string page)
    {
        using var client = new HttpClient();
        return await client.GetStringAsync(new Uri(server.Admin, page), TestContext.Current.CancellationToken);
    }
}
