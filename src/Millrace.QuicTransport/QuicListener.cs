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
        QuicReactor[] reactors = new QuicReactor[sockets.Count];
        try
        {
            for (int i = 0; i < reactors.Length; i++)
            {
                Reactor reactor = group.Reactors[i];
                await reactor.SwitchTo();
                reactors[i] = new QuicReactor(
                    reactor, options.Settings, options.Limits, options.CreateCryptography(reactor), options,
                    new ConnectionIdRule(reactors.Length, i), lines);
            }

            for (int i = 0; i < reactors.Length; i++)
            {
                await reactors[i].Reactor.SwitchTo();
                reactors[i].SetNeighbours(reactors);
                reactors[i].Add(Open(reactors[i], sockets.Take(i)));
            }
        }
        catch
        {
            await Task.Yield();
            await StopAsync([.. reactors.Where(static reactor => reactor is not null)], TimeSpan.Zero, code: 0).ConfigureAwait(false);
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
    /// <paramref name="drain"/> (<see cref="Timeout.InfiniteTimeSpan"/>: never). Completes when everything was given back. A second call
    /// waits for the first, and closes what is left.
    /// </summary>
    public Task StopAsync(TimeSpan drain) => StopAsync(_reactors, drain, _options.StopCode);

    /// <summary>Stops without waiting for connections.</summary>
    public ValueTask DisposeAsync() => new(StopAsync(TimeSpan.Zero));

    private static DatagramSocket Open(QuicReactor reactor, int descriptor)
    {
        try
        {
            return new DatagramSocket(reactor.Reactor, descriptor, reactor);
        }
        catch
        {
            _ = SocketCalls.Close(descriptor);
            throw;
        }
    }

    private static async Task StopAsync(QuicReactor[] reactors, TimeSpan drain, long code)
    {
        foreach (QuicReactor reactor in reactors)
        {
            reactor.Reactor.PostContinuation(static reactor => ((QuicReactor)reactor!).BeginStop(), reactor);
        }

        if (drain != TimeSpan.Zero)
        {
            TimeSpan wait = drain == Timeout.InfiniteTimeSpan ? drain
                : drain - TimeSpan.FromTicks(Math.Min(drain.Ticks / 10, ClosingTime.Ticks));
            Task drained = Task.WhenAll(reactors.Select(static reactor => reactor.Drained.Task));
            await CompletesAsync(drained, wait).ConfigureAwait(false);
        }

        foreach (QuicReactor reactor in reactors)
        {
            reactor.Reactor.PostContinuation(
                static state =>
                {
                    var (reactor, code) = ((QuicReactor, long))state!;
                    reactor.Stop(code);
                },
                (reactor, code));
        }

        // What is still in use when a reactor ends is not given back any more.
        Task stopped = Task.WhenAll(reactors.Select(static reactor => Task.WhenAny(reactor.Stopped.Task, reactor.Reactor.Ended)));
        await CompletesAsync(stopped, ClosingTime).ConfigureAwait(false);
        foreach (QuicReactor reactor in reactors)
        {
            reactor.Reactor.PostContinuation(static reactor => ((QuicReactor)reactor!).EndStop(), reactor);
        }

        await stopped.ConfigureAwait(false);
    }

    /// <summary>Waits for a task, for so long at most.</summary>
    private static async Task CompletesAsync(Task task, TimeSpan most)
    {
        using var late = new CancellationTokenSource();
        await Task.WhenAny(task, Task.Delay(most, late.Token)).ConfigureAwait(false);
        await late.CancelAsync().ConfigureAwait(false);
    }
}
