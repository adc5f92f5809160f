using Millrace.Server.Metrics;

namespace Millrace.Server.Tests.Metrics;

public class DurationScaleTests
{
    [Fact]
    public void Every_duration_is_within_its_bucket()
    {
        foreach (long ticks in Durations())
        {
            int index = DurationScale.IndexOf(ticks);

            Assert.InRange(ticks, DurationScale.TicksAt(index), DurationScale.TicksAt(index + 1) - 1);
        }
    }

    [Fact]
    public void Buckets_follow_one_another_without_a_gap()
    {
        for (int i = 0; i < DurationScale.Buckets; i++)
        {
            Assert.Equal(i, DurationScale.IndexOf(DurationScale.TicksAt(i)));
            Assert.Equal(i, DurationScale.IndexOf(DurationScale.TicksAt(i + 1) - 1));
        }
    }

    [Fact]
    public void A_bucket_is_a_tenth_of_its_duration_wide_at_most()
    {
        for (int i = 100; i < DurationScale.Buckets; i++)
        {
            Assert.True(DurationScale.TicksAt(i + 1) - DurationScale.TicksAt(i) <= DurationScale.TicksAt(i) / 10);
        }
    }

    [Theory]
    [InlineData(-1, 0)]
    [InlineData(long.MaxValue, 99_000_000_000)]
    public void What_is_off_the_scale_has_its_first_or_its_last_bucket(long ticks, long least) =>
        Assert.Equal(least, DurationScale.TicksAt(DurationScale.IndexOf(ticks)));

    [Fact]
    public void Quantiles_are_right_to_a_tenth()
    {
        long[] counts = new long[DurationScale.Buckets];
        for (int i = 1; i <= 10_000; i++)
        {
            counts[DurationScale.IndexOf(i * 10L)]++;
        }

        Assert.InRange(DurationScale.QuantileOf(counts, 0.5)!.Value, 45_000, 55_000);
        Assert.InRange(DurationScale.QuantileOf(counts, 0.99)!.Value, 95_000, 104_000);
        Assert.InRange(DurationScale.QuantileOf(counts, 1)!.Value, 99_000, 105_000);
        Assert.InRange(DurationScale.QuantileOf(counts, 0)!.Value, 1, 11);
    }

    [Fact]
    public void Nothing_counted_has_no_quantile() => Assert.Null(DurationScale.QuantileOf(new long[DurationScale.Buckets], 0.5));

    private static IEnumerable<long> Durations()
    {
        for (long power = 1; power <= 10_000_000_000; power *= 10)
        {
            for (long digits = 1; digits < 100; digits++)
            {
                yield return power * digits / 10;
                yield return Math.Max(0, (power * digits / 10) - 1);
            }
        }
    }
}
