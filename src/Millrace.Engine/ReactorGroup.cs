using System.Net;
using Millrace.Engine.Backends;
using Millrace.Engine.Backends.Epoll;
using Millrace.Engine.Backends.Uring;
using Millrace.Engine.Listening;
using Millrace.Engine.Proxies;
using Millrace.Engine.Scheduling;
using Millrace.Engine.Stages;
using Millrace.Engine.Watching;

namespace Millrace.Engine;

/// <summary>
/// The reactors of a process and the addresses they serve. Start it, listen, and stop it once; all members may be called from
/// any thread.
/// <code>
/// await using ReactorGroup group = await ReactorGroup.StartAsync(new EngineOptions());
/// await group.ListenAsync(new IPEndPoint(IPAddress.Loopback, 8080), async connection => { ... });
/// </code>
/// </summary>
public sealed class ReactorGroup : IAsyncDisposable
{
    private readonly Reactor[] _reactors;
    private readonly Dealer _dealer;
    private readonly EngineOptions _options;
    /// <summary>Held by whoever listens or stops: a listener that comes late finds the group stopped, or is stopped with it.</summary>
    private readonly SemaphoreSlim _gate = new(1, 1);
    private readonly List<Listener> _listeners = [];
    private readonly EngineMeter _meter;
    private readonly StallWatch? _watch;
    private bool _isStopped;

    private ReactorGroup(EngineOptions options, BackendKind backend)
    {
        _options = options;
        var log = new EngineLog(options.LoggerFactory.CreateLogger("Millrace.Engine"));
        _reactors = new Reactor[options.ReactorCount];
        Limits limits = options.Limits.ForOneOf(_reactors.Length);
        var poller = options is { PollsSubmissions: true, SharedSubmissionPolling: true } ? new SharedPoller() : null;
        CorePins? pins = options.PinReactors ? CorePins.Find(log) : null;
        var turnstile = new Turnstile(limits);
        WatchBell? bell = options.WatchForStalls ? new WatchBell() : null;
        _meter = new EngineMeter(options.Name, this);
        for (int i = 0; i < _reactors.Length; i++)
        {
            var pulse = new Pulse(EngineMeter.TagOf(i), bell, _meter.Lag);
            _reactors[i] = new Reactor(i, limits, log, () => CreateBackend(backend, options, poller), turnstile, pulse, options.Name, pins);
        }

        _dealer = new Dealer(_reactors);
        _watch = bell is null ? null : new StallWatch(_reactors, _dealer, log, bell);
        Log = log;
    }

    /// <summary>The reactors.</summary>
    public IReadOnlyList<Reactor> Reactors => _reactors;

    /// <summary>How the kernel is asked: <c>io_uring</c> or <c>epoll</c>.</summary>
    public string BackendName => _reactors[0].Backend.Name;

    /// <summary>What listeners are told by the options, where who listens says nothing else.</summary>
    internal ListenSettings ListenDefaults => ListenSettings.Of(_options);

    private EngineLog Log { get; }

    /// <summary>Starts the reactors.</summary>
    /// <exception cref="EngineException">The host does not let them; the message names cause and remedy.</exception>
    /// <exception cref="ArgumentOutOfRangeException">An option is out of its range.</exception>
    public static async Task<ReactorGroup> StartAsync(EngineOptions options)
    {
        ArgumentNullException.ThrowIfNull(options);
        options.Validate();

        // Read now, while there are descriptors and rights.
        _ = FilePageTerms.OfHost;
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

        throw shortage!;
    }

    /// <summary>Starts all reactors, or none.</summary>
    private static async Task<ReactorGroup> StartOnceAsync(EngineOptions options)
    {
        BackendProbe? probe = options.Backend == BackendKind.Auto ? BackendProbe.Current : null;
        if (probe?.Refusal is { IsAbsence: false } scarcity)
        {
            throw new EngineException(scarcity);
        }

        BackendKind backend = probe?.Best ?? options.Backend;
        if (options.RegisteredFiles && backend == BackendKind.IoUring && BackendProbe.RunWithFiles() is { } refusedFiles)
        {
            throw new EngineException(refusedFiles);
        }

        var group = new ReactorGroup(options, backend);
        Task[] starts = [.. group._reactors.Select(static reactor => reactor.StartAsync())];
        try
        {
            await Task.WhenAll(starts).ConfigureAwait(false);
        }
        catch (EngineException)
        {
            IEnumerable<Task> stops = group._reactors
                .Where((_, i) => starts[i].IsCompletedSuccessfully)
                .Select(static reactor => reactor.StopAsync(TimeSpan.Zero));
            await Task.WhenAll(stops).ConfigureAwait(false);
            group._meter.Dispose();
            throw;
        }

        group._meter.Observe(group._reactors);
        group._watch?.Start();
        group.Log.Started(group._reactors.Length, group.BackendName);
        if (probe?.Refusal is { } refusal)
        {
            group.Log.FellBack(refusal.Cause, refusal.Remedy);
        }

        if (backend == BackendKind.Epoll)
        {
            TellWhatIsIgnored(options, group.Log);
        }

        return group;
    }

    private static void TellWhatIsIgnored(EngineOptions options, EngineLog log)
    {
        if (options.PollsSubmissions)
        {
            log.NothingPolled();
        }

        if (options.ZeroCopySendBytes > 0)
        {
            log.AllCopied();
        }

        if (options.RegisteredFiles)
        {
            log.NothingRegistered();
        }

        if (options.RegisteredBufferBytes > 0)
        {
            log.NothingPinned();
        }
    }

    /// <summary>
    /// Accepts connections on an IP address (port 0: any free one) or a unix socket and gives each to the handler. Bound when the
    /// task completes.
    /// </summary>
    /// <exception cref="EngineException">The address cannot be had; the message says why.</exception>
    /// <exception cref="ObjectDisposedException">The group was stopped.</exception>
    public Task<Listener> ListenAsync(EndPoint endPoint, ConnectionHandler handler) => ListenAsync(endPoint, handler, refusal: null);

    /// <summary>
    /// The same. Connections beyond <see cref="Limits.Connections"/> or <see cref="Limits.ConnectionsPerClient"/> are given to
    /// <paramref name="refusal"/>, up to <see cref="Limits.Refusals"/> at a time, which says so in the protocol's words and returns soon.
    /// </summary>
    /// <exception cref="EngineException">The address cannot be had; the message says why.</exception>
    /// <exception cref="ObjectDisposedException">The group was stopped.</exception>
    public Task<Listener> ListenAsync(EndPoint endPoint, ConnectionHandler handler, ConnectionHandler? refusal) =>
        ListenAsync(endPoint, handler, stages: null, refusal);

    internal Task<Listener> ListenAsync(
        EndPoint endPoint,
        ConnectionHandler handler,
        Func<Connection, IReadOnlyList<ConnectionStage>>? stages,
        ConnectionHandler? refusal = null,
        ListenSettings? settings = null)
    {
        ArgumentNullException.ThrowIfNull(endPoint);
        ArgumentNullException.ThrowIfNull(handler);
        settings ??= ListenDefaults;
        return ListenAsync(() => BoundAddress.Bind(endPoint, _reactors.Length, settings), handler, stages, refusal);
    }

    /// <summary>
    /// Accepts connections on a socket that somebody else has bound, a service manager say. The descriptor, and the file of a unix socket,
    /// stay theirs.
    /// </summary>
    /// <exception cref="EngineException">It cannot be listened on; the message says why.</exception>
    /// <exception cref="ObjectDisposedException">The group was stopped.</exception>
    internal Task<Listener> AdoptAsync(
        int descriptor,
        ConnectionHandler handler,
        Func<Connection, IReadOnlyList<ConnectionStage>>? stages = null,
        ListenSettings? settings = null)
    {
        ArgumentNullException.ThrowIfNull(handler);
        settings ??= ListenDefaults;
        return ListenAsync(() => BoundAddress.Adopt(descriptor, settings), handler, stages, refusal: null);
    }

    /// <summary>Accepts connections on an address that is bound for so many reactors already, and takes its sockets over.</summary>
    /// <exception cref="EngineException">Another process was faster to listen there.</exception>
    /// <exception cref="ObjectDisposedException">The group was stopped; the sockets are still the caller's.</exception>
    internal Task<Listener> ListenAsync(
        BoundAddress bound,
        ConnectionHandler handler,
        Func<Connection, IReadOnlyList<ConnectionStage>>? stages,
        ConnectionHandler? refusal)
    {
        ArgumentNullException.ThrowIfNull(bound);
        ArgumentNullException.ThrowIfNull(handler);
        return ListenAsync(() => bound, handler, stages, refusal);
    }

    private static ListenerCore CoreOf(
        BoundAddress bound,
        ConnectionHandler handler,
        Func<Connection, IReadOnlyList<ConnectionStage>>? stages,
        ConnectionHandler? refusal) => bound.Proxies is not { } gate
            ? new ListenerCore(bound.EndPoint, handler, stages, refusal) { Owner = bound.Owner, FarControl = bound.FarControl }
            : new ListenerCore(
                bound.EndPoint, handler, connection => ProxyStage.Before(gate, bound.EndPoint, stages, connection), refusal)
            {
                Owner = bound.Owner,
                FarControl = bound.FarControl,
                ClientsAreTold = true,
            };

    private async Task<Listener> ListenAsync(
        Func<BoundAddress> bind,
        ConnectionHandler handler,
        Func<Connection, IReadOnlyList<ConnectionStage>>? stages,
        ConnectionHandler? refusal)
    {
        await _gate.WaitAsync().ConfigureAwait(false);
        try
        {
            ObjectDisposedException.ThrowIf(_isStopped, this);
            using BoundAddress bound = bind();
            ListenerCore core = CoreOf(bound, handler, stages, refusal);
            return await AcceptAsync(bound.Listen(), core).ConfigureAwait(false);
        }
        finally
        {
            _gate.Release();
        }
    }

    /// <summary>
    /// Stops accepting, lets connections finish what they do for up to <paramref name="drain"/>, resets those left, and
    /// ends the reactors. Called again it waits for the first call.
    /// </summary>
    /// <remarks>
    /// A handler is told where it says that it is between two requests: <see cref="Connection.ReadIdleAsync"/> ends, and
    /// <see cref="Connection.Rest"/>. Any other wait counts as work. A pipe has no such word: wake its reader, before this is called, by
    /// <see cref="System.IO.Pipelines.PipeReader.CancelPendingRead"/>, as <c>samples/PipeHandler</c> does.
    /// </remarks>
    public async Task StopAsync(TimeSpan drain)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(drain, TimeSpan.Zero);
        await _gate.WaitAsync().ConfigureAwait(false);
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
            await (_watch?.StopAsync() ?? Task.CompletedTask).ConfigureAwait(false);
            _meter.Dispose();
        }
        finally
        {
            _gate.Release();
        }
    }

    /// <summary>Stops without waiting for connections.</summary>
    public ValueTask DisposeAsync() => new(StopAsync(TimeSpan.Zero));

    private async Task<Listener> AcceptAsync(int[] sockets, ListenerCore core)
    {
        bool isSharded = sockets.Length == _reactors.Length;
        // Several sockets that one reactor each accepts on are not all the first one's work.
        int first = isSharded ? 0 : _listeners.Count;
        var acceptors = new List<(Reactor, Acceptor)>();
        for (int i = 0; i < sockets.Length; i++)
        {
            Reactor reactor = _reactors[(first + i) % _reactors.Length];
            await reactor.SwitchTo();
            acceptors.Add((reactor, reactor.Accept(sockets[i], core, isSharded ? reactor.Adopt : _dealer.Deal)));
        }

        acceptors.ForEach(pair => _watch?.Guard(pair.Item1, pair.Item2));
        // Away from the reactor: what the caller does next is none of its work.
        await Task.Yield();
        var listener = new Listener(core.EndPoint, acceptors, Log, core.Owner);
        _listeners.Add(listener);
        return listener;
    }

    private static Backend CreateBackend(BackendKind backend, EngineOptions options, SharedPoller? poller) => backend switch
    {
        BackendKind.IoUring => new UringBackend(options, poller),
        BackendKind.Epoll => new EpollBackend(options),
        _ => throw new ArgumentOutOfRangeException(nameof(options), options.Backend, "There is no such backend."),
    };
}
