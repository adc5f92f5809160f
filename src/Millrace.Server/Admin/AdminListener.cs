using System.Net;
using Microsoft.Extensions.Logging;
using Millrace.Engine;
using Millrace.Engine.Listening;
using Millrace.HttpServer.Heads;
using Millrace.Server.Configuration;

namespace Millrace.Server.Admin;

/// <summary>
/// Serves the admin pages on an address and a reactor of their own, so that they respond before the sites are open, while those drain,
/// under any load, and while other reactors are blocked. Started first, disposed of last.
/// </summary>
internal sealed class AdminListener : IAsyncDisposable
{
    private static readonly TimeSpan CheckPause = TimeSpan.FromSeconds(1);

    /// <summary>Time for an in-flight response when the process ends; a scrape takes milliseconds.</summary>
    private static readonly TimeSpan Drain = TimeSpan.FromMilliseconds(500);

    private readonly ReactorGroup _group;
    private readonly CancellationTokenSource _stop = new();
    private readonly Task _checking;

    private AdminListener(ReactorGroup group, EndPoint endPoint, AdminState state)
    {
        _group = group;
        EndPoint = endPoint;
        State = state;
        _checking = CheckAsync(group.Reactors[0], state, _stop.Token);
    }

    public EndPoint EndPoint { get; }

    public AdminState State { get; }

    /// <summary>Starts listening; null if no admin address is configured.</summary>
    /// <exception cref="EngineException">The address cannot be bound; the message says why.</exception>
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
            using BoundAddress bound = options.Inherited.Bind(address, engine.ReactorCount, settings);
            Listener listener = await group.ListenAsync(
                bound, connection => new AdminSession(connection, pages, date).RunAsync(), filters: null, refusal: null);
            return new AdminListener(group, listener.EndPoint, state);
        }
        catch
        {
            state.Dispose();
            await group.DisposeAsync();
            throw;
        }
    }

    public async ValueTask DisposeAsync()
    {
        await _stop.CancelAsync();
        await _checking;
        await _group.StopAsync(Drain);
        _stop.Dispose();
        State.Dispose();
    }

    /// <summary>Small sizes, for probes, scrapes and a few browsers. The main group logs a backend fallback.</summary>
    private static EngineOptions EngineOptionsFor(BackendKind backend, ILoggerFactory logging) => new()
    {
        Reactors = 1,
        Backend = backend,
        LogsFallback = false,
        SubmissionEntries = 64,
        CompletionEntries = 256,
        ReceiveBuffers = 32,
        FileWorkers = 1,
        WatchForStalls = false,
        Limits = new Limits { Connections = 256, ConnectionsPerClient = 0, BufferBytes = 32 * 1024 * 1024, Backlog = 128 },
        LoggerFactory = logging,
        Name = "Millrace.Admin",
    };

    private static async Task CheckAsync(Reactor reactor, AdminState state, CancellationToken stop)
    {
        await reactor.SwitchTo();
        while (!stop.IsCancellationRequested)
        {
            state.Check();
            try
            {
                await reactor.Delay(CheckPause, stop);
            }
            catch (OperationCanceledException)
            {
                // The listener is being disposed of, which the loop checks next.
            }
        }
    }
}

internal sealed record AdminOptions
{
    /// <summary>Address of the admin pages; null for none.</summary>
    public EndPoint? Address { get; init; }

    /// <summary>Allowed host names, in addition to IP addresses and localhost.</summary>
    public IReadOnlyList<string> Hosts { get; init; } = [];

    /// <summary>URL of the OTLP collector for metrics; null for none.</summary>
    public Uri? Collector { get; init; }
}
