using Microsoft.AspNetCore.Http;
using Millrace.AspNetCore.StaticFiles.Bodies;
using Millrace.StaticFiles.Access;
using Millrace.StaticFiles.Catalog;
using Millrace.StaticFiles.Planning;

namespace Millrace.AspNetCore.StaticFiles;

/// <summary>
/// Answers requests from a site: has the <see cref="Planner"/> decide, on the thread that brought the request and in its scratch memory,
/// and executes the plan. What is in memory takes no await.
/// </summary>
internal sealed class StaticFilesMiddleware(HostedSite site, RequestDelegate next)
{
    public Task InvokeAsync(HttpContext context)
    {
        // As with UseStaticFiles: routing that ran before has made its choice, and files do not take it back. CONNECT asks for a tunnel,
        // as WebSockets over HTTP/2 do.
        if (context.GetEndpoint()?.RequestDelegate is not null || HttpMethods.IsConnect(context.Request.Method))
        {
            return next(context);
        }

        return site.Revalidates ? RevalidateAndAnswerAsync(context) : AnswerAsync(context, Admission.Unverified);
    }

    /// <param name="context">The request.</param>
    /// <param name="verdict">What became of the credentials, where they were verified for this request.</param>
    private Task AnswerAsync(HttpContext context, Admission verdict)
    {
        PlanningBench bench = PlanningBench.OfThisThread;
        if (!bench.TryRead(context.Request, out PlanRequest request))
        {
            return PlainAnswer.WriteAsync(context, PlanStatus.BadRequest);
        }

        ReadOnlySpan<byte> authorization = default;
        if (site.Access is BasicAuthentication access)
        {
            authorization = bench.Text.Add(context.Request.Headers.Authorization);
            request = request with { Admission = verdict == Admission.Unverified ? Admissions.Of(access.Decide(authorization)) : verdict };
        }

        BodySend send = default;
        SnapshotLease lease = site.Lease();
        try
        {
            switch (Begin(context, bench, request, lease.Snapshot, out send))
            {
                case Outcome.Begun when send.IsPending:
                    return send.RunAsync(context, lease);
                case Outcome.Begun:
                    return Task.CompletedTask;
                case Outcome.NeedsVerification:
                    return VerifyAndAnswerAsync(context, authorization.ToArray());
                case Outcome.Exhausted:
                    return PlainAnswer.WriteAsync(context, PlanStatus.ServiceUnavailable);
            }
        }
        finally
        {
            if (!send.IsPending)
            {
                lease.Release();
            }
        }

        return next(context);
    }

    private Outcome Begin(
        HttpContext context, PlanningBench bench, scoped in PlanRequest request, CatalogSnapshot snapshot, out BodySend send)
    {
        send = default;
        if (IsOthers(request, snapshot, bench.Scratch))
        {
            return Outcome.PassedOn;
        }

        Plan plan = site.Planner.Decide(request, snapshot, bench.Scratch);
        return plan.NeedsVerification ? Outcome.NeedsVerification
            : IsUnknown(plan) ? Outcome.PassedOn
            : new PlanAnswer(context, bench).Begin(plan, snapshot, out send);
    }

    /// <summary>
    /// Whether a method that no file takes, or that asks about one, is for a path that GET would not find. A site with passwords says the
    /// same about all paths.
    /// </summary>
    private bool IsOthers(scoped in PlanRequest request, CatalogSnapshot snapshot, PlanScratch scratch)
    {
        if (request.Method is RequestMethod.Get or RequestMethod.Head || site.Access is not null)
        {
            return false;
        }

        PlanRequest get = request with { Method = RequestMethod.Get };
        return site.Planner.Decide(get, snapshot, scratch).Status == PlanStatus.NotFound;
    }

    /// <summary>Whether the site has nothing to say about the path, not even a page for what is missing.</summary>
    private static bool IsUnknown(scoped in Plan plan) => plan.Status == PlanStatus.NotFound && plan.Body == PlanBody.StatusText;

    private async Task RevalidateAndAnswerAsync(HttpContext context)
    {
        await RevalidateAsync(context);
        await AnswerAsync(context, Admission.Unverified);
    }

    private Task RevalidateAsync(HttpContext context) =>
        PlanningBench.OfThisThread.TryRead(context.Request, out PlanRequest request) ? site.RevalidateAsync(request) : Task.CompletedTask;

    /// <summary>New credentials take tens of milliseconds to verify, on other threads; then the request is planned again.</summary>
    private async Task VerifyAndAnswerAsync(HttpContext context, byte[] authorization) =>
        await AnswerAsync(context, Admissions.Of(await site.Access!.VerifyAsync(authorization)));
}
