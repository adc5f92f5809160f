using System.Net;
using Microsoft.Extensions.Logging;
using Millrace.Engine;
using Millrace.StaticFiles;
using Millrace.Web;

namespace Millrace.Server;

/// <summary>
/// Sites from start to stop: opens them, starts the reactors, listens, says so, reloads on SIGHUP, and drains on SIGTERM or SIGINT.
/// </summary>
internal static class Server
{
    public static async Task<int> RunAsync(ServeOptions options)
    {
        using ILoggerFactory logging = CreateLogging();

        // First of all: until then the signal's default would end the process, and a large site takes seconds to open.
        using var reload = new ReloadSignal();
        try
        {
            using HostedSites hosted = HostedSites.Open(options, logging);

            // Walking a large site leaves several times as much garbage as it keeps, and nothing that comes would soon collect it.
            GC.Collect(GC.MaxGeneration, GCCollectionMode.Aggressive, blocking: true, compacting: true);
            await using ReactorGroup group = await ReactorGroup.StartAsync(new EngineOptions
            {
                Reactors = options.Reactors,
                Backend = options.Backend,
                Limits = options.Limits.Engine,
                LoggerFactory = logging,
            });
            await using var sites = new StaticSites(hosted.Table, options.Limits.Web, group);
            List<Listener> listeners = await ListenAsync(group, sites, options.Addresses);

            using var stop = new StopSignal();
            Announce(options, hosted, group, listeners);
            using IDisposable reloading = reload.Attach(hosted);
            await stop.Requested;

            await group.StopAsync(options.Limits.Drain);
            return ExitCode.Done;
        }
        catch (SiteException refusal)
        {
            return Complain(refusal.Message, ExitCode.Usage);
        }
        catch (Exception refusal) when (refusal is EngineException or IOException or UnauthorizedAccessException)
        {
            return Complain(refusal.Message, ExitCode.Refused);
        }
    }

    private static async Task<List<Listener>> ListenAsync(ReactorGroup group, StaticSites sites, IReadOnlyList<EndPoint> addresses)
    {
        var listeners = new List<Listener>();
        foreach (EndPoint address in addresses)
        {
            listeners.Add(await group.ListenAsync(address, sites.ServeAsync, sites.RefuseAsync));
        }

        return listeners;
    }

    private static void Announce(ServeOptions options, HostedSites hosted, ReactorGroup group, List<Listener> listeners)
    {
        foreach (Listener listener in listeners)
        {
            Console.WriteLine($"Listening on {ListenAddress.ToUrl(listener.EndPoint)}");
        }

        string plural = group.Reactors.Count == 1 ? "" : "s";
        foreach ((string? host, string root, Site site) in hosted.All)
        {
            string forHost = host is null ? "" : $" for {host}";
            Console.WriteLine($"Serving {Shown(root)} ({site.Catalog.Current.AssetCount:N0} assets){forHost} "
                + $"on {group.BackendName} with {group.Reactors.Count} reactor{plural}");
        }
    }

    /// <summary>The root as people think of it: from where they are, if it is below.</summary>
    private static string Shown(string root)
    {
        string full = Path.GetFullPath(root);
        string relative = Path.GetRelativePath(Environment.CurrentDirectory, full);
        return relative == "." || relative.StartsWith("..", StringComparison.Ordinal) ? full : relative;
    }

    private static int Complain(string message, int exitCode)
    {
        Console.Error.WriteLine($"millrace: {message}");
        return exitCode;
    }

    private static ILoggerFactory CreateLogging() => LoggerFactory.Create(static builder => builder
        .SetMinimumLevel(LogLevel.Information)
        .AddSimpleConsole(static console =>
        {
            console.SingleLine = true;
            console.TimestampFormat = "yyyy-MM-ddTHH:mm:ssZ ";
            console.UseUtcTimestamp = true;
        })
        .AddConsole(static console => console.LogToStandardErrorThreshold = LogLevel.Trace));
}
