using Millrace.Engine.Connections;

namespace Millrace.Engine.Tests.Unit;

/// <summary>A clock and a count of bytes, both the test's: who is ended when.</summary>
public class TransferRateLimitTests
{
    private const int WindowMs = 30_000;
    private const int BytesPerSecond = 2_000;

    [Theory]
    [InlineData(0, 30)]
    [InlineData(1_000, 60)]
    [InlineData(1_500, 120)]
    [InlineData(1_900, 600)]
    public void Who_is_slower_than_the_rate_is_ended_the_sooner_the_slower(int bytesPerSecond, int afterSeconds) =>
        Assert.InRange(EndOf(BytesPerSecond, second => second * bytesPerSecond), afterSeconds * 900, afterSeconds * 1_100);

    [Theory]
    [InlineData(2_000)]
    [InlineData(2_100)]
    [InlineData(1_000_000)]
    [InlineData(long.MaxValue / 100_000)]
    public void Who_keeps_the_rate_lives(long bytesPerSecond) =>
        Assert.Equal(long.MaxValue, EndOf(BytesPerSecond, second => second * bytesPerSecond));

    [Fact]
    public void A_burst_buys_a_window_and_no_more() =>
        Assert.InRange(EndOf(BytesPerSecond, static second => second < 100 ? second * 3_000 : 100 * 1_000_000_000L), 129_000, 165_000);

    /// <summary>A receiver whose window opens in large steps is judged by its average.</summary>
    [Fact]
    public void Steps_within_the_window_are_no_silence() =>
        Assert.Equal(long.MaxValue, EndOf(BytesPerSecond, static second => second / 25 * 64_000));

    [Fact]
    public void Without_a_rate_a_byte_a_window_is_enough()
    {
        Assert.Equal(long.MaxValue, EndOf(0, static second => second / 29));
        Assert.InRange(EndOf(0, static second => Math.Min(second, 100)), 125_000, 165_000);
    }

    /// <summary>Whenever it begins: bytes that came right after a look are not the credit of another window.</summary>
    [Theory]
    [InlineData(0)]
    [InlineData(BytesPerSecond)]
    public void Silence_is_noticed_within_five_quarters_of_the_window(int bytesPerSecond)
    {
        for (int lastSecond = 0; lastSecond < 70; lastSecond++)
        {
            int last = lastSecond;
            long endMs = EndOf(bytesPerSecond, second => Math.Min(second, last) * 1_000_000);
            Assert.InRange(endMs - (last * 1_000), WindowMs, WindowMs * 5 / 4);
        }
    }

    [Fact]
    public void Looks_are_neither_too_rare_nor_too_many()
    {
        int checks = 0;
        _ = EndOf(BytesPerSecond, second =>
        {
            checks++;
            return second * 1_999;
        });
        Assert.InRange(checks, 8, 60_000 / (WindowMs / 8_000));
    }

    /// <summary>When the watch gives up on a peer that has so many bytes after so many seconds; the largest number for never.</summary>
    private static long EndOf(int bytesPerSecond, Func<long, long> bytesAfter)
    {
        var watch = new TransferRateLimit();
        watch.Begin(nowMs: 0, WindowMs, bytesPerSecond, bytes: 0);
        while (watch.NextCheckMs < 60_000_000)
        {
            long nowMs = watch.NextCheckMs;
            if (watch.IsTooSlow(nowMs, bytesAfter(nowMs / 1_000)))
            {
                return nowMs;
            }
        }

        return long.MaxValue;
    }
}
