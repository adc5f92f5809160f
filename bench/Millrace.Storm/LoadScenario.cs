using System.Diagnostics;
using System.Runtime.InteropServices;
using Millrace.Storm.Clients;
using Millrace.Storm.Deployments;
using Millrace.Storm.Judging;
using Millrace.Storm.Site;

namespace Millrace.Storm;

/// <summary>The storm itself: a thread for each client and each kind of deployment, until the time is over or enough went wrong.</summary>
/// <remarks>
/// Those who use a site and deploy it are on other machines. The storm's are on the server's, and make and check every byte: they yield to
/// the server, and take all it leaves.
/// </remarks>
internal sealed partial class LoadScenario(StormOptions options, SiteFolder site, ServedSite server, Verifier judge, Tally tally)
{
    private const int FaultsMax = 20;

    /// <summary>A tenth of the share of who is not nice, where both want the same processor.</summary>
    private const int Niceness = 10;

    private const int DeploymentsMax = 9;

    /// <summary>Until the server's code and ours are compiled, which takes the processors from both.</summary>
    private const double WarmSeconds = 3;

    private int _seed = options.Seed;

    public void Blow()
    {
        using var over = new CancellationTokenSource();
        using var lookout = new SiteMonitor(server.Port, site, judge, tally, DeploymentsMax);
        List<Client> clients = MakeClients();
        List<Thread> threads =
        [
            .. clients.Select(client => Start(client.GetType().Name, () => client.Run(over.Token))),
            .. MakeDeployments(lookout).Select(deployment => Start(deployment.GetType().Name, () => deployment.Run(over.Token))),
        ];

        Wait(WarmSeconds);
        judge.EndGrace();
        Wait(options.Seconds);
        over.Cancel();
        threads.ForEach(static thread => thread.Join());
        clients.ForEach(static client => client.Dispose());
        if (server.HasEnded)
        {
            tally.Fault("the server ended");
        }
    }

    private void Wait(double seconds)
    {
        long startedAt = Stopwatch.GetTimestamp();
        while (Stopwatch.GetElapsedTime(startedAt).TotalSeconds < seconds && tally.Faults.Count < FaultsMax && !server.HasEnded)
        {
            Thread.Sleep(50);
        }
    }

    private List<Client> MakeClients() =>
    [
        .. Several(6, () => new Reader(server.Port, judge, tally, options.PauseMs, _seed++)),
        .. Several(2, () => new Newcomer(server.Port, judge, tally, options.PauseMs, _seed++)),
        .. Several(2, () => new Pipeliner(server.Port, judge, tally, options.PauseMs, _seed++)),
        .. Several(3, () => new Ranger(server.Port, judge, tally, options.PauseMs, _seed++)),
        .. Several(4, () => new SlowReader(server.Port, judge, tally, options.PauseMs, _seed++)),
    ];

    private List<Deployment> MakeDeployments(SiteMonitor lookout) =>
    [
        new Renames(site, lookout, _seed++),
        new Flood(site, lookout, _seed++),
        new Truncations(site, lookout, _seed++),
        new Rewrites(site, lookout, _seed++),
        new Deletions(site, lookout, _seed++),
        new Precompressions(site, lookout, _seed++),
        new Releases(site, lookout, _seed++),
        new MassCreations(site, lookout, _seed++),
        new RootSwaps(site, lookout, _seed++),
    ];

    private static IEnumerable<Client> Several(int count, Func<Client> make) => Enumerable.Range(0, count).Select(_ => make());

    /// <summary>What one of them does not expect is a fault of the storm, and ends it.</summary>
    private Thread Start(string name, Action run)
    {
        var thread = new Thread(() =>
        {
            try
            {
                _ = SetPriority(which: 0, who: 0, Niceness);
                run();
            }
            catch (Exception error) when (error is not OutOfMemoryException)
            {
                tally.Fault($"{name} ended: {error}");
            }
        })
        {
            Name = name,
            IsBackground = true,
        };
        thread.Start();
        return thread;
    }

    /// <summary>Of the calling thread alone, on Linux.</summary>
    [LibraryImport("libc", EntryPoint = "setpriority")]
    private static partial int SetPriority(int which, uint who, int priority);
}
