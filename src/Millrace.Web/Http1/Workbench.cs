using Millrace.Engine;
using Millrace.Http;
using Millrace.StaticFiles.Access;
using Millrace.StaticFiles.Catalog;
using Millrace.StaticFiles.Planning;
using Millrace.Web.Exchanges;
using Millrace.Web.Heads;
using Millrace.Web.Http2;

namespace Millrace.Web.Http1;

/// <summary>
/// What the sessions of one reactor share, because only one of them works at a time: the head being parsed, scratch memory,
/// the Date, the snapshots adopted. An idle session holds none of it. Reactor thread only.
/// </summary>
internal sealed class Workbench : IDisposable
{
    private readonly Reactor _reactor;
    private readonly AssetFiles? _files;
    private HostTable _hosts;
    private SitePost[] _posts;
    private readonly DateField _date;
    private readonly Boundary _boundary = new();
    private readonly JoinedFields _joined;

    public Workbench(
        Reactor reactor,
        HostTable hosts,
        WebLimits limits,
        AssetFiles? files = null,
        IExchangeObserver? observer = null,
        TimeProvider? clock = null)
    {
        _reactor = reactor;
        _date = new DateField(clock ?? TimeProvider.System);
        _files = files;
        Ledger = observer is null ? null : new ExchangeLedger(observer);
        _hosts = hosts;
        _posts = [.. hosts.Sites.Select(site => new SitePost(site, files))];
        Limits = limits;
        HeadLimits = limits.ToHeadLimits();
        _joined = new JoinedFields(HeadLimits);
        Head = new RequestHead(limits.FieldsMax);
        KeepAliveMs = (long)limits.KeepAlive.TotalMilliseconds;
    }

    public WebLimits Limits { get; }

    /// <summary>Where exchanges are kept until they are told; null where nobody observes.</summary>
    public ExchangeLedger? Ledger { get; }

    public long KeepAliveMs { get; }

    public HeadLimits HeadLimits { get; }

    public RequestHead Head { get; }

    public PlanScratch Scratch { get; } = new();

    public long NowMs => _reactor.NowMs;

    public bool IsDraining => _reactor.IsDraining;

    /// <summary>Whether what is new is to be refused, so that what has begun can be finished.</summary>
    public bool IsOverloaded => _reactor.IsOverloaded;

    public ReadOnlySpan<byte> DateLine => _date.LineAt(_reactor.NowMs);

    /// <summary>Another one for another Date.</summary>
    public long DateStamp => _date.StampAt(_reactor.NowMs);

    /// <summary>Answers that are asked for again and again.</summary>
    public AnswerImages Images { get; } = new();

    /// <summary>The same for a field block of HTTP/2.</summary>
    public ReadOnlySpan<byte> DateBlock => _date.BlockAt(_reactor.NowMs);

    /// <summary>What sessions of HTTP/2 share besides.</summary>
    public Http2Bench Http2 => field ??= new Http2Bench(Limits);

    /// <summary>The ranges of a plan as one body.</summary>
    public MultipartRanges PartsOf(scoped in Plan plan, long size)
    {
        ReadOnlySpan<byte> type = plan.Fields.ContentType is { } ruled
            ? ruled.ValueBytes
            : plan.Asset!.ContentType.Bytes;
        return new MultipartRanges(plan.Ranges, size, type, _boundary.Next());
    }

    /// <summary>The site that a request is for.</summary>
    public SitePost PostFor(RequestHead head, ReadOnlySpan<byte> bytes) => _posts[_hosts.Find(head.Authority.In(bytes))];

    /// <summary>Plans the answer to a parsed head.</summary>
    /// <param name="post">The site, with the snapshot it has adopted.</param>
    /// <param name="head">The request.</param>
    /// <param name="bytes">What the head was parsed from.</param>
    /// <param name="verdict">What became of the credentials, where they were verified for this request.</param>
    /// <param name="mayWait">Whether it may be planned once more, when what takes long is prepared.</param>
    public Plan Plan(SitePost post, RequestHead head, ReadOnlySpan<byte> bytes, Verdict verdict, bool mayWait)
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
            Admission = AdmissionOf(post, head, bytes, verdict),
            MayWait = mayWait,
        };
        return post.Site.Planner.Decide(request, post.Adopted.Snapshot, Scratch);
    }

    /// <summary>
    /// Has a request's credentials verified, which takes tens of milliseconds where they are new: others are not kept waiting. The plan
    /// that asked for it is of no use any more.
    /// </summary>
    public Task<Verdict> VerifyAsync(SitePost post, RequestHead head, ReadOnlySpan<byte> bytes)
    {
        _joined.Reset();
        return VerifyAsync(post.Site.Access!, CredentialsOf(head, bytes).ToArray());
    }

    /// <summary>
    /// Has the site look whether what answers a request is still as it knows it. With copies: the input may move meanwhile.
    /// </summary>
    public Task RevalidateAsync(SitePost post, RequestHead head, ReadOnlySpan<byte> bytes)
    {
        _joined.Reset();
        return post.Site.RevalidateAsync(
            head.Target.Path.In(bytes).ToArray(),
            QueryOf(head, bytes).ToArray(),
            _joined.Of(head, bytes, FieldName.Accept).ToArray());
    }

    /// <summary>Requests are for these sites from now on; those that have begun end with the snapshots they have.</summary>
    public void Exchange(HostTable hosts)
    {
        SitePost[] before = _posts;
        _posts = [.. hosts.Sites.Select(site => before.FirstOrDefault(post => post.Site == site) ?? new SitePost(site, _files))];
        _hosts = hosts;
        foreach (SitePost left in before.Except(_posts))
        {
            left.Dispose();
        }
    }

    /// <summary>Moves every site on to its latest snapshot.</summary>
    public void AdoptLatest()
    {
        foreach (SitePost post in _posts)
        {
            post.AdoptLatest();
        }
    }

    public void Dispose()
    {
        Images.Dispose();
        foreach (SitePost post in _posts)
        {
            post.Dispose();
        }
    }

    /// <summary>The query without its '?'; empty for none.</summary>
    private static ReadOnlySpan<byte> QueryOf(RequestHead head, ReadOnlySpan<byte> bytes)
    {
        ReadOnlySpan<byte> query = head.Target.Query.In(bytes);
        return query.IsEmpty ? query : query[1..];
    }

    private Admission AdmissionOf(SitePost post, RequestHead head, ReadOnlySpan<byte> bytes, Verdict verdict)
    {
        if (post.Site.Access is not BasicAuthentication access)
        {
            return Admission.Granted;
        }

        // The site may have been exchanged meanwhile: another one judges anew.
        return verdict.Judge == access ? verdict.Admission : Admissions.Of(access.Decide(CredentialsOf(head, bytes)));
    }

    private static async Task<Verdict> VerifyAsync(BasicAuthentication access, byte[] authorization) =>
        new(access, Admissions.Of(await access.VerifyAsync(authorization).ConfigureAwait(false)));

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
