using System.Security.Cryptography;
using Millrace.Engine.Tests.Kit;
using Millrace.Quic.Connections;
using Millrace.Tests.Shared;

namespace Millrace.Tls.Tests.Quic.Interoperation;

/// <summary>Our server with the client of ngtcp2.</summary>
public sealed class NgtcpClientTests : InteroperationTest
{
    private const int RetryType = 0xF0;
    private const int Megabyte = 1024 * 1024;

    public NgtcpClientTests()
    {
        RequirePrograms();
    }

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(1200)]
    [InlineData(100_000)]
    [InlineData(5 * Megabyte)]
    public async Task A_response_of_any_length_arrives_whole(int length)
    {
        (UdpLoop loop, Http3Server server) = Serve(length);
        await DownloadAsync(loop, ["/file"], length);
        Assert.Equal((0L, MessageWriter.HashOf(0)), Assert.Single(server.Requests));
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task A_response_of_100_megabytes_arrives_whole()
    {
        (UdpLoop loop, _) = Serve(100 * Megabyte);
        await DownloadAsync(loop, ["/file"], 100 * Megabyte, "-q");
    }

    [Fact]
    [Trait("Rfc", "9000-2")]
    public async Task Many_streams_arrive_whole()
    {
        (UdpLoop loop, Http3Server server) = Serve(50_000);
        string[] paths = [.. Enumerable.Range(0, 250).Select(static i => $"/file{i}")];
        await DownloadAsync(loop, paths, 50_000, "-q");
        Assert.Equal(paths.Length, server.Requests.Count);
    }

    [Theory]
    [InlineData(1)]
    [InlineData(3 * Megabyte)]
    public async Task What_the_client_sends_arrives_whole(int length)
    {
        (UdpLoop loop, Http3Server server) = Serve(1);
        MessageWriter.WriteFile(Pem.PathOf("upload"), length);
        await AskAsync(loop, ["/upload"], "-q", "-d", Pem.PathOf("upload"));
        Assert.Equal(((long)length, MessageWriter.HashOf(length)), Assert.Single(server.Requests));
    }

    [Theory]
    [InlineData("AES-128-GCM", "TLS_AES_128_GCM_SHA256")]
    [InlineData("AES-256-GCM", "TLS_AES_256_GCM_SHA384")]
    [InlineData("CHACHA20-POLY1305", "TLS_CHACHA20_POLY1305_SHA256")]
    [Trait("Rfc", "9001-5.3")]
    public async Task Every_cipher_suite_is_spoken(string cipher, string suite)
    {
        (UdpLoop loop, Http3Server server) = Serve(100_000);
        await DownloadAsync(loop, ["/file"], 100_000, $"--ciphers=NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:+{cipher}");
        Assert.Equal(suite, Assert.Single(server.Sessions).CipherSuite.ToString());
    }

    [Fact]
    [Trait("Rfc", "9001-4.6.2")]
    public async Task A_client_without_the_servers_preferred_group_is_asked_for_another_key_share()
    {
        (UdpLoop loop, Http3Server server) = Serve(1000);
        await DownloadAsync(loop, ["/file"], 1000, "--groups=-GROUP-ALL:+GROUP-SECP521R1:+GROUP-SECP384R1");
        Assert.Equal("secp384r1", Assert.Single(server.Sessions).KeyExchangeGroup);
    }

    [Fact]
    [Trait("Rfc", "9000-8.1.2")]
    public async Task A_client_that_is_sent_a_retry_comes_back_with_its_token()
    {
        (UdpLoop loop, _) = Serve(100_000, new EndpointLimits { RetryAbove = 0 });
        await DownloadAsync(loop, ["/file"], 100_000);
        Assert.Contains(loop.Replies, static first => (first & RetryType) == RetryType);
    }

    [Fact]
    [Trait("Rfc", "9000-8.1.3")]
    public async Task A_client_is_given_a_token_for_its_next_connection()
    {
        (UdpLoop loop, _) = Serve(1000);
        await DownloadAsync(loop, ["/file"], 1000, $"--token-file={Pem.PathOf("token")}");
        Assert.Contains("QUIC TOKEN", File.ReadAllText(Pem.PathOf("token")), StringComparison.Ordinal);
    }

    [Fact]
    [Trait("Rfc", "9001-4.5")]
    public async Task A_client_resumes_its_session()
    {
        (UdpLoop loop, Http3Server server) = Serve(1000);
        string option = $"--session-file={Pem.PathOf("session")}";
        await DownloadAsync(loop, ["/first"], 1000, option, "--disable-early-data");
        await DownloadAsync(loop, ["/second"], 1000, option, "--disable-early-data");
        Assert.Equal([false, true], server.Sessions.Select(static session => session.IsResumed));
    }

    /// <summary>0-RTT packets are dropped, and their data is sent again.</summary>
    [Fact]
    [Trait("Rfc", "9001-4.6.2")]
    public async Task A_client_that_tries_0_rtt_is_served_without_it()
    {
        (UdpLoop loop, Http3Server server) = Serve(1000);
        string[] options = [$"--session-file={Pem.PathOf("session")}", $"--tp-file={Pem.PathOf("parameters")}"];
        await DownloadAsync(loop, ["/first"], 1000, options);
        await DownloadAsync(loop, ["/second"], 1000, options);
        Assert.Equal(2, server.Requests.Count);
    }

    [Fact]
    [Trait("Rfc", "9001-6")]
    public async Task A_client_that_updates_its_keys_is_followed()
    {
        (UdpLoop loop, _) = Serve(20 * Megabyte);
        string output = await DownloadAsync(loop, ["/file"], 20 * Megabyte, "--key-update=20ms");
        Assert.Contains("k=1", output, StringComparison.Ordinal);
    }

    [Fact]
    [Trait("Rfc", "9001-6")]
    public async Task A_server_that_updates_its_keys_again_and_again_is_followed()
    {
        (UdpLoop loop, _) = Serve(20 * Megabyte, settings: Settings with { KeyUpdateAfter = 1000 });
        await DownloadAsync(loop, ["/file"], 20 * Megabyte, "-q");
    }

    [Fact]
    [Trait("Rfc", "9000-9")]
    public async Task A_client_that_moves_to_another_port_is_followed()
    {
        (UdpLoop loop, _) = Serve(20 * Megabyte);
        await DownloadAsync(loop, ["/file"], 20 * Megabyte, "-q", "--change-local-addr=20ms");
        Assert.Equal(2, loop.PeerPorts.Count);
    }

    /// <summary>The client sends: with nothing to send, this one would wait for what its old port does not get any more.</summary>
    [Fact]
    [Trait("Rfc", "9000-9.3")]
    public async Task A_client_whose_port_is_changed_by_a_nat_is_followed()
    {
        const int length = 10 * Megabyte;
        (UdpLoop loop, Http3Server server) = Serve(1);
        MessageWriter.WriteFile(Pem.PathOf("upload"), length);
        await AskAsync(loop, ["/upload"], "-q", "-d", Pem.PathOf("upload"), "--change-local-addr=20ms", "--nat-rebinding");
        Assert.Equal(((long)length, MessageWriter.HashOf(length)), Assert.Single(server.Requests));
        Assert.Equal(2, loop.PeerPorts.Count);
    }

    [Theory]
    [InlineData("0.05", "0.05")]
    [InlineData("0.2", "0.1")]
    [Trait("Rfc", "9002-6")]
    public async Task Lost_packets_in_both_directions_are_sent_again(string sent, string received)
    {
        (UdpLoop loop, _) = Serve(Megabyte);
        await DownloadAsync(loop, ["/file"], Megabyte, "-q", "-t", sent, "-r", received);
    }

    [Fact]
    [Trait("Rfc", "9000-6")]
    public async Task A_client_of_another_version_gets_the_list_of_versions_and_takes_one()
    {
        (UdpLoop loop, _) = Serve(1000);
        await DownloadAsync(loop, ["/file"], 1000, "-v", "0x1a2a3a4a", "--preferred-versions=v1");
        Assert.NotEmpty(loop.Replies);
    }

    /// <summary>Downloads from each path, checks what is received, and returns the client's output.</summary>
    private static async Task<string> DownloadAsync(UdpLoop loop, string[] paths, long length, params string[] options)
    {
        using var folder = new TemporaryFolder();
        string output = await AskAsync(loop, paths, [$"--download={folder.Path}", .. options]);
        string expected = MessageWriter.HashOf(length);
        foreach (string path in paths)
        {
            string file = folder.File(path[1..]);
            Assert.True(File.Exists(file), Tail(output));
            Assert.True(new FileInfo(file).Length == length, $"{new FileInfo(file).Length} bytes. {Tail(output)}");
            using FileStream received = File.OpenRead(file);
            Assert.Equal(expected, Convert.ToHexString(SHA256.HashData(received)));
        }

        return output;
    }

    private static string Tail(string output) => output[Math.Max(0, output.Length - 4000)..];
}
