using System.Collections.Concurrent;
using System.Globalization;
using System.Security.Cryptography;
using Millrace.Engine.Datagrams;
using Millrace.Engine.Tests.Kit;
using Millrace.Quic.Connections;
using Millrace.QuicTransport.Tests.Kit;
using Millrace.Tls;
using Millrace.Tls.Quic;
using Millrace.Tls.Tests.Kit;
using Millrace.Tls.Tests.Quic.Interoperation;

namespace Millrace.QuicTransport.Tests.Interoperation;

/// <summary>Listeners with TLS, and the client of ngtcp2 on GnuTLS.</summary>
public sealed class NgtcpClientTests : QuicTransportTest
{
    private const string ClientProgram = "gtlsclient";
    private const int Megabyte = 1024 * 1024;

    private readonly PemFiles _pem = new();
    private readonly TlsTerminator _terminator;
    private readonly QuicTokenKeys _keys = QuicTokenKeys.Create();
    private readonly ConcurrentQueue<(long Length, string Hash)> _requests = new();

    public NgtcpClientTests()
    {
        Tools.Require(ClientProgram);
        TlsOptions options = new()
        {
            Certificates = [_pem.Make("server", "localhost")],
            ApplicationProtocols = ["h3"],
            ServesQuic = true,
        };
        _terminator = TlsTerminator.Create(options, Log);
    }

    [Theory]
    [InlineData(1, 0)]
    [InlineData(1, 1)]
    [InlineData(1, 1200)]
    [InlineData(1, 5 * Megabyte)]
    [InlineData(3, 100_000)]
    [InlineData(3, 5 * Megabyte)]
    public async Task A_response_of_any_length_arrives_whole(int reactors, int length)
    {
        QuicListener listener = await ServeAsync(reactors, length);
        await DownloadAsync(listener, ["/file"], length);
        Assert.Equal((0L, MessageWriter.HashOf(0)), Assert.Single(_requests));
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task A_response_of_100_megabytes_arrives_whole()
    {
        QuicListener listener = await ServeAsync(reactors: 2, 100 * Megabyte);
        await DownloadAsync(listener, ["/file"], 100 * Megabyte, "-q");
    }

    [Fact]
    [Trait("Rfc", "9000-2")]
    public async Task Many_streams_arrive_whole()
    {
        QuicListener listener = await ServeAsync(reactors: 2, 50_000);
        string[] paths = [.. Enumerable.Range(0, 250).Select(static i => $"/file{i}")];
        await DownloadAsync(listener, paths, 50_000, "-q");
        Assert.Equal(paths.Length, _requests.Count);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    [Trait("Rfc", "9000-9")]
    public async Task A_client_that_moves_to_another_port_is_followed(bool isSteered)
    {
        QuicListener listener = await ServeAsync(reactors: 4, 20 * Megabyte, isSteered: isSteered);
        await DownloadAsync(listener, ["/file"], 20 * Megabyte, "-q", "--change-local-addr=20ms");
        Assert.Equal(1, Sum(listener, static counters => counters.Migrations));
        Assert.Equal(1, Sum(listener, static counters => counters.Accepted));
    }

    [Fact]
    [Trait("Rfc", "9000-9.3")]
    public async Task A_client_whose_port_is_changed_by_a_nat_is_followed()
    {
        const int Length = 10 * Megabyte;
        QuicListener listener = await ServeAsync(reactors: 4, 1);
        MessageWriter.WriteFile(_pem.PathOf("upload"), Length);
        await AskAsync(listener, ["/upload"], "-q", "-d", _pem.PathOf("upload"), "--change-local-addr=20ms", "--nat-rebinding");
        Assert.Equal(((long)Length, MessageWriter.HashOf(Length)), Assert.Single(_requests));
    }

    [Fact]
    [Trait("Rfc", "9000-8.1.2")]
    public async Task A_client_that_is_sent_a_retry_comes_back_with_its_token()
    {
        QuicListener listener = await ServeAsync(reactors: 3, 100_000, new EndpointLimits { RetryAbove = 0 });
        await DownloadAsync(listener, ["/file"], 100_000);
        Assert.Equal(1, Sum(listener, static counters => counters.Retries));
    }

    [Fact]
    [Trait("Rfc", "9000-6")]
    public async Task A_client_of_another_version_gets_the_list_of_versions_and_takes_one()
    {
        QuicListener listener = await ServeAsync(reactors: 1, 1000);
        await DownloadAsync(listener, ["/file"], 1000, "-v", "0x1a2a3a4a", "--preferred-versions=v1");
        Assert.Equal(1, Sum(listener, static counters => counters.VersionNegotiations));
    }

    [Theory]
    [InlineData("0.05", "0.05")]
    [InlineData("0.2", "0.1")]
    [Trait("Rfc", "9002-6")]
    public async Task Lost_packets_in_both_directions_are_sent_again(string sent, string received)
    {
        QuicListener listener = await ServeAsync(reactors: 2, Megabyte);
        await DownloadAsync(listener, ["/file"], Megabyte, "-q", "-t", sent, "-r", received);
        Assert.InRange(Sum(listener, static counters => counters.PacketsLost), 1, long.MaxValue);
    }

    private protected override void EndResources()
    {
        Assert.Equal(0, _terminator.Counters.Sessions);
        _terminator.Dispose();
        _keys.Dispose();
        _pem.Dispose();
    }

    private async Task<QuicListener> ServeAsync(int reactors, long length, EndpointLimits? limits = null, bool isSteered = true) =>
        await ListenAsync(
            reactors,
            connection => new FileHandler(connection, length, _requests),
            options => options with
            {
                CreateCryptography = _ => new OpenSslQuicCryptography(_keys),
                CreateHandshake = _ => _terminator.AcceptQuic(),
                Limits = limits ?? options.Limits,
            },
            new DatagramSettings { IsSteered = isSteered });

    /// <summary>Runs ngtcp2's client to its end. Returns what it prints.</summary>
    private static Task<string> AskAsync(QuicListener listener, IEnumerable<string> paths, params string[] options)
    {
        string port = listener.LocalEndPoint.Port.ToString(CultureInfo.InvariantCulture);
        return Tools.RunAsync(
            Patience, ClientProgram, "",
            [
                "--exit-on-all-streams-close", "--no-quic-dump", "--no-http-dump", "--timeout=10s", .. options, "--sni=localhost",
                "127.0.0.1", port,
                .. paths.Select(path => $"https://localhost:{port}{path}"),
            ]);
    }

    /// <summary>Downloads from each path, and checks what is received.</summary>
    private static async Task DownloadAsync(QuicListener listener, string[] paths, long length, params string[] options)
    {
        using var folder = new TemporaryFolder();
        string output = await AskAsync(listener, paths, [$"--download={folder.Path}", .. options]);
        string expected = MessageWriter.HashOf(length);
        foreach (string path in paths)
        {
            string file = folder.File(path[1..]);
            Assert.True(File.Exists(file), Tail(output));
            Assert.True(new FileInfo(file).Length == length, $"{new FileInfo(file).Length} bytes. {Tail(output)}");
            using FileStream received = File.OpenRead(file);
            Assert.Equal(expected, Convert.ToHexString(await SHA256.HashDataAsync(received)));
        }
    }

    private static string Tail(string output) => output[Math.Max(0, output.Length - 4000)..];
}
