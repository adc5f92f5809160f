using System.Net;
using Microsoft.Extensions.Logging.Abstractions;
using Millrace.Engine;
using Millrace.HttpServer;
using Millrace.HttpServer.Sessions;
using Millrace.StaticFiles;
using Millrace.Tls;

namespace Millrace.Arena;

/// <summary>
/// Owns what the entry serves with: reactors, site, certificate. A port in use, or a folder or certificate that cannot be read, throws at
/// the start.
/// </summary>
internal sealed class ArenaServer : IAsyncDisposable
{
    private static readonly TimeSpan Drain = TimeSpan.FromSeconds(1);

    private readonly ReactorGroup _group;
    private readonly Site _site;
    private readonly StaticSiteServer _files;
    private readonly TlsTerminator _tls;
    private readonly Item[] _items;
    private readonly ReactorState?[] _states;

    private ArenaServer(ReactorGroup group, Site site, TlsTerminator tls, Item[] items, ArenaSettings settings)
    {
        _group = group;
        _site = site;
        _tls = tls;
        _items = items;
        _files = new StaticSiteServer(new HostTable([(null, site)]), new HttpServerLimits(), group);
        _states = new ReactorState?[group.Reactors.Count];
        Url = $"http://{new IPEndPoint(settings.Address, settings.HttpPort)}";
    }

    public string Url { get; }

    public string BackendName => _group.BackendName;

    public static async Task<ArenaServer> StartAsync(ArenaSettings settings)
    {
        Item[] items = Dataset.Load(settings.Data);
        ReactorGroup group = await ReactorGroup.StartAsync(new EngineOptions
        {
            Reactors = settings.Reactors,
            Backend = settings.Backend switch
            {
                "auto" => BackendKind.Auto,
                "io_uring" => BackendKind.IoUring,
                "epoll" => BackendKind.Epoll,
                string other => throw new InvalidOperationException($"ARENA_BACKEND is '{other}': auto, io_uring or epoll."),
            },
        });
        // The root is the folder above, so that the paths begin with /static/; nothing else reaches the site.
        var site = Site.Open(new SiteOptions { Root = settings.Data }, NullLoggerFactory.Instance);
        var tls = TlsTerminator.Create(
            new TlsOptions
            {
                Certificates = [new CertificateFiles(settings.Certificate, settings.Key)],
                ApplicationProtocols = ["http/1.1"],
            },
            NullLoggerFactory.Instance);
        var server = new ArenaServer(group, site, tls, items, settings);
        await group.ListenTlsAsync(new IPEndPoint(settings.Address, settings.HttpsPort), tls, server.ServeAsync, null);
        await group.ListenAsync(new IPEndPoint(settings.Address, settings.HttpPort), server.ServeAsync);
        return server;
    }

    public Task StopAsync() => _group.StopAsync(Drain);

    public async ValueTask DisposeAsync()
    {
        await _files.DisposeAsync();
        _tls.Dispose();
        _site.Dispose();
    }

    private Task ServeAsync(Connection connection)
    {
        // Each element belongs to one reactor; only the array itself is shared.
        ref ReactorState? state = ref _states[connection.Reactor.Index];
        state ??= new ReactorState(_files.ReactorStateOf(connection.Reactor), new JsonPage(_items));
        return new ArenaSession(connection, state).RunAsync();
    }
}

/// <summary>What the sessions of one reactor share, as only one of them runs at a time. Reactor thread only.</summary>
internal sealed record ReactorState(SessionReactorState Files, JsonPage Json);
