using Millrace.Http;
using Millrace.HttpServer.Http2;

namespace Millrace.HttpServer.Tests.Http2;

public class ReadyQueueTests
{
    [Fact]
    public void Any_order_of_comings_and_goings_leaves_the_order_right()
    {
#pragma warning disable CA5394 // Not for secrets: a seed makes a failure happen again.
        var random = new Random(5);
        var queue = new ReadyQueue();
        Http2Stream[] streams = [.. Enumerable.Range(0, 20).Select(static i => Of((2 * i) + 1))];
        for (int step = 0; step < 20_000; step++)
        {
            Http2Stream stream = streams[random.Next(streams.Length)];
            if (!stream.IsQueued)
            {
                Delivery delivery = random.Next(2) == 0 ? Delivery.Whole : Delivery.Incremental;
                stream.Priority = new StreamPriority(random.Next(3), delivery);
                queue.Add(stream);
            }
            else if (random.Next(2) == 0)
            {
                queue.Remove(stream);
            }
            else
            {
                queue.Rotate(queue.First);
            }

            Assert.Equal(streams.All(static one => !one.IsQueued), queue.IsEmpty);
            if (!queue.IsEmpty)
            {
                AssertIsFirst(queue.First, streams);
            }
        }
#pragma warning restore CA5394
    }

    /// <summary>Nobody is more urgent, and of those who want to be whole nobody was asked for before.</summary>
    private static void AssertIsFirst(Http2Stream first, Http2Stream[] streams)
    {
        Assert.True(first.IsQueued);
        foreach (Http2Stream other in streams.Where(static one => one.IsQueued))
        {
            Assert.True(first.Priority.Urgency <= other.Priority.Urgency);
            bool isBeside = other.Priority == first.Priority && first.Priority.Delivery == Delivery.Whole;
            Assert.True(!isBeside || first.Id <= other.Id);
        }
    }

    private static Http2Stream Of(int id)
    {
        var stream = new Http2Stream();
        stream.Begin(null!, null, id, StreamPriority.Default, 0);
        return stream;
    }
}
