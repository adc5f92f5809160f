using System.Diagnostics;
using Millrace.Engine.Buffers;
using Millrace.Engine.Tests.Kit;
using Millrace.Interop;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Tests.Loop;

/// <summary>Whoever waits for a reactor is told of its end, whether it ended, failed, or never began.</summary>
public class ReactorEndTests : EngineTest
{
    private const string ChildVariable = "MILLRACE_TEST_CHILD";

    [Fact]
    public async Task What_is_posted_to_be_waited_for_is_told_that_the_reactor_has_ended()
    {
        ReactorGroup group = await StartAsync();
        await group.StopAsync(TimeSpan.Zero).Within();
        bool ran = false;
        await Assert.ThrowsAsync<ObjectDisposedException>(() => group.Reactors[0].PostAsync(() => ran = true).Within());
        Assert.False(ran);
    }

    [Fact]
    public async Task All_that_is_posted_to_be_waited_for_while_a_reactor_ends_is_told_something()
    {
        for (int round = 0; round < 20; round++)
        {
            ReactorGroup group = await StartAsync();
            Reactor reactor = group.Reactors[0];
            int ran = 0;
            int reported = 0;
            Task[] posters = [.. Enumerable.Range(0, 4).Select(_ => Task.Run(async () =>
            {
                for (int i = 0; i < 100; i++)
                {
                    try
                    {
                        await reactor.PostAsync(() => Interlocked.Increment(ref ran));
                    }
                    catch (ObjectDisposedException)
                    {
                        Interlocked.Increment(ref reported);
                    }
                }
            }))];
            await Task.WhenAll([.. posters, group.StopAsync(TimeSpan.Zero)]).Within();
            Assert.Equal(400, ran + reported);
        }
    }

    [Fact]
    public async Task What_is_posted_to_be_waited_for_and_throws_fails_its_task_alone()
    {
        ReactorGroup group = await StartAsync();
        Task post = group.Reactors[0].PostAsync(static () => throw new FormatException("mine"));
        await Assert.ThrowsAsync<FormatException>(() => post.Within());
        await group.Reactors[0].PostAsync(static () => { }).Within();
    }

    [Fact]
    public async Task A_reactor_whose_kernel_queue_fails_in_any_way_fails_its_start()
    {
        var refusal = new FormatException("mine");
        var reactor = new Reactor(0, new Limits(), new EngineLog(Log), () => throw refusal);
        Assert.Same(refusal, await Assert.ThrowsAsync<FormatException>(() => reactor.StartAsync().Within()));
        Assert.True(reactor.HasEnded);
        await Assert.ThrowsAsync<ObjectDisposedException>(() => reactor.PostAsync(static () => { }).Within());
    }

    [Fact]
    public async Task A_reactor_that_fails_behind_its_kernel_queue_gives_that_back()
    {
        var backend = new ScriptedBackend { ClockFault = new FormatException("mine") };
        var reactor = new Reactor(0, new Limits(), new EngineLog(Log), () => backend);
        await Assert.ThrowsAsync<FormatException>(() => reactor.StartAsync().Within());
        Assert.True(backend.IsDisposed);
    }

    [Fact]
    public async Task A_connect_that_the_kernel_never_ends_is_told_of_the_reactors_end()
    {
        await using Script script = await Script.StartAsync();
        Task connect = script.Reactor.RunAsync(
            () => script.Reactor.ConnectAsync(Script.Nowhere, static connection => connection.ReadAsync().AsTask()));
        Submission asked = await script.Kernel.ExpectAsync("connect");
        await AbandonedReactor.StopAsync(script);
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => connect);
        Assert.Equal(0, SocketCalls.Close(asked.Socket));
    }

    [Fact]
    public async Task A_handler_whose_disk_never_answers_is_told_of_the_reactors_end()
    {
        var outcome = new TaskCompletionSource<Exception?>();
        Script script = await Script.StartAsync();
        Submission receive = await script.ConnectAsync(5, async connection =>
            outcome.SetResult(await Record.ExceptionAsync(() => connection.ReadFileAsync(9, 0, 100).AsTask())));
        await script.Kernel.ExpectAsync("read");
        script.Kernel.Complete(receive, 0);
        await AbandonedReactor.StopAsync(script);
        Assert.Equal(Errno.ECANCELED, Assert.IsType<IOException>(await outcome.Task.Within()).HResult);

        // The kernel may still write: what it was given stays as it is, and is told of.
        Assert.True(script.Reactor.Pools.Lent > 0);
        AssertReportedOfALeftConnection(script);
    }

    [Fact]
    public async Task What_was_put_off_in_the_last_turn_of_a_reactor_runs()
    {
        bool ran = false;
        await using Script script = await Script.StartAsync();
        Task waiting = script.Reactor.RunAsync(async () =>
        {
            await Record.ExceptionAsync(() => script.Reactor.Delay(Timeout.InfiniteTimeSpan).AsTask());
            script.Reactor.Defer(_ => ran = true, null);
        });
        await script.ConnectionsAsync();
        await script.Reactor.StopAsync(TimeSpan.Zero).Within();
        await waiting;
        Assert.True(ran);
    }

    /// <summary>In a process of its own, which this one is where it is started by itself.</summary>
    [Fact]
    public async Task A_post_that_throws_ends_the_process_with_a_line_that_names_the_group_and_the_action()
    {
        if (Environment.GetEnvironmentVariable(ChildVariable) is not null)
        {
            ReactorGroup group = await StartAsync(Options() with { Name = "Millrace.Doomed" });
            group.Reactors[0].Post(ThrowingAction, null);
            await Task.Delay(Timeout.Infinite, TestContext.Current.CancellationToken);
        }

        string name = nameof(A_post_that_throws_ends_the_process_with_a_line_that_names_the_group_and_the_action);
        string program = Path.Combine(AppContext.BaseDirectory, "Millrace.Engine.Tests");
        var start = new ProcessStartInfo(program, ["-noColor", "-noLogo", "-method", $"{typeof(ReactorEndTests).FullName}.{name}"])
        {
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };
        start.Environment[ChildVariable] = "1";
        using var child = Process.Start(start)!;
        Task<string> output = child.StandardOutput.ReadToEndAsync(TestContext.Current.CancellationToken);
        string error = await child.StandardError.ReadToEndAsync(TestContext.Current.CancellationToken).Within();
        await child.WaitForExitAsync(TestContext.Current.CancellationToken).Within();
        Assert.True(child.ExitCode != 0, await output);
        Assert.Contains(
            $"Reactor 0 of Millrace.Doomed failed in an action that was posted to it ({nameof(ReactorEndTests)}.{nameof(ThrowingAction)})",
            error,
            StringComparison.Ordinal);
        Assert.Contains("mine", error, StringComparison.Ordinal);
    }

    private static void ThrowingAction(object? state) => throw new FormatException("mine");

    private static void AssertReportedOfALeftConnection(Script script)
    {
        Assert.Equal(1, script.Log.Count(102));
        Assert.Contains("connection slot", Assert.Single(BlockLeakDetector.Reports), StringComparison.Ordinal);
        BlockLeakDetector.Reports.Clear();
    }
}
