using Millrace.Engine.Buffers;
using Millrace.Engine.Tests.Kit;

namespace Millrace.Engine.Tests.Unit;

/// <summary>When memory that a peak has left is given back, and how much of it.</summary>
public class MemoryTrimmerTests
{
    [Fact]
    public void Blocks_that_nobody_has_needed_since_the_last_release_are_freed_and_no_others()
    {
        using var pools = new BlockPools();
        ReturnAll(pools, RentMany(pools, 40));
        Assert.Equal(40 * BlockPools.ResponseBytes, pools.HeldBytes);

        // They were in use until now.
        pools.Trim(all: false);
        Assert.Equal(40 * BlockPools.ResponseBytes, pools.HeldBytes);

        ReturnAll(pools, RentMany(pools, 3));
        pools.Trim(all: false);
        Assert.Equal(3 * BlockPools.ResponseBytes, pools.HeldBytes);
        Block kept = pools.Rent(BlockPools.ResponseBytes);
        pools.Trim(all: true);
        Assert.Equal(BlockPools.ResponseBytes, pools.HeldBytes);
        pools.Return(kept);
        pools.Trim(all: true);
        Assert.Equal(0, pools.HeldBytes);
    }

    [Fact]
    public void Each_period_what_lay_unused_goes_and_behind_the_traffic_the_rest()
    {
        var release = new MemoryTrimmer();
        var part = new Part();
        release.Add(part);
        Assert.True(release.IsIdle);
        Assert.Equal(long.MaxValue, release.DueMs);
        release.RunDue(1_000_000, completions: 0);
        Assert.Empty(part.Trims);

        release.Arm(1_000_000);
        release.Arm(1_002_000);
        Assert.Equal(1_005_000, release.DueMs);
        release.RunDue(1_004_999, completions: 9_000);
        Assert.Empty(part.Trims);
        Assert.False(release.RunDue(1_005_000, completions: 9_000));
        Assert.False(release.IsIdle);
        Assert.Equal([false], part.Trims);
        Assert.Equal(1_010_000, release.DueMs);
        Assert.True(release.RunDue(1_010_000, completions: 9_100));
        Assert.Equal([false, true], part.Trims);
        Assert.Equal(long.MaxValue, release.DueMs);
        Assert.True(release.IsIdle);

        release.Remove(part);
        release.Arm(2_000_000);
        release.RunDue(2_005_000, completions: 9_100);
        Assert.Equal([false, true], part.Trims);
    }

    [Fact]
    public async Task A_reactor_without_traffic_gives_back_all_that_it_held_for_answers()
    {
        await using Script script = await Script.StartAsync();
        Submission receive = await script.ConnectAsync(7, async connection =>
        {
            await connection.ReadAsync();
            for (int i = 0; i < 20; i++)
            {
                connection.Write(new byte[BlockPools.ResponseBytes]);
            }

            await connection.FlushAsync();
        });
        script.Kernel.Deliver(receive, new byte[1]);
        Submission send = await script.Kernel.ExpectAsync("send");
        script.Kernel.Complete(send, send.Bytes.Length);
        await script.Kernel.ExpectAsync("shutdown");
        script.Kernel.Complete(receive, 0);
        await script.ExpectClosedAsync(7);
        Assert.InRange(await HeldAsync(), 20 * BlockPools.ResponseBytes, long.MaxValue);

        script.Kernel.AdvanceClock(MemoryTrimmer.PeriodMs);
        Assert.Equal(0, await HeldAsync());
        Assert.True(script.Reactor.IsIdle);

        Task<long> HeldAsync() => script.Reactor.AskAsync(() => 0).ContinueWith(
            async _ => await script.Reactor.AskAsync(() => script.Reactor.Pools.HeldBytes), TaskScheduler.Default).Unwrap();
    }

    private static List<Block> RentMany(BlockPools pools, int count) =>
        [.. Enumerable.Range(0, count).Select(_ => pools.Rent(BlockPools.ResponseBytes))];

    private static void ReturnAll(BlockPools pools, List<Block> blocks) => blocks.ForEach(pools.Return);

    private sealed class Part : ITrimmable
    {
        public List<bool> Trims { get; } = [];

        public void Trim(bool all) => Trims.Add(all);
    }
}
