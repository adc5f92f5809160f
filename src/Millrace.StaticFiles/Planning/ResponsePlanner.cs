using System.Text;
using Millrace.Http;
using Millrace.StaticFiles.Compression;
using Millrace.StaticFiles.Rules;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Planning;

/// <summary>
/// Decides how a request is answered. The same request and snapshot give the same plan; nothing is read from disk or sent.
/// </summary>
internal sealed class ResponsePlanner(SitePolicy policy)
{
    private static ReadOnlySpan<byte> AllowedMethods => "GET, HEAD, OPTIONS"u8;

    public ResponsePlan Decide(scoped in PlanRequest request, CatalogSnapshot snapshot, PlanScratch scratch)
    {
        scratch.Reset();
        if (request.Method == Method.Unknown)
        {
            return new RouteResolver(policy, snapshot, scratch, PathAsSent(request.Path)).Error(request, PlanStatus.NotImplemented);
        }

        Span<byte> room = scratch.PathRoom(request.Path.Length);
        PathResult decoded = TargetPath.Decode(request.Path, room, out ReadOnlySpan<byte> path);
        int slashes = 0;
        if (decoded == PathResult.EmptySegment && policy.Options.MergeSlashes)
        {
            slashes = path.Count((byte)'/');
            path = room[..TargetPath.MergeSlashes(path, room)];
            decoded = PathResult.Ok;
        }

        path = decoded == PathResult.Ok ? path : PathAsSent(request.Path);
        var resolver = new RouteResolver(policy, snapshot, scratch, path, slashes);
        if (decoded is PathResult.BadEscape or PathResult.NulByte or PathResult.OutsideRoot)
        {
            return resolver.Error(request, PlanStatus.BadRequest);
        }

        CorsPolicy? cors = snapshot.Rules.Cors;
        if (cors is { DependsOnOrigin: true } && cors.TryAllow(request.Origin, out ReadOnlySpan<byte> origin))
        {
            scratch.Add(PlanFieldName.AccessControlAllowOrigin, origin);
        }

        // Before the lookup: no resource of a static site supports other methods, whether it exists or not.
        if (request.Method is not (Method.Get or Method.Head))
        {
            scratch.Add(PlanFieldName.Allow, AllowedMethods);
            return request.Method != Method.Options ? resolver.Error(request, PlanStatus.MethodNotAllowed)
                : new ResponsePlan(PlanStatus.NoContent, PlanBody.None, IsPreflight(request) && cors is not null
                    ? cors.Preflight
                    : snapshot.Rules.FieldsForError(path));
        }

        if (request.AccessDecision != AccessDecision.Granted)
        {
            return Refuse(request, resolver, scratch);
        }

        return decoded != PathResult.Ok ? resolver.Error(request, PlanStatus.NotFound)
            : request.ErrorStatus != 0 ? resolver.PageOfError(request)
            : resolver.Resolve(request);
    }

    /// <summary>The path for the fields of a refused request: the fields of "/*" apply to its error page, too.</summary>
    private static ReadOnlySpan<byte> PathAsSent(ReadOnlySpan<byte> path) => path is [(byte)'/', ..] ? path : "/"u8;

    /// <summary>
    /// Whether a browser asks for permission of a script's request (CORS preflight, Fetch standard, section 3.3.2). It has no credentials.
    /// </summary>
    private static bool IsPreflight(scoped in PlanRequest request) =>
        !request.Origin.IsEmpty && !request.AccessControlRequestMethod.IsEmpty;

    private ResponsePlan Refuse(scoped in PlanRequest request, scoped in RouteResolver resolver, PlanScratch scratch)
    {
        switch (request.AccessDecision)
        {
            case AccessDecision.Unverified:
                return ResponsePlan.AwaitVerification();
            case AccessDecision.Overloaded:
                scratch.Add(PlanFieldName.RetryAfter, "1"u8);
                return resolver.Error(request, PlanStatus.ServiceUnavailable);
            default:
                scratch.Add(PlanFieldName.WwwAuthenticate, policy.Challenge);
                return resolver.Error(request, PlanStatus.Unauthorized);
        }
    }
}

/// <summary>The options that guide planning, with their paths as bytes.</summary>
internal sealed class SitePolicy
{
    private readonly byte[]?[] _errorPages = new byte[600][];
    private readonly byte[] _challenge;

    public SitePolicy(SiteOptions options, ReadOnlySpan<byte> challenge)
    {
        Options = options;
        _challenge = challenge.ToArray();
        Fallback = options.Fallback is string fallback ? Encoding.UTF8.GetBytes(fallback) : null;
        foreach ((int status, string path) in options.ErrorPages)
        {
            _errorPages[status] = Encoding.UTF8.GetBytes(path);
        }
    }

    public SiteOptions Options { get; }

    public byte[]? Fallback { get; }

    /// <summary>Compresses what is asked for and not compressed yet; null for nothing.</summary>
    public OnDemandCompressor? OnDemand { get; init; }

    /// <summary>The WWW-Authenticate field of a 401 (RFC 7617, sections 2 and 2.1).</summary>
    public ReadOnlySpan<byte> Challenge => _challenge;

    /// <summary>The path of the page for an error; empty for none.</summary>
    public ReadOnlySpan<byte> ErrorPage(int status) => _errorPages[status];
}
