using System.Diagnostics;
using System.Net;
using Microsoft.Extensions.Logging;
using Millrace.Engine;
using Millrace.Engine.Datagrams;
using Millrace.Interop.Sockets;
using Millrace.Quic.Connections;

namespace Millrace.QuicTransport;

/// <summary>
/// An address on which the reactors of a group serve QUIC connections. It owns its sockets. It is stopped before its group is. Any thread.
/// </summary>
internal sealed class QuicListener : IAsyncDisposable
{
    /// <summary>
    /// Connections are closed so long before the deadline of a stop, a tenth of the time at most: a group that stops at the same time
    /// closes the sockets then, and clients would not be informed.
    /// </summary>
    private static readonly TimeSpan ClosingTime = TimeSpan.FromMilliseconds(200);

    private readonly QuicReactor[] _reactors;
    private readonly QuicListenerOptions _options;
    private readonly Lock _changing = new();
    private ListenerStop? _stop;
    private int _stops;

    private QuicListener(QuicReactor[] reactors, QuicListenerOptions options, IPEndPoint localEndPoint)
    {
        _reactors = reactors;
        _options = options;
        LocalEndPoint = localEndPoint;
        Counters = [.. reactors.Select(static reactor => reactor.Counters)];
    }

    /// <summary>The address as bound: port 0 is replaced by the assigned port.</summary>
    public IPEndPoint LocalEndPoint { get; }

    /// <summary>Of each reactor.</summary>
    public IReadOnlyList<QuicListenerCounters> Counters { get; }

    internal IReadOnlyList<QuicReactor> Reactors => _reactors;

    /// <summary>Opens sockets for an address, and serves on them.</summary>
    /// <exception cref="EngineException">The address is not available; the message says why.</exception>
    public static Task<QuicListener> ListenAsync(ReactorGroup group, IPEndPoint endPoint, QuicListenerOptions options, ILogger log)
    {
        DatagramSockets sockets = DatagramSockets.Open(endPoint, Math.Min(group.Reactors.Count, ConnectionIdRule.EndpointsMax));
        return ListenAsync(group, sockets, options, log);
    }

    /// <summary>
    /// Serves on sockets that are open already, one for each of the first reactors. They are the listener's from then on.
    /// </summary>
    public static async Task<QuicListener> ListenAsync(
        ReactorGroup group, DatagramSockets sockets, QuicListenerOptions options, ILogger log)
    {
        QuicTransportLog lines = new(log);
        ConnectionIdCipher cipher = new([.. sockets.SteeringKey]);
        EndpointLimits limits = options.Limits.PartOf(sockets.Count);
        QuicReactor[] reactors = new QuicReactor[sockets.Count];
        try
        {
            for (int i = 0; i < reactors.Length; i++)
            {
                Reactor reactor = group.Reactors[i];
                await reactor.SwitchTo();
                reactors[i] = new QuicReactor(
                    reactor, options.Settings, limits, options.CreateCryptography(reactor), options,
                    new ConnectionIdRule(reactors.Length, i, cipher), lines);
            }

            for (int i = 0; i < reactors.Length; i++)
            {
                await reactors[i].Reactor.SwitchTo();
                reactors[i].SetNeighbours(reactors);
                reactors[i].Add(Open(reactors[i], sockets.Take(i), sockets.CommonDrops));
            }
        }
        catch
        {
            await Task.Yield();
            QuicReactor[] made = [.. reactors.Where(static reactor => reactor is not null)];
            new ListenerStop(made, number: 1).Begin();
            await CloseAsync(made, code: 0).ConfigureAwait(false);
            sockets.Dispose();
            throw;
        }

        // Leaves the reactor's thread before the caller continues.
        await Task.Yield();
        lines.Listening(sockets.EndPoint, reactors.Length);
        if (reactors.Length > 1 && !sockets.IsSteered)
        {
            lines.NotSteered(sockets.EndPoint);
        }

        return new QuicListener(reactors, options, sockets.EndPoint);
    }

    /// <summary>
    /// Refuses new connections, asks the handlers of those that are open to end them, and closes the remaining ones after
    /// <paramref name="drain"/> (<see cref="Timeout.InfiniteTimeSpan"/>: never). Completes when everything was given back, or after
    /// <see cref="TryResume"/> when those connections have had their time. A second call waits for the first, and closes what is left.
    /// </summary>
    public async Task StopAsync(TimeSpan drain)
    {
        ListenerStop stop;
        lock (_changing)
        {
            stop = _stop ??= new ListenerStop(_reactors, ++_stops);
            stop.Begin();
            if (drain == TimeSpan.Zero)
            {
                stop.TryClose();
            }
        }

        if (drain != TimeSpan.Zero)
        {
            TimeSpan wait = drain == Timeout.InfiniteTimeSpan ? drain
                : drain - TimeSpan.FromTicks(Math.Min(drain.Ticks / 10, ClosingTime.Ticks));
            long startedAt = Stopwatch.GetTimestamp();
            await CompletesAsync(Task.WhenAny(stop.Drained, stop.Resumed), wait).ConfigureAwait(false);
            if (!stop.TryClose())
            {
                // Connections that were accepted since are not this stop's.
                TimeSpan rest = drain == Timeout.InfiniteTimeSpan ? drain
                    : TimeSpan.FromTicks(Math.Max(0, (wait - Stopwatch.GetElapsedTime(startedAt)).Ticks));
                await CompletesAsync(StoppedOf(_reactors), rest).ConfigureAwait(false);
                Post(_reactors, reactor => reactor.CloseDraining(stop.Number, _options.StopCode));
                return;
            }
        }

        await CloseAsync(_reactors, _options.StopCode).ConfigureAwait(false);
    }

    /// <summary>
    /// Accepts new connections again while a stop waits for connections, which still end in its time; those whose handshake is not complete
    /// are new ones. False: it is closed, or closes, or was never stopped.
    /// </summary>
    public bool TryResume()
    {
        lock (_changing)
        {
            if (_stop?.TryResume() != true)
            {
                return false;
            }

            _stop = null;
            Post(_reactors, static reactor => reactor.Resume());
            return true;
        }
    }

    /// <summary>Stops without waiting for connections.</summary>
    public ValueTask DisposeAsync() => new(StopAsync(TimeSpan.Zero));

    private static DatagramSocket Open(QuicReactor reactor, int descriptor, KernelDropCount? drops)
    {
        try
        {
            return new DatagramSocket(reactor.Reactor, descriptor, reactor, drops);
        }
        catch
        {
            _ = SocketCalls.Close(descriptor);
            throw;
        }
    }

    private static async Task CloseAsync(QuicReactor[] reactors, long code)
    {
        Post(reactors, reactor => reactor.Stop(code));
        Task stopped = StoppedOf(reactors);
        await CompletesAsync(stopped, ClosingTime).ConfigureAwait(false);
        Post(reactors, static reactor => reactor.EndStop());
        await stopped.ConfigureAwait(false);
    }

    /// <summary>What is still in use when a reactor ends is not given back any more.</summary>
    private static Task<Task[]> StoppedOf(QuicReactor[] reactors) =>
        Task.WhenAll(reactors.Select(static reactor => Task.WhenAny(reactor.Stopped.Task, reactor.Reactor.Ended)));

    private static void Post(QuicReactor[] reactors, Action<QuicReactor> action)
    {
        foreach (QuicReactor reactor in reactors)
        {
            reactor.Reactor.PostContinuation(_ => action(reactor), null);
        }
    }

    /// <summary>Waits for a task, for so long at most.</summary>
    private static async Task CompletesAsync(Task task, TimeSpan most)
    {
        using var late = new CancellationTokenSource();
        await Task.WhenAny(task, Task.Delay(most, late.Token)).ConfigureAwait(false);
        await late.CancelAsync().ConfigureAwait(false);
    }
}
