using System.Text;
using Millrace.Server.AccessLog;

namespace Millrace.Server.Tests.AccessLog;

public class LineRingTests
{
    [Fact]
    public void A_line_that_finds_no_room_is_dropped_and_counted_and_the_others_stay()
    {
        var ring = new LineRing(16);
        Assert.Equal(RingAddResult.Added, ring.Add("one\n"u8));
        Assert.Equal(RingAddResult.HalfFull, ring.Add("two2\n"u8));
        Assert.Equal(RingAddResult.Dropped, ring.Add("12345678\n"u8));
        Assert.Equal(RingAddResult.Added, ring.Add("three\n"u8));

        byte[] room = new byte[64];
        int taken = ring.Take(room);

        Assert.Equal("one\ntwo2\nthree\n", Encoding.ASCII.GetString(room, 0, taken));
        Assert.Equal(1, ring.Dropped);
        Assert.True(ring.IsEmpty);
        Assert.Equal(0, ring.Take(room));
    }

    [Fact]
    public void Only_whole_lines_are_taken_whatever_the_room()
    {
        var ring = new LineRing(64);
        _ = ring.Add("one\n"u8);
        _ = ring.Add("second\n"u8);
        byte[] room = new byte[10];

        Assert.Equal("one\n", Encoding.ASCII.GetString(room, 0, ring.Take(room)));
        Assert.Equal("second\n", Encoding.ASCII.GetString(room, 0, ring.Take(room)));
    }

    [Fact]
    public async Task Lines_of_one_thread_reach_another_whole_and_in_their_order()
    {
        const int Lines = 100_000;
        var ring = new LineRing(4096);
        Task adding = Task.Run(() =>
        {
            for (int i = 0; i < Lines; i++)
            {
                byte[] line = Encoding.ASCII.GetBytes($"{i} {new string('x', i % 97)}\n");
                SpinWait.SpinUntil(() => ring.Add(line) != RingAddResult.Dropped);
            }
        });
        byte[] room = new byte[300];
        int next = 0;
        while (next < Lines)
        {
            Assert.False(adding.IsFaulted);
            int taken = ring.Take(room);
            foreach (string line in Encoding.ASCII.GetString(room, 0, taken).Split('\n', StringSplitOptions.RemoveEmptyEntries))
            {
                Assert.Equal($"{next} {new string('x', next % 97)}", line);
                next++;
            }

            if (taken == 0)
            {
                await Task.Yield();
            }
        }

        await adding.WaitAsync(TimeSpan.FromSeconds(30), TestContext.Current.CancellationToken);
    }
}
