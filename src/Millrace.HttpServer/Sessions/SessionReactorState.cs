using System.Net;
using Millrace.Engine;
using Millrace.Engine.Connections;
using Millrace.Http;
using Millrace.HttpServer.Clients;
using Millrace.HttpServer.Exchanges;
using Millrace.HttpServer.Heads;
using Millrace.HttpServer.Http2;
using Millrace.HttpServer.Http3;
using Millrace.HttpServer.Proxying;
using Millrace.HttpServer.RateLimiting;
using Millrace.HttpServer.Upstreams;
using Millrace.Interop;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.HttpServer.Sessions;

/// <summary>
/// What the sessions of one reactor share, because only one of them runs at a time: the head being parsed, scratch memory, the Date, the
/// sites' snapshots. An idle session holds none of it. Reactor thread only.
/// </summary>
internal sealed class SessionReactorState : IDisposable
{
    private readonly Reactor _reactor;
    private readonly AssetFiles? _files;
    private HostTable _hosts;
    private SiteBinding[] _bindings;
    private ReactorUpstreams? _upstreams;
    private readonly Boundary _boundary = new(KernelRandom.NextUInt64());

    public SessionReactorState(
        Reactor reactor,
        HostTable hosts,
        HttpServerLimits limits,
        AssetFiles? files = null,
        Action<HttpExchange>? observer = null,
        TimeProvider? clock = null)
    {
        _reactor = reactor;
        Date = new DateField(clock ?? TimeProvider.System);
        _files = files;
        Recorder = observer is null ? null : new ExchangeRecorder(observer);
        _hosts = hosts;
        _bindings = [.. hosts.Sites.Select(site => new SiteBinding(site, files))];
        HasProxies = MayProxy(hosts);
        Limits = limits;
        HeadLimits = limits.ToHeadLimits();
        Head = new RequestHead(limits.FieldsMax);
        Planner = new RequestPlanner(this);
        KeepAliveMs = (long)limits.KeepAlive.TotalMilliseconds;
    }

    public HttpServerLimits Limits { get; }

    /// <summary>Records exchanges until they are reported; null if there is no observer.</summary>
    public ExchangeRecorder? Recorder { get; }

    public long KeepAliveMs { get; }

    /// <summary>Whether a connection may carry requests for https resources; null if none may.</summary>
    public Func<IClientConnection, bool>? CarriesHttps { private get; init; }

    /// <summary>
    /// Finds, by the token of the path, what a certificate authority's validation is answered with; empty for nothing. Null if none is
    /// expected.
    /// </summary>
    public Func<string, ValueTask<ReadOnlyMemory<byte>>>? Challenges { get; init; }

    /// <summary>Finds the client's address of a request.</summary>
    public ClientFinder Clients { get; init; } = ClientFinder.Direct;

    /// <summary>Counts the requests of sites with rate limits; shared by all reactors.</summary>
    public RateLimiter RateLimiter { get; init; } = new();

    public HeadLimits HeadLimits { get; }

    public RequestHead Head { get; }

    public PlanScratch Scratch { get; } = new();

    public RequestPlanner Planner { get; }

    public long NowMs => _reactor.NowMs;

    public long DueMs(TimeSpan limit) => NowMs + (long)limit.TotalMilliseconds;

    public bool IsDraining => _reactor.IsDraining;

    public DateField Date { get; }

    /// <summary>What the HTTP/2 sessions share in addition.</summary>
    public Http2ReactorState Http2 => field ??= new Http2ReactorState(HeadLimits);

    /// <summary>What the HTTP/3 sessions share in addition.</summary>
    public Http3ReactorState Http3 => field ??= new Http3ReactorState(HeadLimits);

    /// <summary>The upstreams of all rules.</summary>
    public UpstreamGroups UpstreamGroups { private get; init; } = UpstreamGroups.None;

    /// <summary>The connections to upstreams.</summary>
    public ReactorUpstreams Upstreams => _upstreams ??= new ReactorUpstreams(_reactor, UpstreamGroups);

    /// <summary>Whether a request may lead to an upstream.</summary>
    public bool HasProxies { get; private set; }

    /// <summary>Makes the heads that upstreams get.</summary>
    public ProxyRequestHead ProxyHead => field ??= new ProxyRequestHead();

    /// <summary>What the fields for an upstream say about the client of a connection.</summary>
    /// <param name="connection">The connection.</param>
    /// <param name="earlier">What was returned for the connection before: it is returned again unless the address has changed.</param>
    public ForwardedClient ForwardedClientOf(IClientConnection connection, ForwardedClient? earlier = null)
    {
        EndPoint? peer = connection.KeepRemoteEndPoint();
        IPAddress? address = (peer as IPEndPoint)?.Address;
        return earlier is not null && earlier.IsAt(address)
            ? earlier
            : new ForwardedClient(address, Clients.Trusted.Trusts(peer), IsHttps(connection));
    }

    public MultipartRanges PartsOf(scoped in ResponsePlan plan, long size) => PlannedHead.PartsOf(plan, size, _boundary.Next());

    public SiteBinding BindingFor(RequestHead head, ReadOnlySpan<byte> bytes) => _bindings[_hosts.Find(head.Authority.In(bytes))];

    /// <summary>
    /// Whether a request came on a connection that is not for it, and is answered with 421 (RFC 9110, section 7.4): an unsecured one, or
    /// one whose certificate does not cover the host.
    /// </summary>
    /// <param name="connection">The connection.</param>
    /// <param name="isCovered">Whether the certificate covers a host; null if the connection is for all hosts.</param>
    /// <param name="scheme">The scheme of the request's target.</param>
    /// <param name="head">The request. A request without a host is for the connection's host.</param>
    /// <param name="bytes">What the head was parsed from.</param>
    public bool IsMisdirected(
        IClientConnection connection,
        Func<ReadOnlySpan<byte>, bool>? isCovered,
        UriScheme scheme,
        RequestHead head,
        ReadOnlySpan<byte> bytes) =>
        IsUnsecured(connection, scheme)
        || (isCovered is not null && HostTable.NameOf(head.Authority.In(bytes)) is { IsEmpty: false } host && !isCovered(host));

    /// <summary>
    /// Whether the scheme of a request does not allow its connection (RFC 9110, section 15.5.20): an https resource is not served on an
    /// unsecured connection.
    /// </summary>
    public bool IsUnsecured(IClientConnection connection, UriScheme scheme) => scheme == UriScheme.Https && !IsHttps(connection);

    /// <summary>Whether a connection may carry requests for https resources.</summary>
    public bool IsHttps(IClientConnection connection) => CarriesHttps?.Invoke(connection) ?? false;

    /// <summary>
    /// Whether the client of a request uses https: what a trusted proxy says about it counts, whether its own connection uses TLS or not.
    /// One that does not say has terminated TLS.
    /// </summary>
    public bool IsClientHttps(IClientConnection connection, RequestHead head, ReadOnlySpan<byte> bytes) =>
        (Clients.TrustsAny ? Clients.SchemeOf(connection.KeepRemoteEndPoint(), head, bytes) : UriScheme.Unknown) switch
        {
            UriScheme.Http => false,
            UriScheme.Https => true,
            _ => IsHttps(connection),
        };

    /// <summary>
    /// Serves these sites from now on, with these upstreams; requests that have begun keep their snapshots and their connections.
    /// </summary>
    public void ReplaceHosts(HostTable hosts, UpstreamGroups upstreams)
    {
        Upstreams.Replace(upstreams);
        HasProxies = MayProxy(hosts);
        SiteBinding[] before = _bindings;
        _bindings = [.. hosts.Sites.Select(site => before.FirstOrDefault(old => old.Site == site) ?? new SiteBinding(site, _files))];
        _hosts = hosts;
        foreach (SiteBinding removed in before.Except(_bindings))
        {
            removed.Dispose();
        }
    }

    /// <summary>Moves every site to its latest snapshot.</summary>
    public void AcquireLatest()
    {
        foreach (SiteBinding binding in _bindings)
        {
            binding.AcquireLatest();
        }
    }

    private static bool MayProxy(HostTable hosts) => hosts.Sites.Any(static site => site.MayProxy);

    public void Dispose()
    {
        foreach (SiteBinding binding in _bindings)
        {
            binding.Dispose();
        }
    }
}
