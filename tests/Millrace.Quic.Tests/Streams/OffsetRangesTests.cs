using Millrace.Quic.Streams;

namespace Millrace.Quic.Tests.Streams;

public class OffsetRangesTests
{
    private const int Offsets = 64;

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    public void Random_changes_give_the_set_that_a_bit_for_each_offset_gives(int seed)
    {
        var random = new Random(seed);
        var ranges = new OffsetRanges();
        bool[] model = new bool[Offsets];
        for (int i = 0; i < 5_000; i++)
        {
            int start = random.Next(Offsets);
            int end = random.Next(start, Offsets + 1);
            switch (random.Next(5))
            {
                case 0 or 1:
                    ranges.Add(start, end);
                    model.AsSpan(start, end - start).Fill(true);
                    break;
                case 2 or 3:
                    ranges.Remove(start, end);
                    model.AsSpan(start, end - start).Clear();
                    break;
                default:
                    start /= 4;
                    ranges.RemoveBefore(start);
                    model.AsSpan(0, start).Clear();
                    break;
            }

            AssertSame(model, ranges);
            AssertSameMissing(model, ranges, start, end);
        }
    }

    [Fact]
    public void Ranges_that_touch_become_one()
    {
        var ranges = new OffsetRanges();
        ranges.Add(10, 20);
        ranges.Add(30, 40);
        ranges.Add(20, 30);
        Assert.Equal([(10L, 40L)], ranges.Ranges.ToArray());
    }

    [Fact]
    public void An_empty_range_changes_nothing()
    {
        var ranges = new OffsetRanges();
        ranges.Add(5, 5);
        Assert.True(ranges.IsEmpty);
        ranges.Add(0, 10);
        ranges.Remove(5, 5);
        Assert.Equal([(0L, 10L)], ranges.Ranges.ToArray());
    }

    private static void AssertSame(bool[] model, OffsetRanges ranges)
    {
        bool[] actual = new bool[Offsets];
        long last = -1;
        foreach ((long start, long end) in ranges.Ranges)
        {
            Assert.True(start > last && end > start, "The ranges overlap, touch, are empty or are not in order.");
            actual.AsSpan((int)start, (int)(end - start)).Fill(true);
            last = end;
        }

        Assert.Equal(model, actual);
    }

    private static void AssertSameMissing(bool[] model, OffsetRanges ranges, int start, int end)
    {
        int from = start;
        while (from < end && model[from])
        {
            from++;
        }

        int to = from;
        while (to < end && !model[to])
        {
            to++;
        }

        Assert.Equal(from < to, ranges.TryFindMissing(start, end, out long missingStart, out long missingEnd));
        if (from < to)
        {
            Assert.Equal((from, to), (missingStart, missingEnd));
        }
    }
}
