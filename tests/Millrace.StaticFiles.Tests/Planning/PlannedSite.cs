using System.Text;
using Millrace.Http;
using Millrace.StaticFiles.Compression;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Rules;
using Millrace.StaticFiles.Snapshots;
using Millrace.StaticFiles.Tests.Kit;

namespace Millrace.StaticFiles.Tests.Planning;

/// <summary>A site whose planner is asked directly. What it plans is copied out of its scratch memory.</summary>
internal sealed class PlannedSite : IDisposable
{
    private readonly PlanScratch _scratch = new();
    private AssetCatalog? _catalog;

    public TempSite Files { get; } = new();

    /// <summary>Set before the first question. Without compression, so that only what is on disk is there.</summary>
    public SiteOptions Options { get; set; }

    /// <summary>What compresses files that are asked for; nothing unless it is set.</summary>
    public OnDemandCompressor? OnDemand { get; set; }

    public PlannedSite() => Options = Files.Options with { Compression = false };

    /// <summary>When it is asked.</summary>
    public long UnixSeconds { get; set; } = DateTimeOffset.UtcNow.AddSeconds(5).ToUnixTimeSeconds();

    public AssetCatalog Catalog => _catalog ??= AssetCatalog.Open(Options);

    public CatalogSnapshot Snapshot => Catalog.Current;

    public Asset Asset(string path) => Snapshot.Asset(path);

    public Planned Get(string target, params string[] fields) => Plan(Method.Get, target, AccessDecision.Granted, fields);

    public Planned Plan(Method method, string target, params string[] fields) => Plan(method, target, AccessDecision.Granted, fields);

    /// <param name="method">The method.</param>
    /// <param name="target">Path and query as they are sent, in Latin 1.</param>
    /// <param name="admission">What the credentials are worth.</param>
    /// <param name="fields">Lines as "Name: value".</param>
    public Planned Plan(Method method, string target, AccessDecision admission, string[] fields)
    {
        int question = target.IndexOf('?', StringComparison.Ordinal);
        var request = new PlanRequest
        {
            Method = method,
            Path = Encoding.Latin1.GetBytes(question < 0 ? target : target[..question]),
            Query = question < 0 ? default : Encoding.Latin1.GetBytes(target[(question + 1)..]),
            Conditions = new ConditionFields
            {
                IfMatch = Value("If-Match"),
                IfNoneMatch = Value("If-None-Match"),
                IfModifiedSince = Value("If-Modified-Since"),
                IfUnmodifiedSince = Value("If-Unmodified-Since"),
                IfRange = Value("If-Range"),
                Range = Value("Range"),
            },
            Accept = Value("Accept"),
            AcceptEncoding = Value("Accept-Encoding"),
            Origin = Value("Origin"),
            AccessControlRequestMethod = Value("Access-Control-Request-Method"),
            AccessDecision = admission,
            UnixSeconds = UnixSeconds,
        };
        var policy = new SitePolicy(Options, "Basic realm=\"r\""u8) { OnDemand = OnDemand };
        var planner = new ResponsePlanner(policy);
        ResponsePlan plan = planner.Decide(request, Snapshot, _scratch);
        if (plan.Preparation is { } preparation)
        {
            preparation.Made.GetAwaiter().GetResult();
            plan = planner.Decide(request with { Prepared = preparation }, Snapshot, _scratch);
        }

        return new Planned(
            plan.Status,
            plan.Body,
            plan.Asset,
            plan.Fields,
            plan.Document,
            plan.NeedsVerification,
            plan.Ranges.ToArray(),
            [.. _scratch.Fields.ToArray().Select(field => (Text(field.Name.Text()), Text(_scratch.ValueOf(field))))]);

        ReadOnlySpan<byte> Value(string name) =>
            Encoding.Latin1.GetBytes(fields.FirstOrDefault(line => line.StartsWith(name + ":", StringComparison.Ordinal))?[(name.Length + 1)..].Trim() ?? "");
    }

    public void Dispose()
    {
        _catalog?.Dispose();
        Files.Dispose();
    }

    private static string Text(ReadOnlySpan<byte> bytes) => Encoding.Latin1.GetString(bytes);
}

/// <summary>A plan, copied.</summary>
internal sealed record Planned(
    int Status,
    PlanBody Body,
    Asset? Asset,
    FieldSet Fields,
    GeneratedDocument? Document,
    bool NeedsVerification,
    ByteRange[] Ranges,
    (string Name, string Value)[] Added)
{
    public string? Field(string name) => Added.Where(field => field.Name == name).Select(field => field.Value).SingleOrDefault();
}
