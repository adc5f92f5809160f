using Millrace.Engine.Loop;
using Millrace.Engine.Tests.Kit;
using Millrace.Interop;
using Millrace.Interop.Threads;

namespace Millrace.Engine.Tests.Loop;

/// <summary>Reactors that stay on a core each, and threads that do not.</summary>
public class CoreAffinityTests : EngineTest
{
    private static int[] Allowed => Cores(Environment.ProcessId);

    [Fact]
    public async Task Each_reactor_stays_on_one_of_the_cores_of_the_process()
    {
        int[] allowed = Allowed;
        ReactorGroup group = await StartAsync(Options() with { Reactors = allowed.Length + 1, PinReactors = true });
        int[][] cores = await Task.WhenAll(
            group.Reactors.Select(static reactor => reactor.AskAsync(static () => Cores(ThreadCalls.GetId()))));
        Assert.Equal([.. allowed.Select(static core => new[] { core }), [allowed[0]]], cores);
        Assert.Equal(0, Log.Count(109));
    }

    [Fact]
    public async Task Without_the_option_it_goes_where_the_kernel_puts_it()
    {
        ReactorGroup group = await StartAsync(Options());
        Assert.Equal(Allowed, await group.Reactors[0].AskAsync(static () => Cores(ThreadCalls.GetId())));
    }

    /// <summary>The kernel has a thread inherit the cores of the one that starts it.</summary>
    [Fact]
    [Trait("Duration", "Full")]
    public async Task What_a_pinned_reactor_starts_has_all_cores()
    {
        Assert.SkipUnless(Allowed.Length > 1, "on one core nothing tells a pinned thread from another");
        ReactorGroup group = await StartAsync(Options() with { Reactors = 2, PinReactors = true });
        ThreadPool.GetMinThreads(out int least, out int leastOfPorts);
        int running = 0;
        using var gate = new ManualResetEventSlim();
        try
        {
            // More than the pool has by now, so that it starts some, on the thread that asks.
            int wanted = ThreadPool.ThreadCount + 4;
            ThreadPool.SetMinThreads(wanted, leastOfPorts);
            Task<int[]>[] started = await group.Reactors[1].AskAsync(() => Enumerable.Range(0, wanted)
                .Select(_ => Task.Run(() =>
                {
                    Interlocked.Increment(ref running);
                    gate.Wait();
                    return Cores(ThreadCalls.GetId());
                }))
                .Append(NewThread())
                .ToArray());
            await Waiting.UntilAsync(() => Volatile.Read(ref running) == wanted, "all run at once");
            gate.Set();
            Assert.All(await Task.WhenAll(started).Within(), static cores => Assert.Equal(Allowed, cores));
        }
        finally
        {
            gate.Set();
            ThreadPool.SetMinThreads(least, leastOfPorts);
        }
    }

    [Fact]
    public async Task A_core_that_cannot_be_had_is_one_line_and_no_end()
    {
        int[] before = Allowed;
        int[][] cores = new int[2][];
        var pins = new CoreAffinity([60_000], new EngineLog(Log.CreateLogger("")));
        for (int i = 0; i < cores.Length; i++)
        {
            await Task.Factory.StartNew(
                () =>
                {
                    pins.Pin(i);
                    cores[i] = Cores(ThreadCalls.GetId());
                },
                CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default).Within();
        }

        Assert.Equal([before, before], cores);
        Assert.Equal(
            "Reactors cannot be pinned to cores and run unpinned: core 60000 cannot be used by this process any more. Restart to pin to "
                + "those that can.",
            Assert.Single(Log.Entries, static line => line.Id == 109).Text);
    }

    [Theory]
    [InlineData(Errno.EPERM, "a sandbox forbids sched_setaffinity. Allow it there, or do not pin reactors.")]
    [InlineData(Errno.ENOSYS, "a sandbox forbids sched_setaffinity. Allow it there, or do not pin reactors.")]
    [InlineData(Errno.ESRCH, "sched_setaffinity failed (No such process). Do not pin reactors.")]
    public void The_line_names_the_one_cause_and_its_remedy(int errno, string text)
    {
        CoreAffinity.Report(new EngineLog(Log.CreateLogger("")), "sched_setaffinity", "core 1", -errno);
        Assert.Equal($"Reactors cannot be pinned to cores and run unpinned: {text}", Assert.Single(Log.Entries, static line => line.Id == 109).Text);
    }

    private static Task<int[]> NewThread()
    {
        var cores = new TaskCompletionSource<int[]>();
        new Thread(() => cores.SetResult(Cores(ThreadCalls.GetId()))).Start();
        return cores.Task;
    }

    /// <summary>As proc(5) shows them: 0-3,8.</summary>
    private static int[] Cores(int thread)
    {
        const string Field = "Cpus_allowed_list:";
        string list = File.ReadLines($"/proc/self/task/{thread}/status").Single(line => line.StartsWith(Field, StringComparison.Ordinal));
        return [.. list[Field.Length..].Trim().Split(',').SelectMany(static part =>
        {
            int[] ends = [.. part.Split('-').Select(int.Parse)];
            return Enumerable.Range(ends[0], ends[^1] - ends[0] + 1);
        })];
    }
}
