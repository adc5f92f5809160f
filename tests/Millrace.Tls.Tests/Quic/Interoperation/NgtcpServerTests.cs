using Millrace.Engine.Tests.Kit;
using Millrace.Quic.Connections;
using Millrace.Tests.Shared;
using Millrace.Tls.Handshakes;
using Millrace.Tls.Quic;

namespace Millrace.Tls.Tests.Quic.Interoperation;

/// <summary>Our client with the server of ngtcp2.</summary>
public sealed class NgtcpServerTests : InteroperationTest
{
    private const int Megabyte = 1024 * 1024;

    private readonly TemporaryFolder _folder = new();

    public NgtcpServerTests()
    {
        Keep(_folder);
        RequirePrograms();
    }

    [Theory]
    [InlineData(1)]
    [InlineData(1200)]
    [InlineData(100_000)]
    [InlineData(5 * Megabyte)]
    public async Task A_response_of_any_length_arrives_whole(int length)
    {
        NgtcpServer server = await StartServerAsync(_folder.Path);
        await DownloadAsync(server, length, count: 1);
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task A_response_of_100_megabytes_arrives_whole()
    {
        NgtcpServer server = await StartServerAsync(_folder.Path);
        await DownloadAsync(server, 100 * Megabyte, count: 1);
    }

    [Fact]
    [Trait("Rfc", "9000-4.6")]
    public async Task More_streams_than_the_server_allows_at_a_time_arrive_whole()
    {
        NgtcpServer server = await StartServerAsync(_folder.Path, "--max-streams-bidi=10");
        await DownloadAsync(server, 50_000, count: 200);
    }

    [Fact]
    [Trait("Rfc", "9000-8.1.2")]
    public async Task A_server_that_validates_addresses_gets_its_token_back()
    {
        NgtcpServer server = await StartServerAsync(_folder.Path, "-V");
        await DownloadAsync(server, 100_000, count: 1);
    }

    [Theory]
    [InlineData("AES-128-GCM", "TLS_AES_128_GCM_SHA256")]
    [InlineData("AES-256-GCM", "TLS_AES_256_GCM_SHA384")]
    [InlineData("CHACHA20-POLY1305", "TLS_CHACHA20_POLY1305_SHA256")]
    [Trait("Rfc", "9001-5.3")]
    public async Task Every_cipher_suite_is_spoken(string cipher, string suite)
    {
        NgtcpServer server = await StartServerAsync(_folder.Path, $"--ciphers=NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:+{cipher}");
        TlsSession session = await DownloadAsync(server, 100_000, count: 1);
        Assert.Equal(suite, session.CipherSuite.ToString());
    }

    [Theory]
    [InlineData("0.05", "0.05")]
    [InlineData("0.1", "0.2")]
    [Trait("Rfc", "9002-6")]
    public async Task Lost_packets_in_both_directions_are_sent_again(string sent, string received)
    {
        NgtcpServer server = await StartServerAsync(_folder.Path, "-t", sent, "-r", received);
        await DownloadAsync(server, Megabyte, count: 1);
    }

    [Fact]
    [Trait("Rfc", "9001-6")]
    public async Task A_client_that_updates_its_keys_again_and_again_is_followed()
    {
        NgtcpServer server = await StartServerAsync(_folder.Path);
        await DownloadAsync(server, 10 * Megabyte, count: 1, Settings with { KeyUpdateAfter = 300 });
    }

    [Fact]
    [Trait("Rfc", "9001-4.5")]
    public async Task A_session_is_resumed()
    {
        NgtcpServer server = await StartServerAsync(_folder.Path);
        TlsTarget target = Trust(server.Authority).TargetOf("localhost", server.Port);
        Assert.False((await DownloadAsync(server, 1000, count: 1, target: target)).IsResumed);
        Assert.True((await DownloadAsync(server, 1000, count: 1, target: target)).IsResumed);
    }

    [Fact]
    public async Task What_is_sent_to_the_server_does_not_stall()
    {
        NgtcpServer server = await StartServerAsync(_folder.Path);
        MessageWriter.WriteFile(_folder.File("file"), 10);
        UdpLoop loop = Keep(new UdpLoop(Settings, new EndpointLimits(), acceptor: null));
        var client = new Http3Client(["/file"], 3 * Megabyte);
        QuicClientHandshake handshake = Trust(server.Authority).TargetOf("localhost", server.Port).ConnectQuic([new("h3")]);
        await loop.ConnectAsync(server.Port, handshake, client).Within();
        Assert.Single(await client.Responses.Within());
    }

    /// <summary>Downloads a file several times on one connection.</summary>
    private async Task<TlsSession> DownloadAsync(
        NgtcpServer server, long length, int count, QuicSettings? settings = null, TlsTarget? target = null)
    {
        MessageWriter.WriteFile(_folder.File("file"), length);
        using UdpLoop loop = new(settings ?? Settings, new EndpointLimits(), acceptor: null);
        var client = new Http3Client([.. Enumerable.Repeat("/file", count)]);
        target ??= Trust(server.Authority).TargetOf("localhost", server.Port);
        QuicClientHandshake handshake = target.ConnectQuic([new ApplicationProtocol("h3")]);
        await loop.ConnectAsync(server.Port, handshake, client).Within();
        string expected = MessageWriter.HashOf(length);
        Assert.All(await client.Responses.Within(), response => Assert.Equal((length, expected), response));
        Assert.Single(loop.PeerPorts);
        return handshake.Session!;
    }
}
