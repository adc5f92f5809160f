using Millrace.Engine;
using Millrace.Http;
using Millrace.HttpServer.Exchanges;
using Millrace.HttpServer.Heads;
using Millrace.HttpServer.Http2;
using Millrace.StaticFiles.Access;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.HttpServer.Http1;

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
    private readonly DateField _date;
    private readonly Boundary _boundary = new();
    private readonly JoinedFields _joined;

    public SessionReactorState(
        Reactor reactor,
        HostTable hosts,
        HttpServerLimits limits,
        AssetFiles? files = null,
        IExchangeObserver? observer = null,
        TimeProvider? clock = null)
    {
        _reactor = reactor;
        _date = new DateField(clock ?? TimeProvider.System);
        _files = files;
        Recorder = observer is null ? null : new ExchangeRecorder(observer);
        _hosts = hosts;
        _bindings = [.. hosts.Sites.Select(site => new SiteBinding(site, files))];
        Limits = limits;
        HeadLimits = limits.ToHeadLimits();
        _joined = new JoinedFields(HeadLimits);
        Head = new RequestHead(limits.FieldsMax);
        KeepAliveMs = (long)limits.KeepAlive.TotalMilliseconds;
    }

    public HttpServerLimits Limits { get; }

    /// <summary>Records exchanges until they are reported; null if there is no observer.</summary>
    public ExchangeRecorder? Recorder { get; }

    public long KeepAliveMs { get; }

    /// <summary>Whether a connection may carry requests for https resources; null if none may.</summary>
    public Func<Connection, bool>? CarriesHttps { private get; init; }

    public HeadLimits HeadLimits { get; }

    public RequestHead Head { get; }

    public PlanScratch Scratch { get; } = new();

    public long NowMs => _reactor.NowMs;

    public bool IsDraining => _reactor.IsDraining;

    public ReadOnlySpan<byte> DateLine => _date.LineAt(_reactor.NowMs);

    /// <summary>The Date as an HPACK field.</summary>
    public ReadOnlySpan<byte> DateBlock => _date.BlockAt(_reactor.NowMs);

    /// <summary>What the HTTP/2 sessions share in addition.</summary>
    public Http2ReactorState Http2 => field ??= new Http2ReactorState(Limits);

    /// <summary>The ranges of a plan as one multipart body.</summary>
    public MultipartRanges PartsOf(scoped in ResponsePlan plan, long size) => PlannedHead.PartsOf(plan, size, _boundary.Next());

    /// <summary>The site that a request is for.</summary>
    public SiteBinding BindingFor(RequestHead head, ReadOnlySpan<byte> bytes) => _bindings[_hosts.Find(head.Authority.In(bytes))];

    /// <summary>
    /// Whether a request came on a connection whose certificate does not cover its host: it is answered with 421 (RFC 9110, section 7.4).
    /// </summary>
    /// <param name="isCovered">Whether the certificate covers a host; null if the connection is for all hosts.</param>
    /// <param name="head">The request. A request without a host is for the connection's host.</param>
    /// <param name="bytes">What the head was parsed from.</param>
    public static bool IsMisdirected(Func<ReadOnlySpan<byte>, bool>? isCovered, RequestHead head, ReadOnlySpan<byte> bytes) =>
        isCovered is not null && HostTable.NameOf(head.Authority.In(bytes)) is { IsEmpty: false } host && !isCovered(host);

    /// <summary>
    /// Whether the scheme of a request does not allow its connection: 421 (RFC 9110, sections 7.4 and 15.5.20). An https resource is not
    /// served on an unsecured connection.
    /// </summary>
    public bool IsUnsecured(Connection connection, UriScheme scheme) =>
        scheme == UriScheme.Https && !(CarriesHttps?.Invoke(connection) ?? false);

    /// <summary>Plans the response to a parsed head.</summary>
    /// <param name="binding">The site, with its current snapshot.</param>
    /// <param name="head">The request.</param>
    /// <param name="bytes">What the head was parsed from.</param>
    /// <param name="authentication">The result, if the credentials were verified for this request.</param>
    /// <param name="mayWait">Whether the request may be planned again after something that takes long is prepared.</param>
    public ResponsePlan Plan(
        SiteBinding binding, RequestHead head, ReadOnlySpan<byte> bytes, AuthenticationResult authentication, bool mayWait)
    {
        _joined.Reset();
        var request = new PlanRequest
        {
            Method = KindOf(head.Method),
            Path = head.Target.Path.In(bytes),
            Query = QueryOf(head, bytes),
            Conditions = new ConditionFields
            {
                IfMatch = _joined.Of(head, bytes, FieldName.IfMatch),
                IfNoneMatch = _joined.Of(head, bytes, FieldName.IfNoneMatch),
                IfModifiedSince = _joined.Of(head, bytes, FieldName.IfModifiedSince),
                IfUnmodifiedSince = _joined.Of(head, bytes, FieldName.IfUnmodifiedSince),
                IfRange = _joined.Of(head, bytes, FieldName.IfRange),
                Range = _joined.Of(head, bytes, FieldName.Range),
            },
            Accept = _joined.Of(head, bytes, FieldName.Accept),
            AcceptEncoding = _joined.Of(head, bytes, FieldName.AcceptEncoding),
            Origin = _joined.Of(head, bytes, FieldName.Origin),
            AccessControlRequestMethod = _joined.Of(head, bytes, FieldName.AccessControlRequestMethod),
            AccessDecision = AccessDecisionOf(binding, head, bytes, authentication),
            MayWait = mayWait,
            UnixSeconds = _date.UnixSecondsAt(_reactor.NowMs),
        };
        return binding.Site.Planner.Decide(request, binding.Current, Scratch);
    }

    /// <summary>
    /// Verifies a request's credentials off the reactor: new credentials take tens of milliseconds. The plan that asked for it is no longer
    /// used.
    /// </summary>
    public Task<AuthenticationResult> VerifyAsync(SiteBinding binding, RequestHead head, ReadOnlySpan<byte> bytes)
    {
        _joined.Reset();
        return VerifyAsync(binding.Site.Access!, CredentialsOf(head, bytes).ToArray());
    }

    /// <summary>
    /// Lets the site check whether the files for a request have changed. It gets copies because the input may move meanwhile.
    /// </summary>
    public Task RevalidateAsync(SiteBinding binding, RequestHead head, ReadOnlySpan<byte> bytes)
    {
        _joined.Reset();
        return binding.Site.RevalidateAsync(
            head.Target.Path.In(bytes).ToArray(),
            QueryOf(head, bytes).ToArray(),
            _joined.Of(head, bytes, FieldName.Accept).ToArray());
    }

    /// <summary>Serves these sites from now on; requests that have begun keep their snapshots.</summary>
    public void ReplaceHosts(HostTable hosts)
    {
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

    public void Dispose()
    {
        foreach (SiteBinding binding in _bindings)
        {
            binding.Dispose();
        }
    }

    /// <summary>The query without its '?'; empty for none.</summary>
    private static ReadOnlySpan<byte> QueryOf(RequestHead head, ReadOnlySpan<byte> bytes)
    {
        ReadOnlySpan<byte> query = head.Target.Query.In(bytes);
        return query.IsEmpty ? query : query[1..];
    }

    private AccessDecision AccessDecisionOf(
        SiteBinding binding, RequestHead head, ReadOnlySpan<byte> bytes, AuthenticationResult authentication)
    {
        if (binding.Site.Access is not BasicAuthentication access)
        {
            return AccessDecision.Granted;
        }

        // The site may have been replaced meanwhile: another site decides again.
        return authentication.Verifier == access ? authentication.Decision : access.Decide(CredentialsOf(head, bytes));
    }

    private static async Task<AuthenticationResult> VerifyAsync(BasicAuthentication access, byte[] authorization) =>
        new(access, await access.VerifyAsync(authorization).ConfigureAwait(false));

    private ReadOnlySpan<byte> CredentialsOf(RequestHead head, ReadOnlySpan<byte> bytes) =>
        _joined.Of(head, bytes, FieldName.Authorization);

    private static RequestMethod KindOf(Method method) => method switch
    {
        Method.Get => RequestMethod.Get,
        Method.Head => RequestMethod.Head,
        Method.Options => RequestMethod.Options,
        Method.Unknown => RequestMethod.Unknown,
        _ => RequestMethod.Other,
    };
}

/// <summary>The result of verifying a request's credentials, and the verifier that gave it; null if they were not verified.</summary>
internal readonly record struct AuthenticationResult(BasicAuthentication? Verifier, AccessDecision Decision);
