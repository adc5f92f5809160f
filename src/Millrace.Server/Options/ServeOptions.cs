using System.Net;
using Millrace.Engine;
using Millrace.Server.AccessLog;
using Millrace.Server.Admin;
using Millrace.Server.Https;
using Millrace.Server.Options.Settings;
using Millrace.Server.Proxies;
using Millrace.Server.Service;
using Millrace.StaticFiles;
using Millrace.Web;

namespace Millrace.Server.Options;

/// <summary>What the server was told, by flags, environment and file. Immutable.</summary>
internal sealed record ServeOptions
{
    /// <summary>The site that answers for every host but those of <see cref="Hosts"/>.</summary>
    public SiteOptions Site { get; init; } = new() { Root = "." };

    /// <summary>Further sites, by host.</summary>
    public IReadOnlyList<HostedSite> Hosts { get; init; } = [];

    /// <summary>Where to listen for HTTP.</summary>
    public IReadOnlyList<EndPoint> Addresses { get; init; } = [];

    /// <summary>Where to listen for HTTPS, and with what.</summary>
    public HttpsOptions Https { get; init; } = new();

    /// <summary>Whether clients come by TCP, not all of them by unix sockets.</summary>
    public bool ListensOnTcp => Addresses.Concat(Https.Addresses).Any(static address => address is IPEndPoint);

    /// <summary>Those in front of this server.</summary>
    public ProxyOptions Proxies { get; init; } = new();

    /// <summary>What may be done with the files of unix sockets; null for what the umask leaves.</summary>
    public UnixFileMode? SocketMode { get; init; }

    /// <summary>A line for each request.</summary>
    public AccessLogOptions AccessLog { get; init; } = new();

    /// <summary>The reactors and their bounds.</summary>
    public EngineOptions Engine { get; init; } = new();

    /// <summary>The bounds of HTTP.</summary>
    public WebLimits Web { get; init; } = new();

    /// <summary>What is shown, and sent, to who runs it.</summary>
    public AdminOptions Admin { get; init; } = new();

    /// <summary>
    /// How long requests that were under way when the server is stopped get to finish: less than the 30 s after which Kubernetes kills.
    /// </summary>
    public TimeSpan Drain { get; init; } = TimeSpan.FromSeconds(20);

    /// <summary>What it was told in so many words, to see what changes.</summary>
    public SettingSet Told { get; init; } = SettingSet.Empty;

    /// <summary>What the process gives up before it serves.</summary>
    public ServiceOptions Service { get; init; } = new();

    /// <summary>Sockets that a service manager has bound, once for the process.</summary>
    public HandedSockets Handed { get; init; } = HandedSockets.OfProcess;

    /// <summary>All sites; the first answers for all other hosts.</summary>
    public IReadOnlyList<HostedSite> Sites => [new HostedSite("", Site) { Told = Told }, .. Hosts];
}
