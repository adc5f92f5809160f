using Millrace.Engine.Tests.Kit;
using Millrace.Interop;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Tests.Loop;

/// <summary>What every public method with a time takes: no limit, the longest there is, and nothing before now.</summary>
public class TimeTests : EngineTest
{
    private const int Socket = 5;

    private static readonly TimeSpan JustNegative = TimeSpan.FromMilliseconds(-2);

    /// <summary>Longer than any of these waits may last by mistake.</summary>
    private const long HourMs = 3_600_000;

    public static TheoryData<TimeSpan> Unbounded => [Timeout.InfiniteTimeSpan, TimeSpan.MaxValue];

    [Theory]
    [MemberData(nameof(Unbounded))]
    public async Task A_connection_rests_without_a_limit_of_time(TimeSpan most)
    {
        int begun = 0;
        await using Script script = await Script.StartAsync();
        Submission receive = await script.ConnectAsync(Socket, connection =>
        {
            Interlocked.Increment(ref begun);
            connection.Consume(connection.Input.Length);
            connection.WaitIdle(most);
            return Task.CompletedTask;
        });

        await PassAnHourAsync(script);
        Assert.Equal(1, await script.ConnectionsAsync());
        script.Kernel.Deliver(receive, [1]);
        await Waiting.UntilAsync(() => Volatile.Read(ref begun) == 2, "the handler ran again");
        Assert.True(script.Kernel.IsQuiet);
    }

    [Theory]
    [MemberData(nameof(Unbounded))]
    public Task A_read_waits_without_a_deadline(TimeSpan most) =>
        ExpectToWaitAsync(connection => connection.SetReadDeadline(most));

    [Theory]
    [MemberData(nameof(Unbounded))]
    public Task A_rate_may_be_asked_for_without_a_limit_of_time(TimeSpan most) =>
        ExpectToWaitAsync(connection => connection.SetReadRate(int.MaxValue, TimeSpan.MaxValue, most));

    [Theory]
    [MemberData(nameof(Unbounded))]
    public async Task A_delay_and_a_connect_wait_without_a_limit_of_time(TimeSpan most)
    {
        using var cancellation = new CancellationTokenSource();
        await using Script script = await Script.StartAsync();
        Task delay = script.Reactor.RunAsync(() => script.Reactor.Delay(most, cancellation.Token).AsTask());
        Task connect = script.Reactor.RunAsync(() => script.Reactor.ConnectAsync(Script.Nowhere, Never, most, cancellation.Token));
        Submission asked = await script.Kernel.ExpectAsync("connect");

        await PassAnHourAsync(script);
        Assert.False(delay.IsCompleted);
        Assert.False(connect.IsCompleted);
        Assert.True(script.Kernel.IsQuiet);
        await cancellation.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => delay);
        script.Kernel.Complete(asked, -Errno.ECANCELED);
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => connect);
        Assert.Equal(0, SocketCalls.Close(asked.Socket));
    }

    [Theory]
    [MemberData(nameof(Unbounded))]
    public async Task A_group_waits_for_its_handlers_without_a_limit_of_time(TimeSpan drain)
    {
        // Not within the handler, on the reactor: what follows waits for that.
        var begun = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var release = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        Listener listener = await ServeAsync(async connection =>
        {
            begun.SetResult();
            await release.Task;
            await connection.Reactor.SwitchTo();
            connection.Write("done"u8);
        });
        Client client = await ConnectAsync(listener);
        await begun.Task.Within();

        Task stop = Group.StopAsync(drain);
        await Waiting.UntilAsync(() => Reactor.AskAsync(() => Reactor.IsDraining).Result, "the drain began");
        Assert.False(stop.IsCompleted);
        release.SetResult();
        Assert.Equal("done", await client.ReceiveTextAsync(4));
        client.Dispose();
        await stop.Within();
    }

    [Fact]
    public async Task A_negative_time_is_refused_by_the_name_of_its_parameter()
    {
        await using Script script = await Script.StartAsync();
        var refused = new TaskCompletionSource<string?[]>();
        await script.ConnectAsync(Socket, async connection =>
        {
            refused.SetResult([
                NameOf(() => connection.WaitIdle(JustNegative)),
                NameOf(() => connection.SetReadDeadline(JustNegative)),
                NameOf(() => connection.SetReadRate(1, JustNegative, TimeSpan.FromSeconds(1))),
                NameOf(() => connection.SetReadRate(1, Timeout.InfiniteTimeSpan, TimeSpan.FromSeconds(1))),
                NameOf(() => connection.SetReadRate(1, TimeSpan.FromSeconds(1), JustNegative)),
                NameOf(() => _ = connection.Reactor.Delay(JustNegative).AsTask()),
                NameOf(() => _ = connection.Reactor.ConnectAsync(Script.Nowhere, Never, JustNegative)),
            ]);
            await connection.ReadAsync();
        });
        string?[] names = await refused.Task.Within();
        Assert.Equal("most, fromNow, window, window, most, time, timeout", string.Join(", ", names));
        ReactorGroup group = await StartAsync();
        Assert.Equal("drain", (await Assert.ThrowsAsync<ArgumentOutOfRangeException>(() => group.StopAsync(JustNegative))).ParamName);
    }

    [Theory]
    [InlineData(nameof(Limits.Linger), 0)]
    [InlineData(nameof(Limits.WriteStall), 0)]
    [InlineData(nameof(Limits.AcceptPause), 0)]
    [InlineData(nameof(Limits.ConnectTimeout), 0)]
    [InlineData(nameof(Limits.WriteStall), 5_000)]
    [InlineData(nameof(Limits.AcceptPause), 5_000)]
    public async Task A_limit_that_is_no_time_is_refused_by_its_name(string name, long ticks)
    {
        TimeSpan none = TimeSpan.FromTicks(ticks);
        Limits limits = name switch
        {
            nameof(Limits.Linger) => new Limits { Linger = none },
            nameof(Limits.WriteStall) => new Limits { WriteStall = none },
            nameof(Limits.AcceptPause) => new Limits { AcceptPause = none },
            _ => new Limits { ConnectTimeout = none },
        };
        ArgumentOutOfRangeException error = await Assert.ThrowsAsync<ArgumentOutOfRangeException>(() => StartAsync(Options(limits)));
        Assert.Equal(name, error.ParamName);
    }

    [Fact]
    public async Task Connects_may_take_as_long_as_the_kernel_tries_by_the_groups_limits()
    {
        await using Script script = await Script.StartAsync(new Limits { ConnectTimeout = Timeout.InfiniteTimeSpan });
        Task connect = script.Reactor.RunAsync(() => script.Reactor.ConnectAsync(Script.Nowhere, Never));
        Submission asked = await script.Kernel.ExpectAsync("connect");
        await PassAnHourAsync(script);
        Assert.True(script.Kernel.IsQuiet);
        script.Kernel.Complete(asked, 0);
        await connect;
        await script.Kernel.ExpectAsync("receive");
        Assert.Equal(0, SocketCalls.Close(asked.Socket));
        await StartAsync(Options(new Limits { ConnectTimeout = Timeout.InfiniteTimeSpan }));
    }

    private static Task Never(Connection connection) => connection.ReadAsync().AsTask();

    private static string? NameOf(Action act) => Assert.Throws<ArgumentOutOfRangeException>(act).ParamName;

    /// <summary>A read after this setting is pending after an hour, and completes with data.</summary>
    private static async Task ExpectToWaitAsync(Action<Connection> set)
    {
        var outcome = new TaskCompletionSource<ReadOutcome>();
        await using Script script = await Script.StartAsync();
        Submission receive = await script.ConnectAsync(Socket, async connection =>
        {
            set(connection);
            outcome.SetResult(await connection.ReadAsync());
        });

        await PassAnHourAsync(script);
        Assert.False(outcome.Task.IsCompleted);
        script.Kernel.Deliver(receive, [1]);
        Assert.Equal(ReadOutcome.Data, await outcome.Task.Within());
    }

    private static async Task PassAnHourAsync(Script script)
    {
        script.Kernel.AdvanceClock(HourMs);
        await script.ConnectionsAsync();
        script.Kernel.AdvanceClock(HourMs);
        await script.ConnectionsAsync();
    }
}
