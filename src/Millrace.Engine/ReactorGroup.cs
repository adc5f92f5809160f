using System.Collections.Immutable;
using System.Net;
using Millrace.Engine.Backends;
using Millrace.Engine.Backends.Epoll;
using Millrace.Engine.Backends.IoUring;
using Millrace.Engine.Diagnostics;
using Millrace.Engine.Filters;
using Millrace.Engine.Listening;
using Millrace.Engine.Loop;
using Millrace.Interop.Sockets;

namespace Millrace.Engine;

/// <summary>
/// The reactors of a process and the addresses they serve. Start it, listen, and stop it once. All members may be called from
/// any thread.
/// <code>
/// await using ReactorGroup group = await ReactorGroup.StartAsync(new EngineOptions());
/// await group.ListenAsync(new IPEndPoint(IPAddress.Loopback, 8080), async connection => { ... });
/// </code>
/// </summary>
public sealed class ReactorGroup : IAsyncDisposable
{
    private readonly Reactor[] _reactors;
    private readonly ConnectionBalancer _balancer;
    private readonly EngineOptions _options;
    /// <summary>Serialises listening and stopping: a late listener finds the group stopped, or is stopped with it.</summary>
    private readonly SemaphoreSlim _lifecycleLock = new(1, 1);
    /// <summary>Listeners that accept. A stopped one is removed, which releases its handler.</summary>
    private ImmutableArray<Listener> _listeners = [];
    private readonly EngineMeter _meter;
    private readonly StallWatchdog? _watchdog;
    private int _nextReactor;
    private bool _isStopped;

    private ReactorGroup(EngineOptions options, BackendKind backend)
    {
        _options = options;
        var log = new EngineLog(options.LoggerFactory.CreateLogger("Millrace.Engine"));
        _reactors = new Reactor[options.ReactorCount];
        Limits limits = options.Limits.ForOneOf(_reactors.Length);
        var poller = options is { PollsSubmissions: true, SharedSubmissionPolling: true } ? new SharedSubmissionPoller() : null;
        CoreAffinity? pins = options.PinReactors ? CoreAffinity.Find(log) : null;
        var limiter = new ConnectionLimiter(limits);
        _watchdog = options.WatchForStalls ? new StallWatchdog(log) : null;
        _meter = new EngineMeter(options.Name, this);
        for (int i = 0; i < _reactors.Length; i++)
        {
            var heartbeat = new LoopHeartbeat(EngineMeter.TagOf(i), _watchdog, _meter.Lag);
            Backend MakeBackend() => CreateBackend(backend, options, poller);
            _reactors[i] = new Reactor(i, limits, log, MakeBackend, limiter, heartbeat, options.Name, pins, options.OnIdle);
        }

        Array.ForEach(_reactors, reactor => reactor.Admission.GroupReactors = _reactors);
        _balancer = new ConnectionBalancer(_reactors);
        Log = log;
    }

    /// <summary>The reactors.</summary>
    public IReadOnlyList<Reactor> Reactors => _reactors;

    /// <summary>The backend in use: <c>io_uring</c> or <c>epoll</c>.</summary>
    public string BackendName => _reactors[0].Backend.Name;

    /// <summary>The listen settings of the options, for callers that give none.</summary>
    internal ListenSettings ListenDefaults => ListenSettings.Of(_options);

    private EngineLog Log { get; }

    /// <summary>Starts the reactors.</summary>
    /// <exception cref="EngineException">The host refuses; the message names cause and remedy.</exception>
    /// <exception cref="ArgumentOutOfRangeException">An option is out of its range.</exception>
    public static async Task<ReactorGroup> StartAsync(EngineOptions options)
    {
        ArgumentNullException.ThrowIfNull(options);
        options.Validate();

        // Read now, while descriptors and rights are available.
        _ = FilePagePolicy.OfHost;
        EngineException? shortage = null;
        foreach ((EngineOptions sizes, int pauseMs) in RingSizes.Attempts(options))
        {
            await Task.Delay(pauseMs).ConfigureAwait(false);
            try
            {
                ReactorGroup group = await StartOnceAsync(sizes).ConfigureAwait(false);
                if (sizes.SubmissionEntries < options.SubmissionEntries)
                {
                    group.Log.RingsShrunk(sizes.SubmissionEntries, options.SubmissionEntries);
                }

                return group;
            }
            catch (EngineException refusal) when (refusal.IsShortOfMemory)
            {
                shortage = refusal;
            }
        }

        // Where the rings of only some reactors have memory, none of them uses io_uring.
        return options.Backend == BackendKind.Auto
            ? await StartOnceAsync(options, BackendKind.Epoll, shortage!.Refusal).ConfigureAwait(false)
            : throw shortage!;
    }

    private static Task<ReactorGroup> StartOnceAsync(EngineOptions options)
    {
        BackendProbe? probe = options.Backend == BackendKind.Auto ? BackendProbe.Current : null;
        return probe?.Refusal is { IsUnavailable: false } failure
            ? throw new EngineException(failure)
            : StartOnceAsync(options, probe?.Best ?? options.Backend, probe?.Refusal);
    }

    /// <param name="options">The options.</param>
    /// <param name="backend">The backend of all reactors.</param>
    /// <param name="fallback">Why it is not io_uring; null if it is, or if epoll is configured.</param>
    private static async Task<ReactorGroup> StartOnceAsync(EngineOptions options, BackendKind backend, IoUringRefusal? fallback)
    {
        var group = new ReactorGroup(options, backend);
        Task[] starts = [.. group._reactors.Select(static reactor => reactor.StartAsync())];
        try
        {
            await Task.WhenAll(starts).ConfigureAwait(false);
        }
        catch
        {
            IEnumerable<Task> stops = group._reactors
                .Where((_, i) => starts[i].IsCompletedSuccessfully)
                .Select(static reactor => reactor.StopAsync(TimeSpan.Zero));
            await Task.WhenAll(stops).ConfigureAwait(false);
            group._meter.Dispose();
            group._watchdog?.Dispose();
            throw;
        }

        group._meter.Observe(group._reactors);
        group._watchdog?.Start(group._reactors, group._balancer);
        group.Log.Started(group._reactors.Length, group.BackendName);
        if (options.HasManyReactors)
        {
            group.Log.ManyReactors(group._reactors.Length, Environment.ProcessorCount);
        }

        if (fallback is not null && options.LogsFallback)
        {
            group.Log.FellBack(fallback.Cause, fallback.Remedy);
        }

        if (backend == BackendKind.Epoll)
        {
            foreach (string option in options.RingOptions())
            {
                group.Log.OptionIgnored(option);
            }
        }

        return group;
    }

    /// <summary>
    /// Accepts connections on an IP address (port 0: any free one) or a unix socket and gives each to the handler. The address is bound
    /// when the task completes.
    /// </summary>
    /// <exception cref="EngineException">The address is not available; the message says why.</exception>
    /// <exception cref="ObjectDisposedException">The group was stopped.</exception>
    public Task<Listener> ListenAsync(EndPoint endPoint, ConnectionHandler handler) => ListenAsync(endPoint, handler, refusal: null);

    /// <summary>
    /// The same. Up to <see cref="Limits.Refusals"/> connections at a time beyond <see cref="Limits.Connections"/> or
    /// <see cref="Limits.ConnectionsPerClient"/> are given to <paramref name="refusal"/>, which reports the overload in the protocol's
    /// terms and returns soon.
    /// </summary>
    /// <exception cref="EngineException">The address is not available; the message says why.</exception>
    /// <exception cref="ObjectDisposedException">The group was stopped.</exception>
    public Task<Listener> ListenAsync(EndPoint endPoint, ConnectionHandler handler, ConnectionHandler? refusal) =>
        ListenAsync(endPoint, handler, filters: null, refusal);

    internal async Task<Listener> ListenAsync(
        EndPoint endPoint,
        ConnectionHandler handler,
        Func<Connection, IReadOnlyList<ConnectionFilter>>? filters,
        ConnectionHandler? refusal = null,
        ListenSettings? settings = null)
    {
        ArgumentNullException.ThrowIfNull(endPoint);
        ObjectDisposedException.ThrowIf(_isStopped, this);
        using BoundAddress bound = BoundAddress.Bind(endPoint, _reactors.Length, settings ?? ListenDefaults);
        return await ListenAsync(bound, handler, filters, refusal).ConfigureAwait(false);
    }

    /// <summary>
    /// Accepts connections on an address that is already bound, for this number of reactors or by another process. The group owns its
    /// sockets from then on, also if it cannot listen.
    /// </summary>
    /// <exception cref="EngineException">Another process listens there already.</exception>
    /// <exception cref="ObjectDisposedException">The group was stopped; the sockets are still the caller's.</exception>
    internal async Task<Listener> ListenAsync(
        BoundAddress bound,
        ConnectionHandler handler,
        Func<Connection, IReadOnlyList<ConnectionFilter>>? filters,
        ConnectionHandler? refusal)
    {
        ArgumentNullException.ThrowIfNull(handler);
        await _lifecycleLock.WaitAsync().ConfigureAwait(false);
        try
        {
            ObjectDisposedException.ThrowIf(_isStopped, this);
            using BoundAddress owned = bound;
            EndPoint endPoint = bound.EndPoint;
            Func<Connection, IReadOnlyList<ConnectionFilter>>? chain = bound.Proxies is { } proxies
                ? connection => ProxyProtocolFilter.Before(proxies, endPoint, filters, connection)
                : filters;
            var context = new ListenerContext(endPoint, handler, chain, refusal)
            {
                Owner = bound.Owner,
                ClientsAreReported = bound.Proxies is not null,
            };
            return await AcceptAsync(bound.Listen(), context).ConfigureAwait(false);
        }
        finally
        {
            _lifecycleLock.Release();
        }
    }

    /// <summary>
    /// Stops accepting, lets connections finish for up to <paramref name="drain"/> (<see cref="Timeout.InfiniteTimeSpan"/>: without limit),
    /// resets the remaining ones, and ends the reactors. A second call waits for the first.
    /// </summary>
    /// <exception cref="ArgumentOutOfRangeException">The time is negative.</exception>
    /// <remarks>
    /// A handler is notified where it declares that it is between two requests: <see cref="Connection.ReadIdleAsync"/> and
    /// <see cref="Connection.WaitIdle"/> end. Any other wait counts as work. A pipe cannot declare that: before this call, wake its reader
    /// by <see cref="System.IO.Pipelines.PipeReader.CancelPendingRead"/>, as <c>samples/PipeHandler</c> does.
    /// </remarks>
    public async Task StopAsync(TimeSpan drain)
    {
        TimeLimit.Require(drain);
        await _lifecycleLock.WaitAsync().ConfigureAwait(false);
        try
        {
            if (_isStopped)
            {
                return;
            }

            _isStopped = true;
            foreach (Listener listener in _listeners)
            {
                await listener.StopAsync().ConfigureAwait(false);
            }

            await Task.WhenAll(_reactors.Select(reactor => reactor.StopAsync(drain))).ConfigureAwait(false);
            await (_watchdog?.StopAsync() ?? Task.CompletedTask).ConfigureAwait(false);
            _meter.Dispose();
        }
        finally
        {
            _lifecycleLock.Release();
        }
    }

    /// <summary>Stops without waiting for connections.</summary>
    public ValueTask DisposeAsync() => new(StopAsync(TimeSpan.Zero));

    /// <summary>Takes ownership of the sockets: they close with the listener, or here if one of them cannot be accepted on.</summary>
    private async Task<Listener> AcceptAsync(int[] sockets, ListenerContext context)
    {
        bool isSharded = sockets.Length == _reactors.Length;
        // Listeners with fewer sockets than reactors start at different reactors.
        int first = isSharded ? 0 : _nextReactor++;
        var acceptors = new List<Acceptor>();
        try
        {
            for (int i = 0; i < sockets.Length; i++)
            {
                Reactor reactor = _reactors[(first + i) % _reactors.Length];
                await reactor.SwitchTo();
                Action<int, ListenerContext> serve = isSharded ? reactor.Admission.Acquire : _balancer.Distribute;
                acceptors.Add(Acceptor.Start(reactor, sockets[i], context, serve));
            }
        }
        catch
        {
            await Task.Yield();
            foreach (int socket in sockets[acceptors.Count..])
            {
                _ = SocketCalls.Close(socket);
            }

            await ListenerOf(acceptors, context).StopAsync().ConfigureAwait(false);
            throw;
        }

        // Leaves the reactor's thread before the caller continues.
        await Task.Yield();
        Listener listener = ListenerOf(acceptors, context);
        ImmutableInterlocked.Update(ref _listeners, static (all, one) => all.Add(one), listener);
        return listener;
    }

    private Listener ListenerOf(List<Acceptor> acceptors, ListenerContext context) =>
        new(context.EndPoint, acceptors, Log, context.Owner, Forget);

    /// <summary>Removes a stopped listener. Any thread.</summary>
    private void Forget(Listener listener) =>
        ImmutableInterlocked.Update(ref _listeners, static (all, one) => all.Remove(one), listener);

    private static Backend CreateBackend(BackendKind backend, EngineOptions options, SharedSubmissionPoller? poller) => backend switch
    {
        BackendKind.IoUring => new IoUringBackend(options, poller),
        BackendKind.Epoll => new EpollBackend(options),
        _ => throw new ArgumentOutOfRangeException(nameof(options), options.Backend, "The backend is not known."),
    };
}
