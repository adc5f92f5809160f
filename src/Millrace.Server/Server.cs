using System.Runtime.InteropServices;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Logging.Console;
using Millrace.Engine;
using Millrace.Server.AccessLog;
using Millrace.Server.Admin;
using Millrace.Server.Https;
using Millrace.Server.Metrics;
using Millrace.Server.Options;
using Millrace.Server.Service;
using Millrace.Server.Serving;
using Millrace.Server.Terminal;
using Millrace.StaticFiles;
using Millrace.Tls;
using Millrace.Web;
using Millrace.Web.Exchanges;

namespace Millrace.Server;

/// <summary>
/// Sites from start to stop: binds, gives up what serving does not need, opens them, starts the reactors, listens, says so, reloads on
/// SIGHUP, and drains on SIGTERM or SIGINT.
/// </summary>
internal static class Server
{
    /// <param name="configuration">What is read anew at SIGHUP.</param>
    /// <param name="options">What it said just now.</param>
    public static async Task<int> RunAsync(Configuration configuration, ServeOptions options)
    {
        using ILoggerFactory logging = CreateLogging(LogLevel.Information);
        ILogger log = logging.CreateLogger("Millrace.Server");
        using NotifySocket manager = NotifySocket.Open(log);

        // First of all: until then the signals' default would end the process, and a large site takes seconds to open.
        using var reload = new KeptSignal(PosixSignal.SIGHUP);
        using var rotate = new KeptSignal(KeptSignal.User1);
        try
        {
            // Before the others, and so the last to go: it tells how they come and go.
            await using AdminListener? admin = await AdminListener.OpenAsync(options, logging);
            using AccessJournal? journal = AccessJournal.Open(options.AccessLog, options.Proxies, options.Service, logging);
            using var fronts = new HttpsFronts(logging);
            HttpsFront? https = fronts.OpenNext(options.Https);
            fronts.Replace(https, options.Https);
            using BoundAddresses bound = BoundAddresses.Bind(options);

            // From here on as somebody else, where that was asked for: what they may not read is not served.
            Confinement.Become(options, configuration.Path, journal?.IsNew ?? false, log);
            using var hosted = new HostedSites(logging);
            OpenSites(hosted, options);

            // Walking a large site leaves several times as much garbage as it keeps, and nothing that comes would soon collect it.
            GC.Collect(GC.MaxGeneration, GCCollectionMode.Aggressive, blocking: true, compacting: true);
            await using ReactorGroup group = await ReactorGroup.StartAsync(options.Engine with { LoggerFactory = logging });
            using var telemetry = Telemetry.Open(options.Admin, group, hosted, journal, logging);
            if (telemetry is not null)
            {
                admin?.State.Attach(group, telemetry.Requests, hosted);
            }

            Func<Reactor, IExchangeObserver>? observe =
                ObserverGroup.Join(journal?.Start(group.Reactors.Count), telemetry is null ? null : telemetry.Requests.For);
            using IDisposable? rotating = journal is null ? null : rotate.Attach(journal.Reopen);
            await using var sites = new StaticSites(HostedSites.TableOf(hosted.All), options.Web, group, observe);
            Confinement.FilterCalls(options.Service, log);
            var entrances = new Entrances(group, sites, bound);
            await entrances.ReplaceAsync(await entrances.OpenNextAsync(options, https), options, https);

            using var stop = new StopSignal();
            admin?.Turn(Readiness.Ready);
            Announcement.Print(new Announcement(hosted.All, group, entrances.Served, https?.Local, admin?.EndPoint));
            manager.Ready(entrances.Status);
            await using Watchdog? watchdog =
                manager.WatchdogPeriod is { } period ? Watchdog.Start(group.Reactors, period, manager.Alive) : null;
            var reloading = new Reloading(configuration, options, hosted, fronts, entrances, sites, new ServerLog(log));
            using (reload.Attach(() =>
            {
                manager.Reloading();
                reloading.RunAsync().GetAwaiter().GetResult();
                manager.Ready(entrances.Status);
            }))
            {
                await stop.Requested;
                admin?.Turn(Readiness.Draining);
            }

            manager.Stopping();
            watchdog?.Drain();
            await group.StopAsync(reloading.Current.Drain);
            return ExitCode.Done;
        }
        catch (Exception refusal) when (refusal is SiteException or TlsException)
        {
            return ErrorLine.Print(refusal.Message, ExitCode.Usage);
        }
        catch (Exception refusal) when (refusal is EngineException or AccessLogException or ServiceException
            or IOException or UnauthorizedAccessException)
        {
            return ErrorLine.Print(refusal.Message, ExitCode.Refused);
        }
    }

    private static void OpenSites(HostedSites hosted, ServeOptions options)
    {
        using var progress = new WaitLine($"Reading {Shown(options.Site.Root)}");
        hosted.Replace(hosted.OpenNext(options.Sites));
    }

    /// <summary>The root as people think of it: from where they are, if it is below.</summary>
    public static string Shown(string root)
    {
        if (root.Length == 0)
        {
            // It is refused in a moment, and no path until then.
            return root;
        }

        string full = Path.TrimEndingDirectorySeparator(Path.GetFullPath(root));
        string relative = Path.GetRelativePath(Environment.CurrentDirectory, full);
        return relative == "." || relative.StartsWith("..", StringComparison.Ordinal) ? full : relative;
    }

    public static ILoggerFactory CreateLogging(LogLevel least) => LoggerFactory.Create(builder => builder
        .SetMinimumLevel(least)
        .AddSimpleConsole(static console =>
        {
            console.SingleLine = true;
            console.TimestampFormat = "yyyy-MM-ddTHH:mm:ssZ ";
            console.UseUtcTimestamp = true;
        })
        .AddConsole(static console =>
        {
            console.LogToStandardErrorThreshold = LogLevel.Trace;
            // Reactors log, and so does who is to end the process: nobody waits for whoever reads stderr. What is left out is told.
            console.QueueFullMode = ConsoleLoggerQueueFullMode.DropWrite;
        }));
}
