using System.Net;
using Microsoft.Extensions.Logging;
using Millrace.Engine;
using Millrace.Engine.Backends;
using Millrace.Engine.Listening;
using Millrace.Server.Options;
using Millrace.Web.Heads;

namespace Millrace.Server.Admin;

/// <summary>
/// The admin pages on an address of their own, and on a reactor of their own: so they answer before the sites are open and while those
/// drain, however many connections there are, and whatever holds the other reactors up. Started first, disposed last.
/// </summary>
internal sealed class AdminListener : IAsyncDisposable
{
    private static readonly TimeSpan LookPause = TimeSpan.FromSeconds(1);

    /// <summary>An answer that is under way when the process ends; a scrape takes milliseconds.</summary>
    private static readonly TimeSpan Drain = TimeSpan.FromMilliseconds(500);

    private readonly ReactorGroup _group;
    private readonly CancellationTokenSource _stop = new();
    private readonly Task _looking;

    private AdminListener(ReactorGroup group, EndPoint endPoint, AdminState state)
    {
        _group = group;
        EndPoint = endPoint;
        State = state;
        _looking = LookAsync(group.Reactors[0], state, _stop.Token);
    }

    public EndPoint EndPoint { get; }

    public AdminState State { get; }

    /// <summary>Listens; null where nobody asked for it.</summary>
    /// <exception cref="EngineException">The address cannot be had; the message says why.</exception>
    public static async Task<AdminListener?> OpenAsync(ServeOptions options, ILoggerFactory logging)
    {
        if (options.Admin.Address is not { } address)
        {
            return null;
        }

        EngineOptions engine = EngineOptionsFor(options.Engine.Backend, logging);
        ReactorGroup group = await ReactorGroup.StartAsync(engine);
        var state = new AdminState();
        try
        {
            var pages = new AdminPages(new AllowedHosts(options.Admin.Hosts), state);
            var date = new DateField(TimeProvider.System);
            ListenSettings settings = ListenSettings.Of(engine.Limits) with { SocketMode = options.SocketMode };
            using BoundAddress bound = options.Handed.Bind(address, engine.ReactorCount, settings);
            Listener listener = await group.ListenAsync(
                bound, connection => new AdminSession(connection, pages, date).RunAsync(), stages: null, refusal: null);
            return new AdminListener(group, listener.EndPoint, state);
        }
        catch
        {
            state.Dispose();
            await group.DisposeAsync();
            throw;
        }
    }

    /// <summary>From now on this is what probes are told.</summary>
    public void Turn(Readiness readiness) => State.Readiness = readiness;

    public async ValueTask DisposeAsync()
    {
        await _stop.CancelAsync();
        await _looking;
        await _group.StopAsync(Drain);
        _stop.Dispose();
        State.Dispose();
    }

    /// <summary>
    /// Small: it serves a probe, a scrape and some browsers. What fallback there is to tell of, the other group tells.
    /// </summary>
    private static EngineOptions EngineOptionsFor(BackendKind backend, ILoggerFactory logging) => new()
    {
        Reactors = 1,
        Backend = backend == BackendKind.Auto ? BackendProbe.Current.Best : backend,
        SubmissionEntries = 64,
        CompletionEntries = 256,
        ReceiveBuffers = 32,
        FileWorkers = 1,
        WatchForStalls = false,
        Limits = new Limits { Connections = 256, ConnectionsPerClient = 0, BufferBytes = 32 * 1024 * 1024, Backlog = 128 },
        LoggerFactory = logging,
        Name = "Millrace.Admin",
    };

    private static async Task LookAsync(Reactor reactor, AdminState state, CancellationToken stop)
    {
        await reactor.SwitchTo();
        while (!stop.IsCancellationRequested)
        {
            state.Look();
            try
            {
                await reactor.Delay(LookPause, stop);
            }
            catch (OperationCanceledException)
            {
                // The listener is being disposed, which is asked for next.
            }
        }
    }
}
