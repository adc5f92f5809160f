using Millrace.Quic.Streams;

namespace Millrace.Quic.Tests.Streams;

public class FlowControlTests
{
    private const long Rtt = 10_000_000;

    [Fact]
    [Trait("Rfc", "9000-4.1")]
    public void A_lower_limit_than_the_known_one_changes_nothing()
    {
        var window = new SendWindow(100);
        Assert.False(window.TryRaise(100));
        Assert.False(window.TryRaise(50));
        Assert.Equal(100, window.Limit);
        Assert.True(window.TryRaise(101));
        Assert.Equal(101, window.Available);
    }

    [Fact]
    [Trait("Rfc", "9000-4.1")]
    public void A_sender_reports_once_for_each_limit_that_it_is_blocked()
    {
        var window = new SendWindow(100);
        Assert.False(window.TryReportBlocked());
        window.Use(100);
        Assert.True(window.TryReportBlocked());
        Assert.False(window.TryReportBlocked());
        window.TryRaise(200);
        Assert.False(window.TryReportBlocked());
        window.Use(100);
        Assert.True(window.TryReportBlocked());
    }

    [Fact]
    [Trait("Rfc", "9000-4.2")]
    public void A_window_that_is_used_slowly_keeps_its_size()
    {
        var window = new ReceiveWindow(1000, 8000);
        for (long now = 0; now < 100 * Rtt; now += 2 * Rtt)
        {
            Use(ref window, window.Size / 2, now);
        }

        Assert.Equal(1000, window.Size);
    }

    [Fact]
    [Trait("Rfc", "9000-4.2")]
    public void A_window_doubles_up_to_its_maximum_while_half_of_it_is_used_within_two_round_trips()
    {
        var window = new ReceiveWindow(1000, 6000);
        var sizes = new List<long>();
        for (long now = 0; now < 5 * Rtt; now += Rtt)
        {
            Use(ref window, window.Limit - window.Received, now);
            sizes.Add(window.Size);
        }

        Assert.Equal([1000, 2000, 4000, 6000, 6000], sizes);
        Assert.Equal(window.Consumed + 6000, window.Limit);
    }

    [Fact]
    public void The_connections_window_stays_larger_than_that_of_a_stream()
    {
        using var server = new StreamsEnd(
            isServer: true,
            new StreamSettings
            {
                StreamWindowBytes = 1000,
                StreamWindowBytesMax = 100_000,
                ConnectionWindowBytes = 1000,
                ConnectionWindowBytesMax = 100_000,
            });
        server.Streams.SmoothedRtt = Rtt;
        long offset = 0;
        for (long now = 0; now < 10 * Rtt; now += Rtt)
        {
            int count = (int)(server.Streams.Flow.Receive.Limit - offset);
            count = (int)Math.Min(count, server.Streams.Find(0)?.Receive.Limit - offset ?? count);
            Assert.Null(server.Streams.OnStream(0, offset, new byte[count], fin: false));
            offset += count;
            QuicStream stream = server.Streams.Find(0)!;
            while (stream.TryRead(out ReadOnlySpan<byte> bytes))
            {
                stream.Consume(bytes.Length);
            }

            while (server.Streams.HasFrames)
            {
                server.Send(now: now);
            }
        }

        Assert.Equal(100_000, server.Streams.Flow.Receive.Size);
        Assert.True(server.Streams.Find(0)!.Receive.WindowSize >= 50_000);
    }

    private static void Use(ref ReceiveWindow window, long bytes, long now)
    {
        Assert.True(window.TryReceive(bytes));
        window.Consume(bytes);
        Assert.True(window.IsUpdateDue);
        window.Update(now, Rtt);
        Assert.False(window.IsUpdateDue);
    }
}
