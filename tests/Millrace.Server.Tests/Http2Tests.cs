using System.Net;
using System.Security.Cryptography;
using System.Text.RegularExpressions;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests;

/// <summary>HTTP/2 as the public has it: agreed on within TLS, with clients of others.</summary>
public partial class Http2Tests
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(60);

    [Theory]
    [InlineData("--http2", "2")]
    [InlineData("--http1.1", "1.1")]
    public async Task Curl_has_the_version_it_asks_for(string version, string expected)
    {
        Tool.Require("curl");
        using var keys = new TempFolder();
        await using ServerProcess server = await StartAsync(Places.SampleSite, keys);
        string shown = await Tool.RunToSuccessAsync(
            Patience, "curl", "-sk", version, "-o", keys.PathOf("page"), "-w", "%{http_version} %{http_code}", server.Url.ToString());
        Assert.Equal($"{expected} 200", shown);
        Assert.Contains("Aldermere Mill", await File.ReadAllTextAsync(keys.PathOf("page"), TestContext.Current.CancellationToken), StringComparison.Ordinal);
    }

    [Fact]
    public async Task Curl_may_begin_in_http2_without_tls()
    {
        Tool.Require("curl");
        await using ServerProcess server = await ServerProcess.StartAsync([Places.SampleSite, "--listen", "127.0.0.1:0"]);
        string shown = await Tool.RunToSuccessAsync(
            Patience, "curl", "-s", "--http2-prior-knowledge", "-o", "/dev/null", "-w", "%{http_version} %{http_code}", server.Url.ToString());
        Assert.Equal("2 200", shown);
    }

    [Fact]
    public async Task Sixteen_connections_with_sixteen_streams_each_get_all_they_ask_for()
    {
        Tool.Require("h2load");
        using var folder = new TempFolder();
        folder.Add("10k.bin", 10_240);
        using var keys = new TempFolder();
        await using ServerProcess server = await StartAsync(folder.Root, keys);
        string shown = await Tool.RunToSuccessAsync(
            Patience, "h2load", "-n", "20000", "-c", "16", "-m", "16", new Uri(server.Url, "10k.bin").ToString());
        Assert.Contains("20000 total, 20000 started, 20000 done, 20000 succeeded, 0 failed, 0 errored, 0 timeout", shown, StringComparison.Ordinal);
        Assert.Contains("Application protocol: h2", shown, StringComparison.Ordinal);
        Match traffic = DataBytes().Match(shown);
        Assert.Equal(20_000L * 10_240, long.Parse(traffic.Groups[1].Value, System.Globalization.CultureInfo.InvariantCulture));
    }

    [Fact]
    public async Task Many_bodies_at_once_over_one_connection_are_each_whole()
    {
        using var folder = new TempFolder();
        int[] sizes = [0, 1, 300, 10_240, 16_385, 70_000, 300_000, 3_000_000];
        string[] hashes = [.. sizes.Select(size => Convert.ToHexString(SHA256.HashData(folder.Add($"{size}.bin", size))))];
        using var keys = new TempFolder();
        await using ServerProcess server = await StartAsync(folder.Root, keys);
        using HttpClient client = OwnCertificate.Trusting();
        client.DefaultRequestVersion = HttpVersion.Version20;
        client.DefaultVersionPolicy = HttpVersionPolicy.RequestVersionExact;
        await Task.WhenAll(Enumerable.Range(0, 160).Select(async i =>
        {
            using HttpResponseMessage response = await client.GetAsync(new Uri(server.Url, $"{sizes[i % sizes.Length]}.bin"));
            Assert.Equal(HttpVersion.Version20, response.Version);
            Assert.Equal(hashes[i % sizes.Length], Convert.ToHexString(SHA256.HashData(await response.Content.ReadAsByteArrayAsync())));
        })).WaitAsync(Patience, TestContext.Current.CancellationToken);
    }

    private static Task<ServerProcess> StartAsync(string root, TempFolder keys) =>
        ServerProcess.StartAsync([root, "--https", "127.0.0.1:0", .. OwnCertificate.Make(keys, "a", "a.example")]);

    [GeneratedRegex(@"\((\d+)\) data")]
    private static partial Regex DataBytes();
}
