using Millrace.Http;
using Millrace.StaticFiles.Catalog;
using Millrace.StaticFiles.Rules;

namespace Millrace.StaticFiles.Planning;

/// <summary>
/// Decides how a request is answered. Pure: the same request and snapshot give the same plan, and nothing is read or sent.
/// </summary>
internal sealed class Planner(SitePolicy policy)
{
    private static ReadOnlySpan<byte> AllowedMethods => "GET, HEAD, OPTIONS"u8;

    /// <param name="request">The request; framing errors are the caller's to refuse first.</param>
    /// <param name="snapshot">A snapshot the caller has leased.</param>
    /// <param name="scratch">Memory that the plan lives in.</param>
    public Plan Decide(scoped in PlanRequest request, CatalogSnapshot snapshot, PlanScratch scratch)
    {
        scratch.Reset();
        if (request.Method == RequestMethod.Unknown)
        {
            return new Answering(policy, snapshot, scratch, PathAsSent(request.Path)).Error(request, PlanStatus.NotImplemented);
        }

        PathResult decoded = TargetPath.Decode(request.Path, scratch.PathRoom(request.Path.Length), out ReadOnlySpan<byte> path);
        path = decoded == PathResult.Ok ? path : PathAsSent(request.Path);
        var answering = new Answering(policy, snapshot, scratch, path);
        if (decoded is PathResult.BadEscape or PathResult.NulByte or PathResult.OutsideRoot)
        {
            return answering.Error(request, PlanStatus.BadRequest);
        }

        CorsPolicy? cors = snapshot.Rules.Cors;
        if (cors is { DependsOnOrigin: true } && cors.TryAllow(request.Origin, out ReadOnlySpan<byte> origin))
        {
            scratch.Add(PlanFieldName.AccessControlAllowOrigin, origin);
        }

        // Before the path is looked up: no resource of a static site takes another method, whether it exists or not.
        if (request.Method is RequestMethod.Options or RequestMethod.Other)
        {
            scratch.Add(PlanFieldName.Allow, AllowedMethods);
            return request.Method == RequestMethod.Other ? answering.Error(request, PlanStatus.MethodNotAllowed)
                : Plan.Bare(PlanStatus.NoContent, PlanBody.None, IsPreflight(request) && cors is not null
                    ? cors.Preflight
                    : snapshot.Rules.FieldsForError(path));
        }

        if (request.Admission != Admission.Granted)
        {
            return Refuse(request, answering, scratch);
        }

        return decoded != PathResult.Ok ? answering.Error(request, PlanStatus.NotFound)
            : request.ErrorStatus != 0 ? answering.PageOfError(request)
            : answering.Answer(request);
    }

    /// <summary>What is refused for its path is still below "/*": an error's page needs the fields that guard all pages.</summary>
    private static ReadOnlySpan<byte> PathAsSent(ReadOnlySpan<byte> path) => path is [(byte)'/', ..] ? path : "/"u8;

    /// <summary>A browser asking whether a script may ask (Fetch standard, section 3.3.2). It comes without credentials.</summary>
    private static bool IsPreflight(scoped in PlanRequest request) =>
        !request.Origin.IsEmpty && !request.AccessControlRequestMethod.IsEmpty;

    private Plan Refuse(scoped in PlanRequest request, scoped in Answering answering, PlanScratch scratch)
    {
        switch (request.Admission)
        {
            case Admission.Unverified:
                return Plan.AwaitVerification();
            case Admission.Overloaded:
                scratch.Add(PlanFieldName.RetryAfter, "1"u8);
                return answering.Error(request, PlanStatus.ServiceUnavailable);
            default:
                scratch.Add(PlanFieldName.WwwAuthenticate, policy.Challenge);
                return answering.Error(request, PlanStatus.Unauthorized);
        }
    }
}
