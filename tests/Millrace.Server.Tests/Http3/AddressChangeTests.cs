using System.Globalization;
using System.Security.Cryptography;
using Millrace.Server.Tests.Http3.Kit;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Http3;

/// <summary>Clients in a network namespace whose address changes during a download.</summary>
[Trait("Rfc", "9000-9")]
public class AddressChangeTests
{
    private const int Size = 100_000_000;

    [Fact]
    public async Task Quic_go_whose_address_is_gone_continues_at_another()
    {
        string client = await ClientPrograms.QuicGoAsync();
        await AssertFollowedAsync(
            isRemoved: true,
            site => [client, site.Authority, $"{site.Url}large"],
            static (output, hash) => Assert.Equal($"HTTP/3.0 200 {Size} {hash}\n", output));
    }

    [Fact]
    public async Task Impit_whose_address_is_gone_continues_at_another()
    {
        string script = await ClientPrograms.ImpitAsync();
        await AssertFollowedAsync(
            isRemoved: true,
            site => ["node", script, "chrome", $"{site.Url}large"],
            static (output, hash) => Assert.Equal($"200 {Size} {hash}\n", output));
    }

    /// <summary>This client moves by itself, after a time, to the address that the machine has by then.</summary>
    [Fact]
    public async Task Ngtcp2s_client_moves_to_the_new_address()
    {
        Tool.Require("gtlsclient");
        using var received = new TempFolder();
        await AssertFollowedAsync(
            isRemoved: false,
            site =>
            [
                "gtlsclient", "-q", "--exit-on-all-streams-close", "--change-local-addr=200ms", $"--download={received.Root}",
                "localhost", site.Port.ToString(CultureInfo.InvariantCulture), $"{site.Url}large",
            ],
            (_, hash) =>
            {
                using FileStream file = File.OpenRead(received.PathOf("large"));
                Assert.Equal(hash, Convert.ToHexString(SHA256.HashData(file)));
            });
    }

    private static async Task AssertFollowedAsync(bool isRemoved, Func<Http3Site, string[]> command, Action<string, string> assertOutput)
    {
        await using ClientNetwork network = await ClientNetwork.CreateAsync();
        byte[] content = [];
        await using Http3Site site = await Http3Site.StartAtAsync(
            network.ServerAddress, folder => content = folder.Add("large", Size), "--admin", "127.0.0.1:0", "--reactors", "2");

        Task<ToolResult> client = network.RunAsync(command(site));
        await site.AwaitMetricAsync("millrace_quic_sent_bytes_total", 100_000);
        await network.ChangeAddressAsync(isRemoved);

        ToolResult result = await client;
        Assert.True(result.ExitCode == 0, result.Output + result.Error);
        assertOutput(result.Output, Convert.ToHexString(SHA256.HashData(content)));
        Assert.InRange(await site.ReadMetricAsync("millrace_quic_migrations_total"), 1, double.MaxValue);
        Assert.Equal(1, await site.ReadMetricAsync("millrace_quic_handshakes_total"));
    }
}
