using Millrace.Quic.Streams;
using Millrace.Tests.Shared;

namespace Millrace.Quic.Tests.Streams;

/// <summary>Streams that open, carry bytes over packets that are lost at times, and close allocate nothing once the pools are filled.</summary>
public class AllocationTests
{
    private const int Rounds = 200;

    [Fact]
    public void Requests_and_responses_allocate_nothing()
    {
        using var client = new StreamsEnd(isServer: false, peer: StreamsEnd.LimitsOf(StreamSettings.Default));
        using var server = new StreamsEnd(isServer: true, peer: StreamsEnd.LimitsOf(StreamSettings.Default));
        byte[] packet = new byte[StreamsEnd.PacketBytes];
        byte[] body = new byte[20_000];
        long allocated = Allocations.OfEach(() =>
        {
            for (int i = 0; i < Rounds; i++)
            {
                Exchange(client, server, packet, body, isLossy: i % 3 == 0);
            }
        });

        Assert.Equal(0, allocated);
        Assert.Equal((0, 0), (client.Streams.Count, server.Streams.Count));
    }

    private static void Exchange(StreamsEnd client, StreamsEnd server, byte[] packet, byte[] body, bool isLossy)
    {
        client.Streams.TryOpen(isBidirectional: true, out QuicStream? request);
        request!.Write(body.AsSpan(0, 500));
        request.Finish();
        bool isLost = isLossy;
        while (client.Streams.HasFrames || server.Streams.HasFrames)
        {
            Pass(client, server, packet, isLost);
            while (server.Streams.TryTakeEvent(out QuicStream? stream, out StreamEvents events))
            {
                Read(stream!);
                if ((events & StreamEvents.Opened) != 0)
                {
                    stream!.Write(body);
                    stream.Finish();
                }
            }

            Pass(server, client, packet, isLost);
            while (client.Streams.TryTakeEvent(out QuicStream? stream, out _))
            {
                Read(stream!);
            }

            isLost = isLossy && !isLost;
        }
    }

    private static void Read(QuicStream stream)
    {
        while (stream.TryRead(out ReadOnlySpan<byte> bytes))
        {
            stream.Consume(bytes.Length);
        }
    }

    private static void Pass(StreamsEnd from, StreamsEnd to, byte[] packet, bool isLost)
    {
        int length = from.SendInto(packet);
        if (!isLost)
        {
            to.Receive(packet.AsSpan(0, length));
        }

        foreach (Quic.Recovery.SentFrame frame in from.LastSent)
        {
            if (isLost)
            {
                from.Streams.OnLost(frame);
            }
            else
            {
                from.Streams.OnAcked(frame);
            }
        }
    }
}
