using System.Net.Sockets;
using Millrace.Engine;
using Millrace.Engine.Tests.Kit;
using Millrace.Quic;
using Millrace.Quic.Connections;
using Millrace.Quic.Streams;
using Millrace.QuicTransport.Tests.Kit;

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
