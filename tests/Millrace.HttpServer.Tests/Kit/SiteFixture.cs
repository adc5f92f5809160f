using Millrace.Engine;
using Millrace.Engine.Buffers;
using Millrace.Engine.Connections;
using Millrace.HttpServer.Clients;
using Millrace.HttpServer.Exchanges;
using Millrace.HttpServer.Upstreams;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.HttpServer.Tests.Kit;

/// <summary>
/// A test over a site that is served in this process. Whatever it started is stopped after it, and nothing may be left: no
/// connection slot, no block, no lease on a snapshot, no descriptor, no warning of the engine. No test can forget to look.
/// </summary>
public abstract class SiteFixture : IAsyncLifetime
{
    private readonly List<RunningSite> _sites = [];
    private readonly List<IDisposable> _owned = [];
    private string[] _descriptorsBefore = [];

    private protected SiteFolder Folder { get; } = new();

    /// <summary>Whether a request for an https resource may come by a connection; null where it may by none.</summary>
    private protected Func<IClientConnection, bool>? CarriesHttps { get; set; }

    /// <summary>Answers a certificate authority's validations; null for none.</summary>
    private protected Func<string, ValueTask<ReadOnlyMemory<byte>>>? Challenges { get; set; }

    /// <summary>Finds the client's address of a request; null if no proxy is trusted.</summary>
    private protected ClientFinder? FindsClients { get; set; }

    public ValueTask InitializeAsync()
    {
        _descriptorsBefore = Descriptors();
        return default;
    }

    public async ValueTask DisposeAsync()
    {
        _owned.ForEach(static thing => thing.Dispose());
        try
        {
            foreach (RunningSite site in _sites)
            {
                await site.EndAsync();
            }
        }
        finally
        {
            Folder.Dispose();
        }

        Assert.Empty(BlockLeakDetector.Reports);
        Assert.Equal(_descriptorsBefore, Descriptors());
        GC.SuppressFinalize(this);
    }

    /// <summary>What is disposed of before the sites end.</summary>
    private protected T Own<T>(T thing)
        where T : IDisposable
    {
        _owned.Add(thing);
        return thing;
    }

    /// <summary>Serves <see cref="Folder"/> as it is now.</summary>
    private protected async Task<RunningSite> StartAsync(
        Func<SiteOptions, SiteOptions>? site = null,
        HttpServerLimits? limits = null,
        EngineOptions? engine = null,
        Func<Reactor, Action<HttpExchange>>? observe = null,
        UpstreamOptions? upstreams = null,
        AssetFiles? files = null)
    {
        // What these tests change on disk is to be met, not to be read again first; and files of 100 KB are to be read for each request.
        var options = new SiteOptions { Root = Folder.Root, Watch = WatchMode.Off, CacheFileBytesMax = 64 * 1024 };
        RunningSite running = await RunningSite.StartAsync(
            site?.Invoke(options) ?? options,
            limits ?? new HttpServerLimits(),
            engine ?? new EngineOptions { Reactors = 1 },
            observe,
            CarriesHttps,
            Challenges,
            FindsClients,
            upstreams,
            files);
        _sites.Add(running);
        return running;
    }

    /// <summary>What this process has open and a server could leak: the runtime's own epoll and pipes come and go.</summary>
    private static string[] Descriptors() =>
    [
        .. Directory.GetFiles("/proc/self/fd")
            .Select(static path => new FileInfo(path).LinkTarget ?? "")
            .Where(static target => target.StartsWith("socket:", StringComparison.Ordinal)
                || target.StartsWith("anon_inode:[io_uring]", StringComparison.Ordinal)
                || target.Contains(SiteFolder.NamePrefix, StringComparison.Ordinal))
            .Order(StringComparer.Ordinal),
    ];
}
