using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using Millrace.Engine.Buffers;

namespace Millrace.Engine.Tests.Unit;

/// <summary>Debug builds report blocks that are not returned, or returned twice. Release builds record nothing, as the same tests check.</summary>
public unsafe class BlockLeakDetectorTests
{
    private static bool IsDebug =>
#if DEBUG
        true;
#else
        false;
#endif

    [Fact]
    public void A_block_returned_twice_is_caught_at_once()
    {
        var pools = new BlockPools();
        Block block = pools.Rent(1);
        pools.Return(block);

        if (IsDebug)
        {
            Assert.Contains("that is not lent", Assert.ThrowsAny<Exception>(() => pools.Return(block)).Message, StringComparison.Ordinal);
        }
        else
        {
            Assert.Equal(0, pools.Lent);
        }

        pools.Dispose();
    }

    [Fact]
    public void A_block_that_is_not_of_these_pools_is_caught()
    {
        using var pools = new BlockPools();
        using var others = new BlockPools();
        Block block = others.Rent(1);

        if (IsDebug)
        {
            Assert.ThrowsAny<Exception>(() => pools.Return(block));
        }

        others.Return(block);
        Assert.Equal(0, others.Lent);
    }

    [Fact]
    public void A_block_that_was_not_returned_is_reported_with_who_took_it()
    {
        var pools = new BlockPools();
        Block kept = TakeAndForget(pools);
        Block returned = pools.Rent(1);
        pools.Return(returned);

        pools.Dispose();

        string[] reports = TakeReports(nameof(TakeAndForget));
        if (IsDebug)
        {
            Assert.StartsWith("A block was not returned.", Assert.Single(reports), StringComparison.Ordinal);
        }
        else
        {
            Assert.Empty(reports);
        }

        NativeMemory.AlignedFree(kept.Address);
    }

    [Fact]
    public void What_was_returned_is_not_reported()
    {
        var detector = new BlockLeakDetector("thing of this test");
        detector.Lend(1);
        detector.Lend(2);
        detector.TakeBack(1);
        detector.TakeBack(2);
        detector.Lend(1);
        detector.TakeBack(1);

        detector.ReportOutstanding();

        Assert.Empty(TakeReports("thing of this test"));
    }

    [Fact]
    public void The_same_thing_cannot_be_lent_twice()
    {
        var detector = new BlockLeakDetector("thing lent twice");
        detector.Lend(1);

        if (IsDebug)
        {
            Assert.Contains("lent twice", Assert.ThrowsAny<Exception>(() => detector.Lend(1)).Message, StringComparison.Ordinal);
        }
        else
        {
            detector.Lend(1);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static Block TakeAndForget(BlockPools pools) => pools.Rent(1);

    /// <summary>Takes the reports of one test's own making; others', which would be of real leaks, stay.</summary>
    private static string[] TakeReports(string text)
    {
        List<string> taken = [];
        for (int count = BlockLeakDetector.Reports.Count; count > 0 && BlockLeakDetector.Reports.TryDequeue(out string? report); count--)
        {
            if (report.Contains(text, StringComparison.Ordinal))
            {
                taken.Add(report);
            }
            else
            {
                BlockLeakDetector.Reports.Enqueue(report);
            }
        }

        return [.. taken];
    }
}
