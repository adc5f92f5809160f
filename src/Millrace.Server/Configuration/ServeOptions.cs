using System.Diagnostics.CodeAnalysis;
using System.Net;
using Millrace.Engine;
using Millrace.Http;
using Millrace.HttpServer;
using Millrace.HttpServer.RateLimiting;
using Millrace.HttpServer.Upstreams;
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

    public IReadOnlyList<EndPoint> Addresses { get; init; } = [];

    public HttpsOptions Https { get; init; } = new();

    public AcmeSettings Acme { get; init; } = new();

    public bool ListensOnTcp => Addresses.Concat(Https.Addresses).Any(static address => address is IPEndPoint);

    /// <summary>
    /// The addresses with HTTP/3: each HTTPS port, but for those where proxies announce the client, which the PROXY protocol does for TCP
    /// only.
    /// </summary>
    public IEnumerable<EndPoint> Http3Addresses => Https.Addresses.Where(HasHttp3);

    public ProxyOptions Proxies { get; init; } = new();

    /// <summary>Limits of requests to applications.</summary>
    public UpstreamOptions Upstreams { get; init; } = new();

    /// <summary>The certificates that applications with https are verified by, in PEM; null for the system's.</summary>
    public string? UpstreamAuthorities { get; init; }

    /// <summary>File mode of unix sockets; null for the umask's.</summary>
    public UnixFileMode? SocketMode { get; init; }

    public AccessLogOptions AccessLog { get; init; } = new();

    public EngineOptions Engine { get; init; } = new();

    public HttpServerLimits Web { get; init; } = new();

    /// <summary>The memory for counting requests of rate limits.</summary>
    public long RateLimitBytes { get; init; } = RateLimiter.DefaultBytes;

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

    /// <summary>Whether HTTP/3 is served beside HTTPS on this address.</summary>
    public bool HasHttp3(EndPoint address) => Https.Http3 && address is IPEndPoint && !Proxies.Expects(address);
}

/// <summary>A virtual host, on the command line <c>NAME=FOLDER</c>.</summary>
/// <param name="Name">The host's name or a wildcard such as <c>*.example.org</c>; empty for the site of all other hosts.</param>
/// <param name="Site">The site's options.</param>
internal sealed record HostedSite(string Name, SiteOptions Site)
{
    private const string Wildcard = "*.";

    public const string Form = "example.org=./folder or '*.example.org=./folder'";

    /// <summary>The configured settings, merged from all sources.</summary>
    public SettingSet Configured { get; init; } = SettingSet.Empty;

    /// <summary>Parses <c>NAME=FOLDER</c>. The problem is a clause with the reason, if there is one besides the form.</summary>
    public static bool TryParse(string text, [NotNullWhen(true)] out HostedSite? host, out string? problem)
    {
        host = null;
        int equals = text.IndexOf('=', StringComparison.Ordinal);
        if (!TryReadName(equals < 0 ? "" : text[..equals], out string? name, out problem))
        {
            return false;
        }

        host = equals + 1 < text.Length ? new HostedSite(name, new SiteOptions { Root = text[(equals + 1)..] }) : null;
        return host is not null;
    }

    /// <summary>Converts a host name to the form that clients send: A-labels for international names.</summary>
    public static bool TryReadName(string text, [NotNullWhen(true)] out string? name, out string? problem)
    {
        name = null;
        bool isWildcard = text.StartsWith(Wildcard, StringComparison.Ordinal);
        if (!DomainName.TryEncode(isWildcard ? text[Wildcard.Length..] : text, out string? plain, out problem)
            || Uri.CheckHostName(plain.Trim('[', ']')) == UriHostNameType.Unknown)
        {
            return false;
        }

        name = isWildcard ? Wildcard + plain : plain;
        return true;
    }

    /// <summary>Whether another host has the same options, apart from its name.</summary>
    public bool HasSameOptions(HostedSite other) =>
        Site.Root == other.Site.Root
        && Site.Fields.SequenceEqual(other.Site.Fields)
        && OptionTable.All.Where(static option => option.Scope == OptionScope.Site)
            .All(option => Configured.TextsOf(option).SequenceEqual(other.Configured.TextsOf(option), StringComparer.Ordinal));

    public bool IsFor(string name) => string.Equals(Name, name, StringComparison.OrdinalIgnoreCase);
}
