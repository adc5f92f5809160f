using Millrace.Engine;
using Millrace.Http;
using Millrace.StaticFiles.Catalog;
using Millrace.StaticFiles.Planning;

namespace Millrace.Web.Http1;

/// <summary>
/// What the sessions of one reactor share, because only one of them works at a time: the head being parsed, scratch memory,
/// the Date, the snapshot adopted. An idle session holds none of it. Reactor thread only.
/// </summary>
internal sealed class Workbench : IDisposable
{
    private readonly Reactor _reactor;
    private readonly SnapshotAdopter _adopter;
    private readonly DateField _date = new();
    private readonly byte[] _path = new byte[HeadLimits.Default.RequestLineBytesMax];
    private byte[] _location = new byte[1024];

    public Workbench(Reactor reactor, AssetCatalog catalog, WebLimits limits)
    {
        _reactor = reactor;
        _adopter = new SnapshotAdopter(catalog);
        Limits = limits;
        KeepAliveMs = (long)limits.KeepAlive.TotalMilliseconds;
    }

    public WebLimits Limits { get; }

    public long KeepAliveMs { get; }

    public RequestHead Head { get; } = new();

    public long NowMs => _reactor.NowMs;

    public bool IsDraining => _reactor.IsDraining;

    public ReadOnlySpan<byte> DateLine => _date.LineAt(_reactor.NowMs);

    /// <summary>The snapshot that a request planned now is answered from: the latest.</summary>
    public Adoption AdoptLatest()
    {
        _adopter.AdoptLatest();
        return _adopter.Current;
    }

    /// <summary>Plans the answer to a parsed head. A malformed path has a status instead of a plan.</summary>
    public Plan Plan(RequestHead head, ReadOnlySpan<byte> bytes, CatalogSnapshot snapshot, out int status)
    {
        PathResult decoded = TargetPath.Decode(head.Target.Path.In(bytes), _path, out ReadOnlySpan<byte> path);
        if (decoded is PathResult.BadEscape or PathResult.NulByte or PathResult.OutsideRoot)
        {
            status = 400;
            return default;
        }

        if (decoded is PathResult.SlashInSegment or PathResult.EmptySegment)
        {
            // No such path: any that is as surely missing plans the same, with its method's rules.
            path = default;
        }

        ReadOnlySpan<byte> query = head.Target.Query.In(bytes);
        Plan plan = Planner.Plan(KindOf(head.Method), path, query.IsEmpty ? query : query[1..], snapshot);
        status = (int)plan.Status;
        return plan;
    }

    /// <summary>The one field that a plan without an asset asks for.</summary>
    public void FieldOf(scoped in Plan plan, out ReadOnlySpan<byte> name, out ReadOnlySpan<byte> value)
    {
        if (!plan.Location.IsEmpty)
        {
            if (_location.Length < plan.Location.BytesMax)
            {
                _location = new byte[plan.Location.BytesMax];
            }

            name = "Location"u8;
            value = _location.AsSpan(0, plan.Location.Write(_location));
            return;
        }

        name = plan.Allow.IsEmpty ? default : "Allow"u8;
        value = plan.Allow;
    }

    public void Dispose() => _adopter.Dispose();

    private static RequestMethod KindOf(Method method) => method switch
    {
        Method.Get => RequestMethod.Get,
        Method.Head => RequestMethod.Head,
        Method.Options => RequestMethod.Options,
        Method.Unknown => RequestMethod.Unknown,
        _ => RequestMethod.Other,
    };
}
