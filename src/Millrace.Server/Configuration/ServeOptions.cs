using System.Net;
using Millrace.Engine;
using Millrace.HttpServer;
using Millrace.Server.AccessLog;
using Millrace.Server.Admin;
using Millrace.Server.Host;
using Millrace.Server.Https;
using Millrace.Server.Proxies;
using Millrace.StaticFiles;

namespace Millrace.Server.Configuration;

/// <summary>The server's options, from flags, environment variables and the file. Immutable.</summary>
internal sealed record ServeOptions
{
    /// <summary>The site for every host except those in <see cref="Hosts"/>.</summary>
    public SiteOptions Site { get; init; } = new() { Root = "." };

    /// <summary>Further sites, by host.</summary>
    public IReadOnlyList<HostedSite> Hosts { get; init; } = [];

    /// <summary>Addresses for HTTP.</summary>
    public IReadOnlyList<EndPoint> Addresses { get; init; } = [];

    /// <summary>Addresses and certificates for HTTPS.</summary>
    public HttpsOptions Https { get; init; } = new();

    /// <summary>Whether any address is TCP, not a unix socket.</summary>
    public bool ListensOnTcp => Addresses.Concat(Https.Addresses).Any(static address => address is IPEndPoint);

    /// <summary>Proxies in front of this server.</summary>
    public ProxyOptions Proxies { get; init; } = new();

    /// <summary>File mode of unix sockets; null for the umask's.</summary>
    public UnixFileMode? SocketMode { get; init; }

    /// <summary>The access log.</summary>
    public AccessLogOptions AccessLog { get; init; } = new();

    /// <summary>The reactors and their limits.</summary>
    public EngineOptions Engine { get; init; } = new();

    /// <summary>Limits of HTTP.</summary>
    public HttpServerLimits Web { get; init; } = new();

    /// <summary>Admin pages and metrics export.</summary>
    public AdminOptions Admin { get; init; } = new();

    /// <summary>
    /// How long in-flight requests may take to finish when the server stops: less than the 30 s after which Kubernetes kills the process.
    /// </summary>
    public TimeSpan Drain { get; init; } = TimeSpan.FromSeconds(20);

    /// <summary>The configured settings, for comparison after a reload.</summary>
    public SettingSet Configured { get; init; } = SettingSet.Empty;

    /// <summary>Privileges that the process drops before it serves.</summary>
    public ServiceOptions Service { get; init; } = new();

    /// <summary>Sockets that a service manager has bound for this process.</summary>
    public InheritedSockets Inherited { get; init; } = InheritedSockets.OfProcess;

    /// <summary>All sites; the first one serves all other hosts.</summary>
    public IReadOnlyList<HostedSite> Sites => [new HostedSite("", Site) { Configured = Configured }, .. Hosts];
}
