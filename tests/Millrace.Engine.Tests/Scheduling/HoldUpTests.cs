using System.Net;
using System.Net.Sockets;
using Millrace.Engine.Tests.Kit;
using Millrace.Engine.Watching;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Tests.Scheduling;

/// <summary>A reactor that somebody holds up, and what goes on without it.</summary>
public class HoldUpTests : EngineTest
{
    private readonly ManualResetEventSlim _gate = new();

    [Fact]
    public async Task Connections_of_a_reactor_that_is_held_up_are_served_by_others()
    {
        Listener listener = await ServeAsync(Handlers.EchoAsync, Options() with { Reactors = 2 });
        await HoldUpAsync(Group.Reactors[0]);
        // The kernel picks a queue by the ports: that none of so many is the first reactor's is improbable (2^-40).
        await Task.WhenAll(Enumerable.Range(0, 40).Select(async _ =>
        {
            using Client client = await Client.ConnectAsync(listener.EndPoint);
            await client.SendAsync("grain"u8.ToArray());
            Assert.Equal("grain"u8.ToArray(), await client.ReceiveAsync(5));
        })).Within();
        Assert.True(Group.Reactors[0].IsHeldUp);
        Assert.Equal(40, Group.Reactors[1].Counters.Accepted);
        _gate.Set();
    }

    [Fact]
    public async Task A_socket_that_only_the_held_up_reactor_accepts_on_is_accepted_on_by_others()
    {
        using var folder = new TemporaryFolder();
        Listener listener = await ServeAsync(
            Handlers.EchoAsync, Options() with { Reactors = 3 }, new UnixDomainSocketEndPoint(folder.File("mill")));
        await HoldUpAsync(Group.Reactors[0]);
        for (int i = 0; i < 6; i++)
        {
            using Client client = await Client.ConnectAsync(listener.EndPoint);
            await client.SendAsync("grain"u8.ToArray());
            Assert.Equal("grain"u8.ToArray(), await client.ReceiveAsync(5).Within());
        }

        Assert.Equal(0, Group.Reactors[0].Counters.Accepted);
        _gate.Set();
    }

    /// <summary>Whoever listens there next may wait for a connection as long as it takes.</summary>
    [Fact]
    public async Task A_socket_of_another_is_accepted_on_by_others_and_has_no_time_limit_behind_that()
    {
        ReactorGroup group = await StartAsync(Options() with { Reactors = 2 });
        using var bound = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        bound.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        Listener listener = await group.AdoptAsync((int)bound.Handle, Handlers.EchoAsync).Within();
        await HoldUpAsync(group.Reactors[0]);
        using (Client client = await Client.ConnectAsync(listener.EndPoint))
        {
            await client.SendAsync("grain"u8.ToArray());
            Assert.Equal("grain"u8.ToArray(), await client.ReceiveAsync(5));
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
    public async Task After_a_hold_up_its_own_reactor_accepts_again()
    {
        Listener listener = await ServeAsync(Handlers.EchoAsync, Options() with { Reactors = 2 });
        await HoldUpAsync(Group.Reactors[0]);
        using (Client client = await Client.ConnectAsync(listener.EndPoint))
        {
            await client.SendAsync("x"u8.ToArray());
            await client.ReceiveAsync(1).Within();
        }

        _gate.Set();
        await Waiting.UntilAsync(() => !Group.Reactors[0].IsHeldUp, "the reactor goes on");
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
    public async Task What_is_movable_runs_on_the_pool_meanwhile_and_nothing_else_does()
    {
        await StartAsync(Options());
        var early = new TaskCompletionSource<bool>(TaskCreationOptions.RunContinuationsAsynchronously);
        var late = new TaskCompletionSource<bool>(TaskCreationOptions.RunContinuationsAsynchronously);
        var home = new TaskCompletionSource<Reactor?>(TaskCreationOptions.RunContinuationsAsynchronously);
        Task begun = BeginHoldUpAsync(Reactor);
        await begun.Within();
        Reactor.PostMovable(_ => early.SetResult(Thread.CurrentThread.IsThreadPoolThread), null);
        Reactor.PostContinuation(_ => home.SetResult(Reactor.Current), null);
        Assert.True(await early.Task.Within());
        await Waiting.UntilAsync(() => Reactor.IsHeldUp, "the reactor is held up");
        Reactor.PostMovable(_ => late.SetResult(Thread.CurrentThread.IsThreadPoolThread), null);
        Assert.True(await late.Task.Within());
        Assert.False(home.Task.IsCompleted);

        _gate.Set();
        Assert.Same(Reactor, await home.Task.Within());
        var again = new TaskCompletionSource<Reactor?>(TaskCreationOptions.RunContinuationsAsynchronously);
        await Waiting.UntilAsync(() => !Reactor.IsHeldUp, "the reactor goes on");
        Reactor.PostMovable(_ => again.SetResult(Reactor.Current), null);
        Assert.Same(Reactor, await again.Task.Within());
    }

    [Fact]
    public async Task A_hold_up_is_counted_and_told_with_its_occupant_and_its_end()
    {
        await StartAsync(Options());
        var occupant = new Occupant { Wait = OccupantWait.None };
        await HoldUpAsync(Reactor, occupant);
        Assert.Equal(1, Reactor.Counters.HoldUps);
        Assert.InRange(Reactor.Counters.Stalls, 1, long.MaxValue);
        await Waiting.UntilAsync(() => Log.Count(105) > 0, "it is told");
        Assert.Contains("the miller", Assert.Single(Log.Entries, static entry => entry.Id == 105).Text, StringComparison.Ordinal);
        _gate.Set();
        await Waiting.UntilAsync(() => Log.Count(106) == 1, "the end is told");
        Assert.Equal(0, occupant.Failures);
        Assert.InRange(occupant.Reliefs, 1, int.MaxValue);
    }

    [Fact]
    public async Task An_occupant_that_waits_for_its_reactor_is_failed_once()
    {
        await StartAsync(Options());
        var occupant = new Occupant { Wait = OccupantWait.Surely };
        await HoldUpAsync(Reactor, occupant);
        await Waiting.UntilAsync(() => occupant.Failures > 0, "the occupant is failed");
        await Task.Delay(50 * StallTracker.PeriodMs, TestContext.Current.CancellationToken);
        Assert.Equal(1, occupant.Failures);
        Assert.Equal(1, Reactor.Counters.WaitsFailed);
        _gate.Set();
    }

    [Fact]
    public async Task An_occupant_that_cannot_be_failed_at_first_is_failed_at_the_next_look()
    {
        await StartAsync(Options());
        var occupant = new Occupant { Wait = OccupantWait.Surely, Refusals = 2 };
        await HoldUpAsync(Reactor, occupant);
        await Waiting.UntilAsync(() => Reactor.Counters.WaitsFailed == 1, "the occupant is failed");
        Assert.Equal(3, occupant.Failures);
        _gate.Set();
    }

    [Fact]
    public async Task An_occupant_that_computes_is_not_taken_for_one_that_waits()
    {
        await StartAsync(Options());
        var occupant = new Occupant { Wait = OccupantWait.Surely };
        var computed = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        Reactor.Post(
            _ =>
            {
                Reactor.Occupant = occupant;
                long began = Environment.TickCount64;
                while (Environment.TickCount64 - began < 800)
                {
                    Thread.SpinWait(1000);
                }

                Reactor.Occupant = null;
                computed.SetResult();
            },
            null);
        await computed.Task.Within();
        // A watcher that came late has seen the one and not the other.
        Assert.InRange(Reactor.Counters.Stalls + Reactor.Counters.HoldUps, 1, long.MaxValue);
        Assert.Equal(0, occupant.Failures);
    }

    [Fact]
    public async Task A_wait_that_begins_after_a_doubtful_one_has_its_own_time()
    {
        await StartAsync(Options());
        var occupant = new Occupant { Wait = OccupantWait.Perhaps };
        await HoldUpAsync(Reactor, occupant);
        await Task.Delay(100 * StallTracker.PeriodMs, TestContext.Current.CancellationToken);
        int looks = occupant.Reliefs;
        occupant.Wait = OccupantWait.Surely;
        await Waiting.UntilAsync(() => occupant.Failures == 1, "the occupant is failed");
        Assert.InRange(occupant.Reliefs - looks, 20, int.MaxValue);
        _gate.Set();
    }

    [Fact]
    public async Task An_occupant_that_perhaps_waits_is_failed_after_seconds()
    {
        await StartAsync(Options());
        var occupant = new Occupant { Wait = OccupantWait.Perhaps };
        await HoldUpAsync(Reactor, occupant);
        await Task.Delay(200 * StallTracker.PeriodMs, TestContext.Current.CancellationToken);
        Assert.Equal(0, occupant.Failures);
        await Waiting.UntilAsync(() => occupant.Failures == 1, "the occupant is failed");
        _gate.Set();
    }

    [Fact]
    public async Task A_listener_can_be_stopped_while_a_reactor_is_held_up()
    {
        Listener listener = await ServeAsync(Handlers.EchoAsync, Options() with { Reactors = 2 });
        await HoldUpAsync(Group.Reactors[0]);
        Task stop = listener.StopAsync();
        await Task.Delay(4 * StallTracker.PeriodMs, TestContext.Current.CancellationToken);
        _gate.Set();
        await stop.Within();
    }

    [Fact]
    public async Task Nobody_watches_where_that_is_not_wanted()
    {
        await StartAsync(Options() with { WatchForStalls = false });
        await BeginHoldUpAsync(Reactor).Within();
        await Task.Delay(3 * StallTracker.HeldUpMs, TestContext.Current.CancellationToken);
        Assert.False(Reactor.IsHeldUp);
        Assert.Equal(0, Reactor.Counters.Stalls);
        _gate.Set();
    }

    private async Task HoldUpAsync(Reactor reactor, IOccupant? occupant = null)
    {
        await BeginHoldUpAsync(reactor, occupant).Within();
        await Waiting.UntilAsync(() => reactor.IsHeldUp, "the reactor is held up");
    }

    /// <summary>Completed when the reactor is in a callback that ends with the gate.</summary>
    private Task BeginHoldUpAsync(Reactor reactor, IOccupant? occupant = null)
    {
        var begun = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        reactor.Post(
            _ =>
            {
                reactor.Occupant = occupant;
                begun.SetResult();
                _gate.Wait(Patience);
                reactor.Occupant = null;
            },
            null);
        return begun.Task;
    }

    private sealed class Occupant : IOccupant
    {
        private volatile OccupantWait _wait;
        private int _failures;
        private int _reliefs;

        public OccupantWait Wait
        {
            get => _wait;
            set => _wait = value;
        }

        /// <summary>How often it cannot be failed.</summary>
        public int Refusals { get; init; }

        public int Failures => Volatile.Read(ref _failures);

        public int Reliefs => Volatile.Read(ref _reliefs);

        public string Describe() => "the miller";

        public void Relieve() => Interlocked.Increment(ref _reliefs);

        public void Fail(long heldUpMs)
        {
            if (Interlocked.Increment(ref _failures) <= Refusals)
            {
                throw new InvalidOperationException("Not now.");
            }
        }
    }
}
