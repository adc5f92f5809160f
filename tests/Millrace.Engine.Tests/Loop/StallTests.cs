using System.Collections.Concurrent;
using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Text.RegularExpressions;
using Millrace.Engine.Diagnostics;
using Millrace.Engine.Tests.Kit;
using Millrace.Interop.Sockets;
using Millrace.Interop.Threads;

namespace Millrace.Engine.Tests.Loop;

/// <summary>A reactor that is blocked, and what continues without it.</summary>
public class StallTests : EngineTest
{
    private readonly ManualResetEventSlim _gate = new();

    [Fact]
    public async Task Connections_of_a_blocked_reactor_are_served_by_others()
    {
        Listener listener = await ServeAsync(Handlers.EchoAsync, Options() with { Reactors = 2 });
        await BlockAsync(Group.Reactors[0]);
        // The kernel picks a queue by the ports: that none of so many is the first reactor's is improbable (2^-40).
        await Task.WhenAll(Enumerable.Range(0, 40).Select(async _ =>
        {
            using Client client = await Client.ConnectAsync(listener.EndPoint);
            await client.SendAsync("bytes"u8.ToArray());
            Assert.Equal("bytes"u8.ToArray(), await client.ReceiveAsync(5));
        })).Within();
        Assert.True(Group.Reactors[0].IsStalled);
        Assert.Equal(40, Group.Reactors[1].Counters.Accepted);
        _gate.Set();
    }

    [Fact]
    public async Task A_socket_that_only_the_blocked_reactor_accepts_on_is_accepted_on_by_others()
    {
        using var folder = new TemporaryFolder();
        Listener listener = await ServeAsync(
            Handlers.EchoAsync, Options() with { Reactors = 3 }, new UnixDomainSocketEndPoint(folder.File("socket")));
        await BlockAsync(Group.Reactors[0]);
        for (int i = 0; i < 6; i++)
        {
            using Client client = await Client.ConnectAsync(listener.EndPoint);
            await client.SendAsync("bytes"u8.ToArray());
            Assert.Equal("bytes"u8.ToArray(), await client.ReceiveAsync(5).Within());
        }

        Assert.Equal(0, Group.Reactors[0].Counters.Accepted);
        _gate.Set();
    }

    /// <summary>Whoever listens there next may wait for a connection as long as it takes.</summary>
    [Fact]
    public async Task An_inherited_socket_is_accepted_on_by_others_and_has_no_time_limit_afterwards()
    {
        ReactorGroup group = await StartAsync(Options() with { Reactors = 2 });
        using var bound = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        bound.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        Listener listener = await group.ListenOnAsync((int)bound.Handle, Handlers.EchoAsync).Within();
        await BlockAsync(group.Reactors[0]);
        using (Client client = await Client.ConnectAsync(listener.EndPoint))
        {
            await client.SendAsync("bytes"u8.ToArray());
            Assert.Equal("bytes"u8.ToArray(), await client.ReceiveAsync(5));
        }

        Assert.Equal(1, group.Reactors[1].Counters.Accepted);
        _gate.Set();
        await listener.StopAsync().Within();
        byte[] limit = new byte[2 * sizeof(long)];
        Assert.Equal(limit.Length, SocketCalls.GetOption(
            (int)bound.Handle, SocketOptionNumber.LevelSocket, SocketOptionNumber.ReceiveTimeout, limit));
        Assert.All(limit, static part => Assert.Equal(0, part));
    }

    [Fact]
    public async Task After_a_stall_its_own_reactor_accepts_again()
    {
        Listener listener = await ServeAsync(Handlers.EchoAsync, Options() with { Reactors = 2 });
        await BlockAsync(Group.Reactors[0]);
        using (Client client = await Client.ConnectAsync(listener.EndPoint))
        {
            await client.SendAsync("x"u8.ToArray());
            await client.ReceiveAsync(1).Within();
        }

        _gate.Set();
        await Waiting.UntilAsync(() => !Group.Reactors[0].IsStalled, "the reactor goes on");
        long before = Group.Reactors[0].Counters.Accepted;
        for (int i = 0; i < 40; i++)
        {
            using Client client = await Client.ConnectAsync(listener.EndPoint);
            await client.SendAsync("x"u8.ToArray());
            await client.ReceiveAsync(1).Within();
        }

        Assert.InRange(Group.Reactors[0].Counters.Accepted - before, 1, 40);
    }

    [Fact]
    public async Task Movable_continuations_run_on_the_pool_meanwhile_and_nothing_else_does()
    {
        await StartAsync(Options());
        var early = new TaskCompletionSource<bool>(TaskCreationOptions.RunContinuationsAsynchronously);
        var late = new TaskCompletionSource<bool>(TaskCreationOptions.RunContinuationsAsynchronously);
        var home = new TaskCompletionSource<Reactor?>(TaskCreationOptions.RunContinuationsAsynchronously);
        Task begun = BeginBlockAsync(Reactor);
        await begun.Within();
        Reactor.PostMovable(_ => early.SetResult(Thread.CurrentThread.IsThreadPoolThread), null);
        Reactor.PostContinuation(_ => home.SetResult(Reactor.Current), null);
        Assert.True(await early.Task.Within());
        await Waiting.UntilAsync(() => Reactor.IsStalled, "the reactor is blocked");
        Reactor.PostMovable(_ => late.SetResult(Thread.CurrentThread.IsThreadPoolThread), null);
        Assert.True(await late.Task.Within());
        Assert.False(home.Task.IsCompleted);

        _gate.Set();
        Assert.Same(Reactor, await home.Task.Within());
        var again = new TaskCompletionSource<Reactor?>(TaskCreationOptions.RunContinuationsAsynchronously);
        await Waiting.UntilAsync(() => !Reactor.IsStalled, "the reactor goes on");
        Reactor.PostMovable(_ => again.SetResult(Reactor.Current), null);
        Assert.Same(Reactor, await again.Task.Within());
    }

    [Fact]
    public async Task A_stall_is_counted_and_logged_with_its_owner_and_its_end()
    {
        await StartAsync(Options());
        var owner = new Owner { Wait = OwnerWait.None };
        await BlockAsync(Reactor, owner);
        Assert.Equal(1, Reactor.Counters.Stalls);
        await Waiting.UntilAsync(() => Log.Count(105) > 0, "it is logged");
        Assert.Contains("the owner", Assert.Single(Log.Entries, static entry => entry.Id == 105).Text, StringComparison.Ordinal);
        _gate.Set();
        await Waiting.UntilAsync(() => Log.Count(106) == 1, "the end is logged");
        Assert.Equal(0, owner.Failures);
        Assert.InRange(owner.Reliefs, 1, int.MaxValue);
    }

    [Fact]
    public async Task A_first_call_that_computes_for_long_is_counted_and_not_warned_of()
    {
        await StartAsync(Options());
        // A watchdog that gets no processor meanwhile sees none of it.
        for (int i = 0; i < 20 && Reactor.Counters.Stalls == 0; i++)
        {
            await ComputeAsync(new Owner { Wait = OwnerWait.None, IsFirstCall = true });
        }

        Assert.NotEqual(0, Reactor.Counters.Stalls);
        await Waiting.UntilAsync(() => !Reactor.IsStalled, "its end is seen");
        Assert.Equal((0, 0), (Log.Count(105), Log.Count(106)));
        for (int i = 0; i < 20 && Log.Count(105) == 0; i++)
        {
            await ComputeAsync(new Owner { Wait = OwnerWait.None, IsFirstCall = false });
        }

        Assert.Equal(1, Log.Count(105));
    }

    [Fact]
    public async Task A_first_call_that_blocks_is_warned_of_when_no_compiler_would_take_so_long()
    {
        await StartAsync(Options());
        await BlockAsync(Reactor, new Owner { Wait = OwnerWait.None, IsFirstCall = true });
        await Waiting.UntilAsync(() => Log.Count(105) == 1, "it is warned of");
        Match duration = Regex.Match(Log.Entries.Single(static entry => entry.Id == 105).Text, "blocked for ([0-9]+) ms");
        Assert.InRange(int.Parse(duration.Groups[1].Value, CultureInfo.InvariantCulture), 450, 60_000);
        _gate.Set();
        await Waiting.UntilAsync(() => Log.Count(106) == 1, "the end is logged");
    }

    [Fact]
    public async Task An_owner_is_notified_of_its_waits_and_not_of_its_computations()
    {
        await StartAsync(Options());
        var computing = new Owner { Wait = OwnerWait.None };
        await ComputeAsync(computing);
        var waiting = new Owner { Wait = OwnerWait.None };
        int callbacks = 0;
        for (; callbacks < 200 && waiting.Blocked.Select(static each => each.Callback).Distinct().Count() < 5; callbacks++)
        {
            var waited = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            Reactor.Post(
                _ =>
                {
                    Reactor.CallbackOwner = waiting;
                    _gate.Wait(20);
                    Reactor.CallbackOwner = null;
                    waited.SetResult();
                },
                null);
            await waited.Task.Within();
        }

        Assert.InRange(callbacks, 5, 199);
        Assert.All(waiting.Blocked, static each => Assert.InRange(each.BlockedMs, 0, StallDetector.PeriodMs));
        long computedMs = computing.Blocked.Sum(static each => each.BlockedMs);
        Assert.InRange(computedMs, 0, 100);
        Assert.Equal(Reactor.Counters.BlockedMs, computedMs + waiting.Blocked.Sum(static each => each.BlockedMs));
    }

    [Fact]
    public async Task An_owner_that_waits_for_its_reactor_is_failed_once()
    {
        await StartAsync(Options());
        var owner = new Owner { Wait = OwnerWait.Certain };
        await BlockAsync(Reactor, owner);
        await Waiting.UntilAsync(() => owner.Failures > 0, "the owner is failed");
        await Task.Delay(50 * StallDetector.PeriodMs, TestContext.Current.CancellationToken);
        Assert.Equal(1, owner.Failures);
        Assert.Equal(1, Reactor.Counters.WaitsFailed);
        _gate.Set();
    }

    [Fact]
    public async Task An_owner_that_cannot_be_failed_at_first_is_failed_at_the_next_check()
    {
        await StartAsync(Options());
        var owner = new Owner { Wait = OwnerWait.Certain, Refusals = 2 };
        await BlockAsync(Reactor, owner);
        await Waiting.UntilAsync(() => Reactor.Counters.WaitsFailed == 1, "the owner is failed");
        Assert.Equal(3, owner.Failures);
        _gate.Set();
    }

    [Fact]
    public async Task An_owner_that_computes_is_not_taken_for_one_that_waits()
    {
        await StartAsync(Options());
        var owner = new Owner { Wait = OwnerWait.Certain };
        var computed = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        Reactor.Post(
            _ =>
            {
                Reactor.CallbackOwner = owner;
                long began = Environment.TickCount64;
                while (Environment.TickCount64 - began < 800)
                {
                    Thread.SpinWait(1000);
                }

                Reactor.CallbackOwner = null;
                computed.SetResult();
            },
            null);
        await computed.Task.Within();
        Assert.InRange(Reactor.Counters.Stalls, 1, long.MaxValue);
        Assert.Equal(0, owner.Failures);
    }

    [Fact]
    public async Task A_wait_that_begins_after_an_uncertain_one_has_its_own_time()
    {
        await StartAsync(Options());
        var owner = new Owner { Wait = OwnerWait.Possible };
        await BlockAsync(Reactor, owner);
        // Sleeps: the watchdog looks at threads of the system, on the system's clock.
        await Task.Delay(100 * StallDetector.PeriodMs, TestContext.Current.CancellationToken);
        int checks = owner.Reliefs;
        owner.Wait = OwnerWait.Certain;
        await Waiting.UntilAsync(() => owner.Failures == 1, "the owner is failed");
        Assert.InRange(owner.Reliefs - checks, 20, int.MaxValue);
        _gate.Set();
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task An_owner_that_possibly_waits_is_failed_after_seconds()
    {
        await StartAsync(Options());
        var owner = new Owner { Wait = OwnerWait.Possible };
        await BlockAsync(Reactor, owner);
        // Sleeps: the watchdog looks at threads of the system, on the system's clock.
        await Task.Delay(200 * StallDetector.PeriodMs, TestContext.Current.CancellationToken);
        Assert.Equal(0, owner.Failures);
        await Waiting.UntilAsync(() => owner.Failures == 1, "the owner is failed");
        _gate.Set();
    }

    [Fact]
    public async Task A_listener_can_be_stopped_while_a_reactor_is_blocked()
    {
        Listener listener = await ServeAsync(Handlers.EchoAsync, Options() with { Reactors = 2 });
        await BlockAsync(Group.Reactors[0]);
        Task stop = listener.StopAsync();
        await Task.Delay(4 * StallDetector.PeriodMs, TestContext.Current.CancellationToken);
        _gate.Set();
        await stop.Within();
    }

    [Fact]
    public async Task Without_the_watchdog_nothing_is_counted()
    {
        await StartAsync(Options() with { WatchForStalls = false });
        await BeginBlockAsync(Reactor).Within();
        await Task.Delay(3 * StallDetector.StallMs, TestContext.Current.CancellationToken);
        Assert.False(Reactor.IsStalled);
        Assert.Equal(0, Reactor.Counters.Stalls);
        _gate.Set();
    }

    /// <summary>Has the reactor compute for 250 ms of its own processor time: on a busy machine the clock goes on without it.</summary>
    private Task ComputeAsync(ICallbackOwner owner)
    {
        var computed = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        Reactor.Post(
            _ =>
            {
                Reactor.CallbackOwner = owner;
                long began = ThreadCalls.GetUsage().RanMicroseconds;
                while (ThreadCalls.GetUsage().RanMicroseconds - began < 250_000)
                {
                    Thread.SpinWait(1000);
                }

                Reactor.CallbackOwner = null;
                computed.SetResult();
            },
            null);
        return computed.Task.Within();
    }

    private async Task BlockAsync(Reactor reactor, ICallbackOwner? owner = null)
    {
        await BeginBlockAsync(reactor, owner).Within();
        await Waiting.UntilAsync(() => reactor.IsStalled, "the reactor is blocked");
    }

    /// <summary>Completed when the reactor is in a callback that ends with the gate.</summary>
    private Task BeginBlockAsync(Reactor reactor, ICallbackOwner? owner = null)
    {
        var begun = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        reactor.Post(
            _ =>
            {
                reactor.CallbackOwner = owner;
                begun.SetResult();
                _gate.Wait(Patience);
                reactor.CallbackOwner = null;
            },
            null);
        return begun.Task;
    }

    private sealed class Owner : ICallbackOwner
    {
        private volatile OwnerWait _wait;
        private int _failures;
        private int _reliefs;

        public OwnerWait Wait
        {
            get => _wait;
            set => _wait = value;
        }

        /// <summary>How often it cannot be failed.</summary>
        public int Refusals { get; init; }

        public int Failures => Volatile.Read(ref _failures);

        public int Reliefs => Volatile.Read(ref _reliefs);

        public bool IsFirstCall { get; init; }

        public bool BeginStall() => IsFirstCall;

        public ConcurrentQueue<(long Callback, long BlockedMs)> Blocked { get; } = new();

        public void NoteBlocked(long callback, long blockedMs) => Blocked.Enqueue((callback, blockedMs));

        public string Describe() => "the owner";

        public void Relieve() => Interlocked.Increment(ref _reliefs);

        public void Fail(long stalledMs)
        {
            if (Interlocked.Increment(ref _failures) <= Refusals)
            {
                throw new InvalidOperationException("Not now.");
            }
        }
    }
}
