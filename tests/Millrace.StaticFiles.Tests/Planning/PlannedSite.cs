using System.Net;
using System.Text;
using Millrace.Http;
using Millrace.StaticFiles.Access;
using Millrace.StaticFiles.Compression;
using Millrace.StaticFiles.Dictionaries;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Rules;
using Millrace.StaticFiles.Snapshots;
using Millrace.StaticFiles.Tests.Access;
using Millrace.StaticFiles.Tests.Kit;

namespace Millrace.StaticFiles.Tests.Planning;

/// <summary>A site whose planner is asked directly. What it plans is copied out of its scratch memory.</summary>
internal sealed class PlannedSite : IDisposable
{
    private readonly PlanScratch _scratch = new();
    private AssetCatalog? _catalog;
    private SiteAccess? _access;
    private readonly List<string> _passwordFiles = [];

    public TempSite Files { get; } = new();

    /// <summary>Set before the first question. Without compression, so that only what is on disk is there.</summary>
    public SiteOptions Options { get; set; }

    /// <summary>What compresses files that are asked for; nothing unless it is set.</summary>
    public OnDemandCompressor? OnDemand { get; set; }

    public PlannedSite() => Options = Files.Options with { Compression = false };

    /// <summary>When it is asked.</summary>
    public long UnixSeconds { get; set; } = DateTimeOffset.UtcNow.AddSeconds(5).ToUnixTimeSeconds();

    public AssetCatalog Catalog => _catalog ??= TempSite.Open(Options);

    public CatalogSnapshot Snapshot => Catalog.Current;

    public Asset Asset(string path) => Snapshot.Asset(path);

    /// <summary>The address of the clients that ask.</summary>
    public IPAddress? Client { get; set; }

    public bool IsHttps { get; set; }

    /// <summary>The dictionary of pages; null for none.</summary>
    public PageDictionaries? Pages { get; set; }

    /// <summary>The result of the verification that requests have waited for.</summary>
    public AuthenticationResult Verified { get; set; }

    /// <summary>The rules whose services let requests pass.</summary>
    public ForwardAuthRule[] Authorized { get; set; } = [];

    public SiteAccess Access => _access ??= SiteAccess.Open(Options);

    public Planned Get(string target, params string[] fields) => Plan(Method.Get, target, fields);

    /// <param name="method">The method.</param>
    /// <param name="target">Path and query as they are sent, in Latin 1.</param>
    /// <param name="fields">Lines as "Name: value".</param>
    public Planned Plan(Method method, string target, params string[] fields)
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
            Dictionary = new DictionaryFields
            {
                IsHttps = IsHttps,
                Available = Value("Available-Dictionary"),
                SecFetchMode = Value("Sec-Fetch-Mode"),
                SecFetchSite = Value("Sec-Fetch-Site"),
            },
            Client = Client,
            Authorization = Value("Authorization"),
            Verified = Verified,
            Authorized = Authorized,
            UnixSeconds = UnixSeconds,
        };
        var policy = new SitePolicy(Options) { Access = Access, OnDemand = OnDemand, Pages = Pages };
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
            plan.Verifier,
            plan.ForwardAuth,
            plan.Ranges.ToArray(),
            plan.Proxy,
            Text(plan.ProxyTarget),
            [.. _scratch.Fields.ToArray().Select(field => (Text(field.Name.Text()), Text(_scratch.ValueOf(field))))]);

        ReadOnlySpan<byte> Value(string name) =>
            Encoding.Latin1.GetBytes(fields.FirstOrDefault(line => line.StartsWith(name + ":", StringComparison.Ordinal))?[(name.Length + 1)..].Trim() ?? "");
    }

    /// <summary>A password file outside of the root with one user, whose password is the name.</summary>
    public string Users(string name)
    {
        string file = Files.Root + "." + name;
        File.WriteAllText(file, $"{name}:{TestHash.Of(name)}\n");
        _passwordFiles.Add(file);
        return file;
    }

    /// <summary>The field line with a user's credentials.</summary>
    public static string CredentialsOf(string name) =>
        $"Authorization: Basic {Convert.ToBase64String(Encoding.UTF8.GetBytes($"{name}:{name}"))}";

    public void Dispose()
    {
        _catalog?.Dispose();
        _access?.Dispose();
        _passwordFiles.ForEach(File.Delete);
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
    BasicAuthentication? Verifier,
    ForwardAuthRule? ForwardAuth,
    ByteRange[] Ranges,
    ProxyRule? Proxy,
    string ProxyTarget,
    (string Name, string Value)[] Added)
{
    public string? Field(string name) => Added.Where(field => field.Name == name).Select(field => field.Value).SingleOrDefault();
}
