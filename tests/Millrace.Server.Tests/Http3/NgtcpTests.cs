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
    public async Task Many_files_at_once_arrive_whole() => await DownloadAsync(50_000, count: 300);

    [Theory]
    [InlineData("AES-128-GCM")]
    [InlineData("AES-256-GCM")]
    [InlineData("CHACHA20-POLY1305")]
    public async Task Every_cipher_suite_is_spoken(string cipher) =>
        await DownloadAsync(100_000, 1, $"--ciphers=NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:+{cipher}");

    [Theory]
    [InlineData("0.05", "0.05")]
    [InlineData("0.1", "0.2")]
    [Trait("Rfc", "9002-6")]
    public async Task Lost_packets_in_both_directions_are_sent_again(string sent, string received) =>
        await DownloadAsync(Megabyte, 1, "-t", sent, "-r", received);

    /// <summary>A client of two reactors: what comes from its new port reaches the one that has its connection.</summary>
    [Theory]
    [InlineData("--change-local-addr=20ms")]
    [InlineData("--change-local-addr=20ms", "--nat-rebinding")]
    [Trait("Rfc", "9000-9")]
    public async Task A_client_that_changes_its_address_is_followed(params string[] options)
    {
        // With nothing to send, a client behind a NAT would wait for what its old port does not get any more.
        await using Http3Site site = await Http3Site.StartAsync(static folder => folder.Add("file", 1000), "--reactors", "2");
        string upload = site.PathOf("upload");
        await File.WriteAllBytesAsync(upload, new byte[10 * Megabyte]);
        string output = await AskAsync(site, ["/file"], ["-d", upload, .. options]);
        Assert.Contains("[:status: ", output, StringComparison.Ordinal);
    }

    [Fact]
    [Trait("Rfc", "9001-6")]
    public async Task A_client_that_updates_its_keys_is_followed() => await DownloadAsync(20 * Megabyte, 1, "--key-update=10ms");

    [Fact]
    [Trait("Rfc", "9000-6")]
    public async Task A_client_of_another_version_gets_the_list_of_versions_and_takes_one() =>
        await DownloadAsync(1000, 1, "-v", "0x1a2a3a4a", "--preferred-versions=v1");

    /// <summary>Early data is not accepted, and what it has is sent again.</summary>
    [Theory]
    [InlineData("--disable-early-data")]
    [InlineData]
    [Trait("Rfc", "9001-4.6.2")]
    public async Task A_client_with_a_session_of_before_is_served(params string[] more)
    {
        await using Http3Site site = await Http3Site.StartAsync(static folder => folder.Add("file", 1000));
        string[] options = [$"--session-file={site.PathOf("session")}", $"--tp-file={site.PathOf("parameters")}", .. more];
        await AskAsync(site, ["/file"], options);
        Assert.True(File.Exists(site.PathOf("session")), "The client has no session.");
        string output = await AskAsync(site, ["/file"], options);
        Assert.Contains("[:status: 200]", output, StringComparison.Ordinal);
    }

    private static async Task DownloadAsync(int size, int count, params string[] options)
    {
        byte[] content = [];
        await using Http3Site site = await Http3Site.StartAsync(folder =>
        {
            content = folder.Add("file", size);
            for (int i = 0; i < count; i++)
            {
                File.WriteAllBytes(folder.PathOf($"file{i}"), content);
            }
        });
        using var received = new TempFolder();
        string[] paths = [.. Enumerable.Range(0, count).Select(static i => $"/file{i}")];
        string output = await AskAsync(site, paths, [$"--download={received.Root}", .. options]);
        foreach (string path in paths)
        {
            string file = received.PathOf(path[1..]);
            Assert.True(File.Exists(file), output[Math.Max(0, output.Length - 4000)..]);
            using FileStream stream = File.OpenRead(file);
            Assert.Equal(SHA256.HashData(content), await SHA256.HashDataAsync(stream));
        }

        string log = await site.AwaitLogAsync(" HTTP/3.0\" 200 ", count);
        Assert.DoesNotContain(" HTTP/2.0\"", log, StringComparison.Ordinal);
    }

    private static async Task<string> AskAsync(Http3Site site, IEnumerable<string> paths, params string[] options)
    {
        Tool.Require("gtlsclient");
        string port = site.Port.ToString(CultureInfo.InvariantCulture);
        ToolResult result = await Tool.RunAsync(
            Http3Site.Patience,
            "gtlsclient",
            [
                "--exit-on-all-streams-close", "--no-quic-dump", "--timeout=10s", .. options, "--sni=localhost", "127.0.0.1", port,
                .. paths.Select(path => new Uri(site.Url, path).ToString()),
            ]);
        string output = result.Output + result.Error;
        Assert.True(result.ExitCode == 0, output[Math.Max(0, output.Length - 4000)..]);
        return output;
    }
}
