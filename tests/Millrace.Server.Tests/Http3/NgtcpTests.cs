using System.Globalization;
using System.Security.Cryptography;
using Millrace.Server.Tests.Http3.Kit;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Http3;

/// <summary>HTTP/3 with the client of ngtcp2 and nghttp3.</summary>
public class NgtcpTests
{
    private const int Megabyte = 1024 * 1024;

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(1200)]
    [InlineData(100_000)]
    [InlineData(20 * Megabyte)]
    public async Task A_file_of_any_size_arrives_whole(int size) => await DownloadAsync(size, count: 1);

    [Fact]
    [Trait("Duration", "Full")]
    public async Task A_file_of_100_megabytes_arrives_whole() => await DownloadAsync(100 * Megabyte, count: 1, "-q");

    [Fact]
    public async Task Many_files_at_once_arrive_whole() => await DownloadAsync(50_000, count: 300);

    [Theory]
    [InlineData("AES-128-GCM")]
    [InlineData("AES-256-GCM")]
    [InlineData("CHACHA20-POLY1305")]
    public async Task Every_cipher_suite_is_spoken(string cipher) =>
        await DownloadAsync(100_000, 1, $"--ciphers=NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:+{cipher}");

    [Theory]
    [InlineData("0.01", "0.01")]
    [InlineData("0.05", "0.05")]
    [InlineData("0.1", "0.1")]
    [InlineData("0.1", "0.2")]
    [Trait("Rfc", "9002-6")]
    public async Task Lost_packets_in_both_directions_are_sent_again(string sent, string received) =>
        await DownloadAsync(Megabyte, 1, "-t", sent, "-r", received);

    /// <summary>With two reactors, what comes from its new port reaches the one that has its connection.</summary>
    [Fact]
    [Trait("Rfc", "9000-9")]
    public async Task A_client_that_changes_its_port_is_followed()
    {
        await using Http3Site site = await StartAsync(50 * Megabyte, 1, "--reactors", "2");
        await DownloadAsync(site, site.Port, 1, "-q", "--change-local-addr=20ms");
        Assert.Equal(1, await site.ReadMetricAsync("millrace_quic_migrations_total"));
        Assert.Equal(1, await site.ReadMetricAsync("millrace_quic_handshakes_total"));
    }

    [Theory]
    [InlineData("127.0.0.1")]
    [InlineData("127.0.0.2")]
    [Trait("Rfc", "9000-9.3")]
    public async Task A_client_whose_address_is_changed_by_a_nat_is_followed(string address)
    {
        await using Http3Site site = await StartAsync(20 * Megabyte, 1, "--reactors", "2");
        await using var relay = new DatagramRelay(site.Port, DatagramRelayOptions.Moving(address));
        await DownloadAsync(site, relay.Port, 1, "-q");
        Assert.Equal(1, relay.Moves);
        Assert.Equal(1, await site.ReadMetricAsync("millrace_quic_migrations_total"));
        Assert.Equal(1, await site.ReadMetricAsync("millrace_quic_handshakes_total"));
    }

    [Fact]
    [Trait("Rfc", "9001-6")]
    public async Task A_client_that_updates_its_keys_is_followed()
    {
        using var events = new TempFolder();
        await using Http3Site site = await StartAsync(20 * Megabyte, 1, "--qlog", events.Root);
        await DownloadAsync(site, site.Port, 1, "-q", "--key-update=10ms");
        await QlogFiles.AwaitEventAsync(events, "security:key_updated");
    }

    [Fact]
    [Trait("Rfc", "9000-6")]
    public async Task A_client_of_another_version_gets_the_list_of_versions_and_takes_one()
    {
        await using Http3Site site = await StartAsync(1000, 1);
        await DownloadAsync(site, site.Port, 1, "-v", "0x1a2a3a4a", "--preferred-versions=v1");
        Assert.Equal(1, await site.ReadMetricAsync("millrace_quic_version_negotiations_total"));
    }

    [Fact]
    [Trait("Rfc", "9000-8.1.2")]
    public async Task A_client_that_is_sent_a_retry_comes_back_with_its_token()
    {
        await using Http3Site site = await StartAsync(100_000, 1, "--reactors", "1");
        await UnfinishedHandshakes.RetryAsync(site, port => DownloadAsync(site, port, 1));
    }

    /// <summary>The first response is small; the others are in progress when it has arrived.</summary>
    [Fact]
    [Trait("Rfc", "9000-10.2")]
    public async Task A_client_that_leaves_early_leaves_nothing_behind()
    {
        await using Http3Site site = await StartAsync(50 * Megabyte, 3);
        site.Folder.Add("small", 1);
        await AskAsync(site, site.Port, ["/file0", "/file1", "/file2", "/small"], ["-q", "--exit-on-first-stream-close"]);
        await site.AwaitNoConnectionsAsync();
        await DownloadAsync(site, site.Port, 1, "-q");
        Assert.Equal(0, await site.ReadMetricAsync("millrace_quic_connections_failed_total"));
    }

    /// <summary>Early data is not accepted, and what it has is sent again.</summary>
    [Theory]
    [InlineData("--disable-early-data")]
    [InlineData]
    [Trait("Rfc", "9001-4.6.2")]
    public async Task A_client_with_a_session_of_before_is_served(params string[] more)
    {
        await using Http3Site site = await Http3Site.StartWithMetricsAsync(static folder => folder.Add("file", 1000));
        string[] options = [$"--session-file={site.PathOf("session")}", $"--tp-file={site.PathOf("parameters")}", .. more];
        await AskAsync(site, site.Port, ["/file"], options);
        Assert.True(File.Exists(site.PathOf("session")), "The client has no session.");
        string output = await AskAsync(site, site.Port, ["/file"], options);
        Assert.Contains("[:status: 200]", output, StringComparison.Ordinal);
        Assert.Equal(1, await site.ReadMetricAsync("millrace_tls_handshakes_total", ("outcome", "resumed")));
    }

    /// <summary>A site with so many files of one size.</summary>
    private static Task<Http3Site> StartAsync(int size, int count, params string[] flags) => Http3Site.StartWithMetricsAsync(
        folder =>
        {
            byte[] content = folder.Add("file0", size);
            for (int i = 1; i < count; i++)
            {
                File.WriteAllBytes(folder.PathOf($"file{i}"), content);
            }
        },
        flags);

    private static async Task DownloadAsync(int size, int count, params string[] options)
    {
        await using Http3Site site = await StartAsync(size, count);
        await DownloadAsync(site, site.Port, count, options);
    }

    /// <summary>Downloads the first files, and compares them.</summary>
    private static async Task DownloadAsync(Http3Site site, int port, int count, params string[] options)
    {
        using var received = new TempFolder();
        string[] names = [.. Enumerable.Range(0, count).Select(static i => $"file{i}")];
        string output = await AskAsync(site, port, names.Select(static name => $"/{name}"), [$"--download={received.Root}", .. options]);
        byte[] expected = await HashOfAsync(site.Folder.PathOf("file0"));
        foreach (string name in names)
        {
            Assert.True(File.Exists(received.PathOf(name)), output[Math.Max(0, output.Length - 4000)..]);
            Assert.Equal(expected, await HashOfAsync(received.PathOf(name)));
        }

        string log = await site.AwaitLogAsync(" HTTP/3.0\" 200 ", count);
        Assert.DoesNotContain(" HTTP/2.0\"", log, StringComparison.Ordinal);
    }

    private static async Task<byte[]> HashOfAsync(string file)
    {
        using FileStream stream = File.OpenRead(file);
        return await SHA256.HashDataAsync(stream);
    }

    private static async Task<string> AskAsync(Http3Site site, int port, IEnumerable<string> paths, params string[] options)
    {
        Tool.Require("gtlsclient");
        ToolResult result = await Tool.RunAsync(
            Http3Site.Patience,
            "gtlsclient",
            [
                .. options.Contains("--exit-on-first-stream-close") ? (string[])[] : ["--exit-on-all-streams-close"],
                // It would print the bytes of all bodies, which takes most of its time.
                "--no-quic-dump", "--no-http-dump", "--timeout=10s", .. options, "--sni=localhost",
                "127.0.0.1", port.ToString(CultureInfo.InvariantCulture),
                .. paths.Select(path => new Uri(site.Url, path).ToString()),
            ]);
        string output = result.Output + result.Error;
        Assert.True(result.ExitCode == 0, output[Math.Max(0, output.Length - 4000)..]);
        return output;
    }
}
