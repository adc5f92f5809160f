using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using Microsoft.Extensions.Logging.Abstractions;
using Millrace.Quic.Connections;
using Millrace.Quic.Streams;
using Millrace.Tests.Shared;
using Millrace.Tls;
using Millrace.Tls.Handshakes;
using Millrace.Tls.Quic;

namespace Millrace.Server.Tests.Http3.Kit;

/// <summary>
/// Clients that send the first datagram of their handshake and nothing else, so that the server has so many handshakes in progress until it
/// gives them up after 10 s. Each client has an address of its own.
/// </summary>
internal sealed class UnfinishedHandshakes
{
    private const int DatagramsAtOnce = 64;
    private const int DatagramBytesMax = 1500;

    private readonly List<byte[]> _datagrams = [];

    /// <summary>Makes them, as that takes a moment.</summary>
    public UnfinishedHandshakes(Http3Site site, int count)
    {
        using TlsClient tls = TlsClient.Create(site.Authority, NullLoggerFactory.Instance, isForQuic: true);
        using var keys = QuicTokenKeys.Create();
        using var cryptography = new OpenSslQuicCryptography(keys);
        using var blocks = new BlockPool();
        TlsTarget target = tls.TargetOf("localhost", site.Port);
        var endpoint = new QuicEndpoint(
            Http3TestClient.Settings, new EndpointLimits(), cryptography, blocks, new StreamPool(blocks), acceptor: null);
        PathAddress address = UdpLoop.AddressOf(new IPEndPoint(IPAddress.Loopback, site.Port));
        long now = (long)(Stopwatch.GetTimestamp() * (1e9 / Stopwatch.Frequency));
        byte[] datagram = new byte[DatagramBytesMax];
        for (int i = 0; i < count; i++)
        {
            QuicConnection connection = endpoint.Connect(
                address, address, target.ConnectQuic([new ApplicationProtocol("h3")]), new SilentHandler(), version: 1, token: null,
                isAfterVersionNegotiation: false, now);
            _datagrams.Add(datagram[..connection.Send(datagram, 1, out _, now)]);
        }

        endpoint.Abort();
    }

    /// <summary>Sends them, and waits until the server has all of them.</summary>
    public async Task BeginAsync(Http3Site site)
    {
        const string Active = "millrace_quic_connections_active";
        var server = new IPEndPoint(IPAddress.Loopback, site.Port);
        double before = await site.ReadMetricAsync(Active);
        for (int i = 0; i < _datagrams.Count; i++)
        {
            using var socket = new Socket(AddressFamily.InterNetwork, SocketType.Dgram, ProtocolType.Udp);
            socket.Bind(new IPEndPoint(new IPAddress([127, 1, (byte)(i >> 8), (byte)i]), 0));
            socket.SendTo(_datagrams[i], server);
            if (i % DatagramsAtOnce == 0 || i == _datagrams.Count - 1)
            {
                // The server's socket does not hold many more.
                await site.AwaitMetricAsync(Active, before + i + 1);
            }
        }
    }

    /// <summary>
    /// Runs a client, given the port for it, whose first datagram reaches the server while this has so many handshakes in progress that it
    /// sends a Retry.
    /// </summary>
    public static async Task RetryAsync(Http3Site site, Func<int, Task> runAsync)
    {
        await using var relay = new DatagramRelay(site.Port, new DatagramRelayOptions { IsHeld = true });
        await RetryAsync(site, relay, () => runAsync(relay.Port));
    }

    /// <summary>The same, with a relay that holds datagrams back.</summary>
    public static async Task RetryAsync(Http3Site site, DatagramRelay relay, Func<Task> runAsync)
    {
        const string Retries = "millrace_quic_retries_total";
        var crowd = new UnfinishedHandshakes(site, new EndpointLimits().RetryAbove);
        Task client = runAsync();
        if (await Task.WhenAny(client, relay.Arrived) == client)
        {
            await client;
        }

        await crowd.BeginAsync(site);
        Assert.Equal(0, await site.ReadMetricAsync(Retries));
        relay.Release();
        await client;
        Assert.InRange(await site.ReadMetricAsync(Retries), 1, double.MaxValue);
    }

    private sealed class SilentHandler : IQuicConnectionHandler
    {
        public void OnHandshakeComplete(QuicConnection connection)
        {
        }

        public void OnStream(QuicConnection connection, QuicStream stream, StreamEvents events)
        {
        }

        public void OnStreamsAvailable(QuicConnection connection)
        {
        }

        public void OnNewToken(QuicConnection connection, ReadOnlySpan<byte> token)
        {
        }

        public void OnClosed(QuicConnection connection, in CloseReason reason)
        {
        }
    }
}
