using System.Runtime.InteropServices;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Logging.Console;
using Millrace.Acme;
using Millrace.Engine;
using Millrace.HttpServer;
using Millrace.HttpServer.Clients;
using Millrace.HttpServer.Exchanges;
using Millrace.HttpServer.RateLimiting;
using Millrace.Interop;
using Millrace.Interop.Files;
using Millrace.Server.AccessLog;
using Millrace.Server.Admin;
using Millrace.Server.Configuration;
using Millrace.Server.Configuration.Rows;
using Millrace.Server.Doctor;
using Millrace.Server.Host;
using Millrace.Server.Http3;
using Millrace.Server.Https;
using Millrace.Server.Metrics;
using Millrace.Server.Proxies;
using Millrace.Server.Serving;
using Millrace.Server.Terminal;
using Millrace.StaticFiles;
using Millrace.Tls;

namespace Millrace.Server;

/// <summary>
/// Runs a server from start to stop: binds addresses, drops privileges, opens sites, starts reactors, listens, reports readiness, reloads
/// on SIGHUP, and drains on SIGTERM or SIGINT.
/// </summary>
internal static class Server
{
    public const string LogCategory = "Millrace.Server";

    public static async Task<int> RunAsync(ServerConfiguration configuration, ServeOptions options)
    {
        try
        {
            using ILoggerFactory logging = CreateLogging(LogLevel.Information);
            var log = new ServerLog(logging.CreateLogger(LogCategory));
            await ServeAsync(configuration, options, logging, log);
            log.Stopped();
            return ExitCode.Done;
        }
        catch (Exception refusal) when (refusal is SiteException or TlsException or EngineException or AccessLogException
            or ServiceException or UnauthorizedAccessException)
        {
            return ErrorLine.Print(refusal.Message, ExitCode.Of(refusal));
        }
        catch (Exception refusal) when (refusal is IOException or TypeInitializationException { InnerException: IOException })
        {
            // The runtime names no remedy, and wraps what its own initialization lacks.
            Exception cause = refusal.InnerException as IOException ?? refusal;
            int errno = FileProblem.ErrnoOf(cause);
            return ErrorLine.Print(
                Errno.DescriptorRemedy(errno) is { } remedy
                    ? $"The server cannot start, as {Errno.Describe(errno)}: {remedy}."
                    : cause.Message,
                ExitCode.Refused);
        }
    }

    private static async Task ServeAsync(
        ServerConfiguration configuration, ServeOptions options, ILoggerFactory logging, ServerLog serverLog)
    {
        ILogger log = logging.CreateLogger(LogCategory);
        using NotifySocket manager = NotifySocket.Open(log);

        // First: until then the signals' default would end the process, and opening a large site takes seconds.
        using StopSignal stop = CreateStopSignal(serverLog, logging);
        using var reload = new QueuedSignal(PosixSignal.SIGHUP);
        using var rotate = new QueuedSignal(QueuedSignal.User1);

        // Before the others, and therefore disposed of last: it reports their state.
        await using AdminListener? admin = await AdminListener.OpenAsync(options, logging);
        using AccessLogger? accessLog = AccessLogger.Open(options.AccessLog, options.Proxies, options.Service, logging);
        using var httpsEndpoints = new HttpsEndpoints(logging);
        HttpsEndpoint? https = OpenHttps(options, httpsEndpoints);
        using BoundAddresses bound = BoundAddresses.Bind(options);

        // Before the change of user, while all files are accessible.
        using var hosted = new HostedSites(logging)
        {
            RateLimiter = new RateLimiter(options.ResolveRateLimitBytes(), logging),
            Dictionaries = DictionaryFolders.Of(options),
        };
        hosted.PrivateFiles.Add(ServerFiles.Of(options, configuration.Path, https));

        // From here on as the configured user: files that this user may not read are not served.
        Sandbox.Become(options, configuration.Path, accessLog?.IsNew ?? false, log);
        HostReader.LogShortages(options, serverLog);
        await using AcmeManager? acme = AcmeService.Open(options, httpsEndpoints, logging);
        OpenSites(options, hosted);
        var memory = new IdleMemoryRelease();
        EngineOptions engine = options.Engine with { LoggerFactory = logging, OnIdle = memory.OnIdle };
        await using ReactorGroup group = await ReactorGroup.StartAsync(engine);
        memory.Attach(group);
        using var http3 = new Http3Listeners(group, options, logging);
        using var upstreams = new SiteUpstreams(options, group.Reactors.Count, logging);
        using var telemetry = Telemetry.Open(
            options.Admin, group, hosted, upstreams, httpsEndpoints, http3, accessLog, logging);
        if (telemetry is not null)
        {
            admin?.State.Attach(group, telemetry.Requests, hosted, upstreams, httpsEndpoints, http3);
        }

        Func<Reactor, Action<HttpExchange>>? logged = accessLog?.Start(group.Reactors.Count);
        Func<Reactor, Action<HttpExchange>>? observe =
            telemetry is null ? logged : reactor => logged?.Invoke(reactor) + telemetry.Requests.For(reactor);
        using IDisposable? rotating = accessLog is null ? null : rotate.Attach(accessLog.Reopen);
        await using var sites = new StaticSiteServer(
            HostedSites.TableOf(hosted.All), options.Web, group, observe, new TrustedPeers(options.Proxies).CarriesHttps,
            acme is null ? null : acme.Challenges.FindKeyAuthorizationAsync, new ClientFinder(options.Proxies), hosted.RateLimiter,
            upstreams.Current);
        Sandbox.FilterCalls(options.Service, log);
        var listenEndpoints = new ListenEndpoints(group, sites, bound, http3);
        await listenEndpoints.ReplaceAsync(await listenEndpoints.OpenNextAsync(options, https), options, https);

        acme?.Start();
        using var expiry = new ExpiryWatch(() => httpsEndpoints.Certificates, serverLog, TimeProvider.System);
        stop.MayDrain();
        admin?.State.Readiness = Readiness.Ready;
        StartupBanner.Print(new StartupBanner(hosted.All, group, listenEndpoints.Served, httpsEndpoints, admin?.EndPoint));
        manager.Ready(listenEndpoints.Status);
        await using ServiceWatchdog? watchdog =
            manager.WatchdogPeriod is { } period ? ServiceWatchdog.Start(group.Reactors, period, manager.Alive) : null;
        var reloading = new ConfigurationReload(
            configuration, options, hosted, upstreams, httpsEndpoints, listenEndpoints, sites, acme, serverLog);
        using (reload.Attach(() =>
        {
            manager.Reloading();
            reloading.RunAsync().GetAwaiter().GetResult();
            manager.Ready(listenEndpoints.Status);
        }))
        {
            await stop.Requested;
            admin?.State.Readiness = Readiness.Draining;
        }

        manager.Stopping();
        await AcmeService.StopAsync(acme);
        watchdog?.Drain();
        await DrainAsync(group, listenEndpoints, http3.Connections, reloading.Current.Drain, serverLog);
    }

    /// <summary>Ends the connections over TCP and QUIC at the same time.</summary>
    private static async Task DrainAsync(
        ReactorGroup group, ListenEndpoints listenEndpoints, long quicConnections, TimeSpan drain, ServerLog serverLog)
    {
        long connections = group.Reactors.Sum(static reactor => (long)reactor.Connections.Count) + quicConnections;
        serverLog.Draining(Counted.Of(connections, "open connection"), drain.TotalSeconds);
        Task quic = listenEndpoints.StopQuicAsync(drain);
        await group.StopAsync(drain);
        await quic;
    }

    /// <summary>As after SIGTERM.</summary>
    private const int SignalExitCode = 128 + 15;

    /// <summary>Until the server serves, a signal ends the process.</summary>
    private static StopSignal CreateStopSignal(ServerLog serverLog, ILoggerFactory logging) => new(
        isDraining =>
        {
            serverLog.StoppedAtOnce(isDraining ? "Second signal: stopping at once." : "Stopped by a signal before serving.");
            // Writes what is queued.
            logging.Dispose();
            if (Environment.ProcessId == 1)
            {
                // The kernel ends the first process of a container by no signal that has its default action.
                Environment.Exit(SignalExitCode);
            }
        },
        mayDrain: false);

    private static void OpenSites(ServeOptions options, HostedSites hosted)
    {
        hosted.Replace(hosted.OpenNext(options.Sites));

        // Scanning a large site leaves several times as much garbage as live data, and nothing later would collect it soon.
        GC.Collect(GC.MaxGeneration, GCCollectionMode.Aggressive, blocking: true, compacting: true);
    }

    private static HttpsEndpoint? OpenHttps(ServeOptions options, HttpsEndpoints endpoints)
    {
        AcmeService.Prepare(options, endpoints);
        HttpsEndpoint? https = endpoints.OpenNext(options.Https);
        AcmeService.GiveToServiceUser(options, https?.Local?.Files.Certificate);
        endpoints.Replace(https, options.Https);
        return https;
    }

    /// <summary>The root for messages: relative to the working directory if it is below it.</summary>
    public static string DisplayPath(string root)
    {
        if (root.Length == 0)
        {
            // An empty root is refused later, and is not a path.
            return root;
        }

        string full = Path.TrimEndingDirectorySeparator(Path.GetFullPath(root));
        string relative = Path.GetRelativePath(Environment.CurrentDirectory, full);
        return relative == "." || relative.StartsWith("..", StringComparison.Ordinal) ? full : relative;
    }

    public static ILoggerFactory CreateLogging(LogLevel least) => new NamingLoggerFactory(LoggerFactory.Create(builder =>
    {
        builder.Services.AddSingleton<ConsoleFormatter, TerminalFormatter>();
        AddConsole(builder.SetMinimumLevel(least));
    }));

    private static void AddConsole(ILoggingBuilder builder) => builder
        .AddSimpleConsole(static console =>
        {
            console.SingleLine = true;
            console.TimestampFormat = "yyyy-MM-ddTHH:mm:ssZ ";
            console.UseUtcTimestamp = true;
        })
        .AddConsole(static console =>
        {
            console.LogToStandardErrorThreshold = LogLevel.Trace;
            // Reactors and the shutdown write logs: no thread may block on a slow reader of stderr. Dropped messages are counted and
            // reported.
            console.QueueFullMode = ConsoleLoggerQueueFullMode.DropWrite;
            if (!Console.IsErrorRedirected)
            {
                console.FormatterName = TerminalFormatter.FormatterName;
            }
        });
}
