using System.Net.Sockets;
using Millrace.Engine.Datagrams;
using Millrace.Engine.Tests.Kit;
using Millrace.Quic.Connections;
using Millrace.QuicTransport.Tests.Kit;

namespace Millrace.QuicTransport.Tests;

/// <summary>Datagrams that arrive at another reactor than that of their connection.</summary>
public class HandOverTests : QuicTransportTest
{
    private const int Blocked = 1;
    private const int Sound = 2;

    [Fact]
    public async Task A_blocked_reactor_does_not_keep_datagrams_from_the_others()
    {
        QuicListener listener = await ListenAsync(reactors: 3, sockets: new DatagramSettings { IsSteered = false });
        using Socket peer = await PeerOfFirstAsync(listener);
        using var gate = new ManualResetEventSlim();
        listener.Reactors[Blocked].Reactor.Post(static gate => ((ManualResetEventSlim)gate!).Wait(2 * Patience), gate);
        try
        {
            await Waiting.UntilAsync(
                () =>
                {
                    for (int i = 0; i < 64; i++)
                    {
                        peer.Send(DatagramFor(listener, Blocked));
                    }

                    return listener.Counters[0].HandOversDropped > 0;
                },
                "the blocked reactor gets no more");
            await Waiting.UntilAsync(
                () =>
                {
                    peer.Send(DatagramFor(listener, Sound));
                    return listener.Counters[Sound].StatelessResets > 0;
                },
                "another one has answered");
        }
        finally
        {
            gate.Set();
        }
    }

    /// <summary>A socket whose datagrams the kernel gives to the first reactor.</summary>
    private static async Task<Socket> PeerOfFirstAsync(QuicListener listener)
    {
        for (int i = 0; i < 100; i++)
        {
            Socket socket = new(AddressFamily.InterNetwork, SocketType.Dgram, ProtocolType.Udp);
            await socket.ConnectAsync(listener.LocalEndPoint);
            long before = Sum(listener, static counters => counters.DatagramsReceived);
            long ofFirst = listener.Counters[0].DatagramsReceived;
            socket.Send(DatagramFor(listener, 0));
            await Waiting.UntilAsync(() => Sum(listener, static counters => counters.DatagramsReceived) > before, "it is here");
            if (listener.Counters[0].DatagramsReceived > ofFirst)
            {
                return socket;
            }

            socket.Dispose();
        }

        throw new InvalidOperationException("The kernel gives no datagram to the first reactor.");
    }

    /// <summary>A packet with a short header of an unknown connection of a reactor, which is answered with a reset.</summary>
    private static byte[] DatagramFor(QuicListener listener, int reactor)
    {
        byte[] datagram = new byte[60];
        datagram[0] = 0x40;
        listener.Reactors[reactor].IdRule.Apply(datagram.AsSpan(1, EndpointTable.IdLength));
        return datagram;
    }
}
