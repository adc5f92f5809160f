using System.Net.Sockets;
using Millrace.Engine;
using Millrace.Engine.Buffers;
using Millrace.Engine.Tests.Kit;
using Millrace.Quic;
using Millrace.Quic.Connections;
using Millrace.Quic.Streams;
using Millrace.QuicTransport.Tests.Kit;
using Millrace.Tests.Shared;

namespace Millrace.QuicTransport.Tests;

/// <summary>Datagrams that are no packets, and clients that take too much.</summary>
public class HostileTests : QuicTransportTest
{
    [Fact]
    public async Task Random_datagrams_of_any_length_leave_nothing_and_are_mostly_not_answered()
    {
        QuicListener listener = await ListenAsync(reactors: 2);
        using Socket socket = new(AddressFamily.InterNetwork, SocketType.Dgram, ProtocolType.Udp);
        await socket.ConnectAsync(listener.LocalEndPoint);
        Random random = new(1);
        byte[] bytes = new byte[1500];
        for (int i = 0; i < 3_000; i++)
        {
            random.NextBytes(bytes);
            await socket.SendAsync(bytes.AsMemory(0, random.Next(0, bytes.Length)));
        }

        TestClient client = await ConnectAsync(listener);
        await client.EchoAsync(10_000).Within();
        Assert.Equal(1, Sum(listener, static counters => counters.Accepted));
        Assert.InRange(Sum(listener, static counters => counters.BytesSent), 1, Sum(listener, static counters => counters.BytesReceived));
    }

    [Fact]
    public async Task Initial_packets_without_a_handshake_are_forgotten_and_hold_no_memory()
    {
        QuicListener listener = await ListenAsync(
            change: static options => options with { Settings = Settings with { HandshakeTimeout = 200 * QuicClock.Millisecond } });
        TestClient first = await ConnectAsync(listener);
        await first.EchoAsync(10).Within();

        // Clients that begin and are never heard of again.
        ReactorGroup gone = await StartAsync();
        for (int i = 0; i < 50; i++)
        {
            await ConnectOnceAsync(listener, gone.Reactors[0]);
        }

        await Waiting.UntilAsync(() => listener.Reactors[0].Connections == 1, "handshakes without an end are forgotten");
        await first.EchoAsync(10).Within();
    }

    [Fact]
    public async Task A_handshakes_memory_is_charged_until_it_is_complete()
    {
        const int HandshakeBytes = 1024 * 1024;
        QuicListener listener = await ListenAsync(change: static options => options with
        {
            Settings = Settings with { HandshakeTimeout = 5 * QuicClock.Second },
            CreateHandshake = static _ => new TestHandshake(
                new TestHandshakeOptions { Seed = NextSeed(), MemoryBytes = HandshakeBytes }, isServer: true),
        });
        ReactorGroup gone = await StartAsync();
        Reactor serving = listener.Reactors[0].Reactor;
        for (int i = 1; i <= 3; i++)
        {
            await ConnectOnceAsync(listener, gone.Reactors[0]);
            await Waiting.UntilAsync(() => listener.Counters[0].Accepted == i, "it has begun");
        }

        Assert.InRange(await serving.AskAsync(() => serving.Accounts.StateBytes), 3 * HandshakeBytes, (3 * HandshakeBytes) + (200 * 1024));
        TestClient client = await ConnectAsync(listener, gone.Reactors[0]);
        await client.EchoAsync(10).Within();
        Assert.InRange(await serving.AskAsync(() => serving.Accounts.StateBytes), 0, (3 * HandshakeBytes) + (400 * 1024));
        await Waiting.UntilAsync(() => listener.Reactors[0].Connections == 1, "handshakes without an end are forgotten");
        Assert.InRange(await serving.AskAsync(() => serving.Accounts.StateBytes), 0, HandshakeBytes / 2);
    }

    [Fact]
    public async Task Memory_for_packets_in_flight_is_charged_until_it_is_given_back()
    {
        QuicServerConnection? server = null;
        QuicListener listener = await ListenAsync(createHandler: connection => new EchoHandler(server = connection));
        ReactorGroup clients = await StartAsync();
        TestClient client = await ConnectAsync(listener, clients.Reactors[0]);
        await client.EchoAsync(10).Within();
        long before = await IdleStateBytesAsync(server!);
        await client.EchoAsync(8 * 1024 * 1024).Within();
        Assert.InRange(await IdleStateBytesAsync(server!) - before, 2_000, 1024 * 1024);
        await listener.Reactors[0].Reactor.AskAsync(() =>
        {
            ((ITrimmable)listener.Reactors[0]).Trim(all: false);
            return true;
        });
        Assert.Equal(before, await IdleStateBytesAsync(server!));
        await client.EchoAsync(1024 * 1024).Within();
    }

    /// <summary>The limit is of the server, whatever the number of its reactors.</summary>
    [Theory]
    [InlineData(1)]
    [InlineData(4)]
    public async Task From_a_number_of_handshakes_on_clients_prove_their_address(int reactors)
    {
        const int Most = 8;
        const int Clients = 60;
        QuicListener listener = await ListenAsync(
            reactors, change: static options => options with { Limits = new EndpointLimits { RetryAbove = Most } });
        ReactorGroup gone = await StartAsync();
        for (int i = 0; i < Clients; i++)
        {
            await ConnectOnceAsync(listener, gone.Reactors[0]);
        }

        await Waiting.UntilAsync(
            () => Sum(listener, static counters => counters.Accepted + counters.Retries) >= Clients, "each has been answered");
        Assert.InRange(Sum(listener, static counters => counters.Accepted), Most / reactors, Most);
    }

    [Fact]
    public async Task When_memory_is_short_the_connection_that_holds_most_is_closed()
    {
        ReactorGroup group = await StartAsync(Options(new Limits { BufferBytes = 8 * 1024 * 1024 }));
        QuicListener listener = await ListenAsync(
            group, static connection => new HoardingHandler(connection));
        ReactorGroup clients = await StartAsync();
        TestClient client = await ConnectAsync(listener, clients.Reactors[0]);
        _ = client.EchoAsync(1);
        CloseReason reason = await client.Closed.Within();
        Assert.Equal((CloseSource.Peer, (long)TransportErrorCode.InternalError), (reason.Source, reason.Code));
        await Waiting.UntilAsync(() => listener.Reactors[0].Connections == 0, "the connection is forgotten");
        await AssertNothingIsHeldAsync(group);
    }

    /// <summary>What is charged when all that the only connection has sent has arrived.</summary>
    private static async Task<long> IdleStateBytesAsync(QuicServerConnection connection)
    {
        Reactor reactor = connection.Reactor;
        long bytes = -1;
        await Waiting.UntilAsync(() => (bytes = reactor.AskAsync(Idle).Result) >= 0, "all is acknowledged");
        return bytes;

        long Idle()
        {
            // What it holds is charged when it has sent.
            QuicConnection quic = connection.Connection;
            bool isIdle = !connection.IsQueued && !quic.Recovery.HasAckElicitingInFlight && quic.Streams is { Count: 0, HeldBytes: 0 };
            return isIdle ? reactor.Accounts.StateBytes : -1;
        }
    }

    /// <summary>Takes more memory than there is.</summary>
    private sealed class HoardingHandler(QuicServerConnection connection) : EchoHandler(connection)
    {
        private long _held;

        public override void OnStream(QuicConnection connection, QuicStream stream, StreamEvents events)
        {
            if (_held == 0)
            {
                _held = 16 * 1024 * 1024;
                Transport.ChargeManaged(_held);
            }
        }

        public override void OnClosed(QuicConnection connection, in CloseReason reason) => Transport.ChargeManaged(-_held);
    }
}
