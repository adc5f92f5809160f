using System.Security.Cryptography;
using Millrace.Server.Tests.Http3.Kit;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Http3;

/// <summary>HTTP/3 with quic-go, by a small program that is compiled once.</summary>
public class QuicGoTests
{
    [Fact]
    public async Task Files_of_all_sizes_arrive_whole_at_once()
    {
        int[] sizes = [0, 1, 1_200, 16_384, 70_000, 3_000_000];
        await using Http3Site site = await StartAsync(sizes);
        int[] asked = [.. Enumerable.Range(0, 120).Select(i => sizes[i % sizes.Length])];
        await AssertArriveAsync(site, site.Port, asked);

        ToolResult missing = await RunAsync(site, site.Port, [], ["none"]);
        Assert.StartsWith("HTTP/3.0 404 ", missing.Output, StringComparison.Ordinal);
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task A_file_of_100_megabytes_arrives_whole()
    {
        await using Http3Site site = await StartAsync([100_000_000]);
        await AssertArriveAsync(site, site.Port, [100_000_000]);
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
        await AssertArriveAsync(site, relay.Port, [1_000, 1_000_000, 1_000, 1_000_000]);
        Assert.InRange(await site.ReadMetricAsync("millrace_quic_packets_lost_total"), 1, double.MaxValue);
    }

    [Fact]
    [Trait("Rfc", "9000-8.1.2")]
    public async Task A_client_that_is_sent_a_retry_comes_back_with_its_token()
    {
        await using Http3Site site = await StartAsync([100_000], "--reactors", "1");
        await ClientPrograms.QuicGoAsync();
        await UnfinishedHandshakes.RetryAsync(
            site, async port => Assert.Contains("retry", await AssertArriveAsync(site, port, [100_000]), StringComparison.Ordinal));
    }

    [Fact]
    [Trait("Rfc", "9001-4.5")]
    public async Task A_client_resumes_its_session()
    {
        await using Http3Site site = await StartAsync([1_000]);
        ToolResult result = await RunAsync(site, site.Port, ["-again"], ["1000.bin"]);
        string line = LineOf(site, 1_000);
        Assert.Equal($"{line}\n{line}\n", result.Output);
        Assert.Equal("resumed\n", result.Error);
        Assert.Equal(1, await site.ReadMetricAsync("millrace_tls_handshakes_total", ("outcome", "resumed")));
    }

    [Fact]
    [Trait("Rfc", "9001-6")]
    public async Task A_client_that_updates_its_keys_again_and_again_is_followed()
    {
        using var events = new TempFolder();
        await using Http3Site site = await StartAsync([10_000_000], "--qlog", events.Root);
        string said = await AssertArriveAsync(site, site.Port, [10_000_000], "-key-update", "1000");
        Assert.InRange(said.Split("key update ").Length - 1, 3, int.MaxValue);
        await QlogFiles.AwaitEventAsync(events, "security:key_updated");
    }

    [Theory]
    [InlineData("127.0.0.1")]
    [InlineData("127.0.0.2")]
    [Trait("Rfc", "9000-9")]
    public async Task A_client_that_changes_its_port_or_its_address_is_followed(string address)
    {
        await using Http3Site site = await StartAsync([20_000_000], "--reactors", "2");
        await AssertArriveAsync(site, site.Port, [20_000_000], "-move-to", address);
        Assert.Equal(1, await site.ReadMetricAsync("millrace_quic_migrations_total"));
        Assert.Equal(1, await site.ReadMetricAsync("millrace_quic_handshakes_total"));
    }

    [Fact]
    [Trait("Rfc", "9000-6")]
    public async Task A_client_of_another_version_gets_the_list_of_versions_and_takes_one()
    {
        await using Http3Site site = await StartAsync([1_000]);
        string said = await AssertArriveAsync(site, site.Port, [1_000], "-old-version");
        Assert.StartsWith("version negotiation [", said, StringComparison.Ordinal);
        Assert.Equal(1, await site.ReadMetricAsync("millrace_quic_version_negotiations_total"));
    }

    [Fact]
    [Trait("Rfc", "9000-10.2")]
    public async Task A_client_that_leaves_early_leaves_nothing_behind()
    {
        await using Http3Site site = await StartAsync([50_000_000, 1_000]);
        ToolResult left = await RunAsync(site, site.Port, ["-leave-after", "100000"], ["50000000.bin"]);
        Assert.Equal("100000 of 50000000\n", left.Output);
        await site.AwaitNoConnectionsAsync();
        await AssertArriveAsync(site, site.Port, [1_000]);
        Assert.Equal(0, await site.ReadMetricAsync("millrace_quic_connections_failed_total"));
    }

    private static Task<Http3Site> StartAsync(int[] sizes, params string[] flags) => Http3Site.StartWithMetricsAsync(
        folder => Array.ForEach(sizes, size => folder.Add($"{size}.bin", size)), flags);

    private static string LineOf(Http3Site site, int size)
    {
        using FileStream file = File.OpenRead(site.Folder.PathOf($"{size}.bin"));
        return $"HTTP/3.0 200 {size} {Convert.ToHexString(SHA256.HashData(file))}";
    }

    /// <summary>Fetches files of these sizes at once, and compares them. Returns what the client says of its connection.</summary>
    private static async Task<string> AssertArriveAsync(Http3Site site, int port, int[] sizes, params string[] switches)
    {
        ToolResult result = await RunAsync(site, port, switches, [.. sizes.Select(static size => $"{size}.bin")]);
        string[] lines = [.. sizes.Distinct().Select(size => LineOf(site, size))];
        Assert.Equal(
            sizes.Select(size => lines.Single(line => line.StartsWith($"HTTP/3.0 200 {size} ", StringComparison.Ordinal))),
            result.Output.Split('\n', StringSplitOptions.RemoveEmptyEntries));
        return result.Error;
    }

    private static async Task<ToolResult> RunAsync(Http3Site site, int port, string[] switches, string[] names)
    {
        ToolResult result = await Tool.RunAsync(
            Http3Site.Patience, await ClientPrograms.QuicGoAsync(),
            [.. switches, site.Authority, .. names.Select(name => $"https://localhost:{port}/{name}")]);
        Assert.True(result.ExitCode == 0, result.Output + result.Error);
        return result;
    }
}
