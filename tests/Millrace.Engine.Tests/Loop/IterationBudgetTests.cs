using System.Diagnostics;
using Millrace.Engine.Backends;
using Millrace.Engine.Loop;
using Millrace.Engine.Tests.Kit;

namespace Millrace.Engine.Tests.Loop;

/// <summary>How an iteration is shared, on a clock that the test moves: who goes on when is known to the step.</summary>
public class IterationBudgetTests
{
    private static readonly long Microsecond = Stopwatch.Frequency / 1_000_000;

    [Theory]
    [InlineData(0, 1_000)]
    [InlineData(1, 500)]
    [InlineData(3, 250)]
    [InlineData(9, 250)]
    [InlineData(999, 250)]
    public void A_slice_is_the_shorter_the_more_others_wait(int waiting, int microseconds)
    {
        using var kernel = new ScriptedBackend();
        var budget = new IterationBudget(kernel);
        budget.BeginPhase(IterationBudget.PhaseTicks);
        budget.BeginSlice(waiting);
        Assert.False(budget.IsSliceOver);
        kernel.Spend((microseconds * Microsecond) - 1);
        Assert.False(budget.IsSliceOver);
        kernel.Spend(1);
        Assert.True(budget.IsSliceOver);
    }

    [Fact]
    public void No_slice_outlasts_its_phase_and_the_next_one_begins_again()
    {
        using var kernel = new ScriptedBackend();
        var budget = new IterationBudget(kernel);
        budget.BeginPhase(IterationBudget.PhaseTicks);
        kernel.Spend(990 * Microsecond);
        budget.BeginSlice(waiting: 0);
        Assert.False(budget.IsSliceOver);
        kernel.Spend(10 * Microsecond);
        Assert.True(budget.IsSliceOver);
        Assert.True(budget.IsPhaseOver);
        budget.BeginSlice(waiting: 0);
        Assert.True(budget.IsSliceOver);

        budget.BeginPhase(IterationBudget.PhaseTicks);
        Assert.False(budget.IsPhaseOver);
        budget.BeginSlice(waiting: 0);
        Assert.False(budget.IsSliceOver);
    }

    [Fact]
    public void A_turn_sends_what_is_small_and_of_what_is_large_so_many_bytes_and_one_send_more()
    {
        using var kernel = new ScriptedBackend();
        var budget = new IterationBudget(kernel);
        budget.BeginSends();
        Assert.True(budget.TrySend(IterationBudget.SendBytes - 1));
        Assert.True(budget.TrySend(600_000));
        Assert.False(budget.TrySend(IterationBudget.SmallSendBytes + 1));
        Assert.True(budget.TrySend(IterationBudget.SmallSendBytes));
        budget.BeginSends();
        Assert.True(budget.TrySend(10 * IterationBudget.SendBytes));
    }

    [Fact]
    public async Task Who_comes_with_one_step_waits_for_a_slice_of_each_and_not_for_all_that_others_have_to_do()
    {
        const int Busy = 4;
        const int StepsEach = 1_000;
        await using Script script = await Script.StartAsync();
        var order = new List<char>();
        var ended = new TaskCompletionSource();
        Submission visitor = await script.ConnectAsync(9, async connection =>
        {
            await connection.ReadAsync();
            order.Add('v');
        });
        var receives = new List<Submission>();
        int left = Busy;
        for (int i = 0; i < Busy; i++)
        {
            char name = (char)('a' + i);
            receives.Add(await script.ConnectAsync(10 + i, connection => WorkAsync(connection, name)));
        }

        script.Kernel.CompleteTogether([.. receives.Select(static receive =>
            (receive, 1, CompletionFlags.More, (byte[]?)[1]))]);
        await ended.Task.Within();

        // A step is 10 us. Of the completions' millisecond each has a quarter, as three others wait, after it or put off, and the step
        // before it first asks; the last has what is left.
        Assert.Equal(
            string.Concat(new string('a', 26), new string('b', 26), new string('c', 26), new string('d', 22)),
            string.Concat(order.Take(100)));

        // Nobody else comes, and they go on in their order: again a millisecond for all.
        Assert.Equal(
            string.Concat(new string('a', 26), new string('b', 26), new string('c', 26), new string('d', 22)),
            string.Concat(order.Skip(100).Take(100)));

        // The visitor's bytes come while the first does its 60th step: it is served at the next iteration's beginning, before those that were
        // put off; without slices it would wait for 4,000 steps.
        Assert.Equal(300, order.IndexOf('v'));
        Assert.Equal((Busy * StepsEach) + 1, order.Count);

        async Task WorkAsync(Connection connection, char name)
        {
            await connection.ReadAsync();
            for (int step = 1; step <= StepsEach; step++)
            {
                order.Add(name);
                script.Kernel.Spend(10 * Microsecond);
                if (name == 'a' && step == 60)
                {
                    script.Kernel.Deliver(visitor, [1]);
                }

                if (connection.Reactor.Budget.IsSliceOver)
                {
                    await connection.Reactor.Yield();
                }
            }

            if (--left == 0)
            {
                ended.SetResult();
            }
        }
    }

    [Fact]
    public async Task What_is_small_is_sent_before_what_is_large_and_has_to_wait_for_the_next_turn()
    {
        const int LargeBytes = 800_000;
        await using Script script = await Script.StartAsync();
        var receives = new List<Submission>();
        byte[] large = GC.AllocateArray<byte>(LargeBytes, pinned: true);
        foreach (int socket in (int[])[11, 12, 13, 14, 15])
        {
            receives.Add(await script.ConnectAsync(socket, async connection =>
            {
                await connection.ReadAsync();
                Write(connection, large, socket == 14 ? 100 : LargeBytes);
                await connection.FlushAsync();
            }));
        }

        script.Kernel.CompleteTogether([.. receives.Select(static receive =>
            (receive, 1, CompletionFlags.More, (byte[]?)[1]))]);
        var sent = new List<int>();
        for (int i = 0; i < receives.Count; i++)
        {
            Submission send = await script.Kernel.ExpectAsync("send");
            Assert.Equal(send.Socket == 14 ? 100 : LargeBytes, send.Bytes.Length);
            sent.Add(send.Socket);
        }

        // A mebibyte lasts for two of the large ones, as the second may go beyond it.
        Assert.Equal([11, 12, 14, 13, 15], sent);
    }

    private static unsafe void Write(Connection connection, byte[] pinned, int count)
    {
        fixed (byte* bytes = pinned)
        {
            connection.WriteReference(bytes, count);
        }
    }
}
