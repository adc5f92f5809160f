using System.Security.Cryptography;
using Millrace.Server.Tests.Http3.Kit;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Http3;

/// <summary>HTTP/3 with impit, whose QUIC is quinn, in Node.</summary>
public class ImpitTests
{
    private const string Browser = "chrome";

    [Theory]
    [InlineData("chrome")]
    [InlineData("firefox")]
    public async Task Files_of_all_sizes_arrive_whole_at_once(string browser)
    {
        int[] sizes = [1, 1_200, 16_384, 70_000, 3_000_000];
        await using Http3Site site = await StartAsync(sizes);
        int[] asked = [.. Enumerable.Range(0, 60).Select(i => sizes[i % sizes.Length])];
        await AssertArriveAsync(site, site.Port, asked, browser);
        await site.AwaitLogAsync(" HTTP/3.0\"", asked.Length);
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task A_file_of_100_megabytes_arrives_whole()
    {
        await using Http3Site site = await StartAsync([100_000_000]);
        await AssertArriveAsync(site, site.Port, [100_000_000], Browser);
    }

    [Theory]
    [InlineData(0.01)]
    [InlineData(0.05)]
    [InlineData(0.1)]
    [Trait("Rfc", "9002-6")]
    public async Task Lost_packets_in_both_directions_are_sent_again(double loss)
    {
        await using Http3Site site = await StartAsync([1_000, 1_000_000]);
        await using var relay = new DatagramRelay(site.Port, new DatagramRelayOptions { Loss = loss });
        await AssertArriveAsync(site, relay.Port, [1_000, 1_000_000, 1_000, 1_000_000], Browser);
        Assert.InRange(await site.ReadMetricAsync("millrace_quic_packets_lost_total"), 1, double.MaxValue);
    }

    [Fact]
    [Trait("Rfc", "9000-8.1.2")]
    public async Task A_client_that_is_sent_a_retry_comes_back_with_its_token()
    {
        await using Http3Site site = await StartAsync([100_000], "--reactors", "1");
        await ClientPrograms.ImpitAsync();
        await UnfinishedHandshakes.RetryAsync(site, port => AssertArriveAsync(site, port, [100_000], Browser));
    }

    /// <summary>The server closes the first connection when it was idle for a second.</summary>
    [Fact]
    [Trait("Rfc", "9001-4.5")]
    public async Task A_client_resumes_its_session()
    {
        await using Http3Site site = await StartAsync([1_000], "--keep-alive-timeout", "1");
        string line = LineOf(site, 1_000);
        Assert.Equal($"{line}\n{line}\n", await RunAsync(site, site.Port, [Browser, "--again", "4"], [1_000]));
        Assert.Equal(2, await site.ReadMetricAsync("millrace_quic_handshakes_total", ("outcome", "complete")));
        Assert.Equal(1, await site.ReadMetricAsync("millrace_tls_handshakes_total", ("outcome", "resumed")));
    }

    [Theory]
    [InlineData("127.0.0.1")]
    [InlineData("127.0.0.2")]
    [Trait("Rfc", "9000-9.3")]
    public async Task A_client_whose_address_is_changed_by_a_nat_is_followed(string address)
    {
        await using Http3Site site = await StartAsync([20_000_000], "--reactors", "2");
        await using var relay = new DatagramRelay(site.Port, DatagramRelayOptions.Moving(address));
        await AssertArriveAsync(site, relay.Port, [20_000_000], Browser);
        Assert.Equal(1, relay.Moves);
        Assert.Equal(1, await site.ReadMetricAsync("millrace_quic_migrations_total"));
        Assert.Equal(1, await site.ReadMetricAsync("millrace_quic_handshakes_total"));
    }

    [Fact]
    [Trait("Rfc", "9000-10.2")]
    public async Task A_client_that_leaves_early_leaves_nothing_behind()
    {
        await using Http3Site site = await StartAsync([50_000_000, 1_000], "--keep-alive-timeout", "10");
        Assert.Equal(LineOf(site, 1_000) + "\n", await RunAsync(site, site.Port, [Browser, "--leave"], [50_000_000, 1_000]));
        await site.AwaitNoConnectionsAsync();
        await AssertArriveAsync(site, site.Port, [1_000], Browser);
        Assert.Equal(0, await site.ReadMetricAsync("millrace_quic_connections_failed_total"));
    }

    private static Task<Http3Site> StartAsync(int[] sizes, params string[] flags) => Http3Site.StartWithMetricsAsync(
        folder => Array.ForEach(sizes, size => folder.Add($"{size}.bin", size)), flags);

    private static string LineOf(Http3Site site, int size)
    {
        using FileStream file = File.OpenRead(site.Folder.PathOf($"{size}.bin"));
        return $"200 {size} {Convert.ToHexString(SHA256.HashData(file))}";
    }

    private static async Task AssertArriveAsync(Http3Site site, int port, int[] sizes, string browser)
    {
        string output = await RunAsync(site, port, [browser], sizes);
        string[] lines = [.. sizes.Distinct().Select(size => LineOf(site, size))];
        Assert.Equal(
            sizes.Select(size => lines.Single(line => line.StartsWith($"200 {size} ", StringComparison.Ordinal))),
            output.Split('\n', StringSplitOptions.RemoveEmptyEntries));
    }

    private static async Task<string> RunAsync(Http3Site site, int port, string[] words, int[] sizes) => await Tool.RunToSuccessAsync(
        Http3Site.Patience, "node",
        [
            await ClientPrograms.ImpitAsync(), .. words,
            .. sizes.Select(size => $"https://localhost:{port}/{size}.bin"),
        ]);
}
