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
    /// <param name="isLast">Whether the rest of the pipeline has had the request, and not answered it.</param>
    /// <param name="mayWait">Whether it may be planned once more, when what takes long is prepared.</param>
    private Task AnswerAsync(HttpContext context, Admission verdict, bool isLast = false, bool mayWait = true)
    {
        PlanningBench bench = PlanningBench.OfThisThread;
        int error = isLast ? 0 : ErrorOf(context.Response);
        if (!bench.TryRead(context.Request, out PlanRequest request))
        {
            return error != 0 ? next(context) : PlainAnswer.WriteAsync(context, PlanStatus.BadRequest);
        }

        if (error != 0)
        {
            // That of a POST has a page too: what was asked for is decided, and this is about the body of the answer.
            bool isHead = request.Method == RequestMethod.Head;
            request = request with { ErrorStatus = error, Method = isHead ? RequestMethod.Head : RequestMethod.Get };
        }

        ReadOnlySpan<byte> authorization = default;
        if (site.Access is BasicAuthentication access)
        {
            authorization = bench.Text.Add(context.Request.Headers.Authorization);
            request = request with { Admission = verdict == Admission.Unverified ? Admissions.Of(access.Decide(authorization)) : verdict };
        }

        request = request with { MayWait = mayWait };
        BodySend send = default;
        Outcome outcome;
        SnapshotLease lease = site.Lease();
        try
        {
            outcome = Begin(context, bench, request, lease.Snapshot, isLast, out send, out Task? preparation);
            switch (outcome)
            {
                case Outcome.Begun when send.IsPending:
                    return send.RunAsync(context, lease);
                case Outcome.Begun:
                    return Task.CompletedTask;
                case Outcome.NeedsVerification:
                    return VerifyAndAnswerAsync(context, authorization.ToArray(), isLast);
                case Outcome.NeedsPreparation:
                    return PrepareAndAnswerAsync(context, verdict, isLast, preparation!);
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

        // Without the lease: what comes behind takes its time.
        return isLast ? Task.CompletedTask
            : outcome == Outcome.PutLast ? AnswerLastAsync(context, verdict)
            : next(context);
    }

    /// <summary>
    /// The error that a middleware has found, and has the pipeline run for once more: UseExceptionHandler and
    /// UseStatusCodePagesWithReExecute set its status and the path of its page. UseStaticFiles leaves the status alone too.
    /// </summary>
    private static int ErrorOf(HttpResponse response) => response.StatusCode >= StatusCodes.Status400BadRequest ? response.StatusCode : 0;

    /// <summary>
    /// Endpoints of a routing that comes behind the site, other sites, whatever the application has there: a page for what is nowhere
    /// takes nothing from them. Planned anew then, as the scratch was another's meanwhile, for the path that was asked for.
    /// </summary>
    private async Task AnswerLastAsync(HttpContext context, Admission verdict)
    {
        HttpRequest request = context.Request;
        (PathString pathBase, PathString path, QueryString query) = (request.PathBase, request.Path, request.QueryString);
        await next(context);
        if (Unanswered.Is(context))
        {
            Unanswered.Take(context);
            (request.PathBase, request.Path, request.QueryString) = (pathBase, path, query);
            await AnswerAsync(context, verdict, isLast: true);
        }
    }

    private Outcome Begin(
        HttpContext context,
        PlanningBench bench,
        scoped in PlanRequest request,
        CatalogSnapshot snapshot,
        bool isLast,
        out BodySend send,
        out Task? preparation)
    {
        send = default;
        preparation = null;
        if (Precedence(request, snapshot, bench.Scratch, isLast) is Outcome others)
        {
            return others;
        }

        Plan plan = site.Planner.Decide(request, snapshot, bench.Scratch);
        preparation = plan.Preparation;
        return plan.Preparation is not null ? Outcome.NeedsPreparation
            : plan.NeedsVerification ? Outcome.NeedsVerification
            : IsUnknown(plan, request) ? Outcome.PassedOn
            : !isLast && IsForNothing(plan, request) ? Outcome.PutLast
            : new PlanAnswer(context, bench, request.ErrorStatus != 0).Begin(plan, snapshot, out send);
    }

    /// <summary>
    /// Whether others come before the site for a method that no file takes, or that asks about one: where GET would find no file. A site
    /// with passwords says the same about all paths.
    /// </summary>
    private Outcome? Precedence(scoped in PlanRequest request, CatalogSnapshot snapshot, PlanScratch scratch, bool isLast)
    {
        if (request.Method is RequestMethod.Get or RequestMethod.Head || site.Access is not null)
        {
            return null;
        }

        Plan get = site.Planner.Decide(request with { Method = RequestMethod.Get }, snapshot, scratch);
        return get.Status == PlanStatus.NotFound ? Outcome.PassedOn
            : get.IsFallback && !isLast ? Outcome.PutLast
            : null;
    }

    /// <summary>Whether the site has nothing to say about the path, not even a page for what is missing.</summary>
    private static bool IsUnknown(scoped in Plan plan, scoped in PlanRequest request) => request.ErrorStatus == 0
        ? plan.Status == PlanStatus.NotFound && plan.Body == PlanBody.StatusText
        : plan.Status != request.ErrorStatus || plan.Body != PlanBody.Asset;

    /// <summary>Whether the plan is for a path where the site has nothing, but for a page that says so or stands in.</summary>
    private static bool IsForNothing(scoped in Plan plan, scoped in PlanRequest request) =>
        request.ErrorStatus == 0 && (plan.IsFallback || plan.Status == PlanStatus.NotFound);

    private async Task RevalidateAndAnswerAsync(HttpContext context)
    {
        await RevalidateAsync(context);
        await AnswerAsync(context, Admission.Unverified);
    }

    private Task RevalidateAsync(HttpContext context) =>
        PlanningBench.OfThisThread.TryRead(context.Request, out PlanRequest request) ? site.RevalidateAsync(request) : Task.CompletedTask;

    /// <summary>New credentials take tens of milliseconds to verify, on other threads; then the request is planned again.</summary>
    private async Task VerifyAndAnswerAsync(HttpContext context, byte[] authorization, bool isLast) =>
        await AnswerAsync(context, Admissions.Of(await site.Access!.VerifyAsync(authorization)), isLast);

    private async Task PrepareAndAnswerAsync(HttpContext context, Admission verdict, bool isLast, Task preparation)
    {
        await preparation;
        await AnswerAsync(context, verdict, isLast, mayWait: false);

        // What was made may be held by nothing else until it is part of the answer.
        GC.KeepAlive(preparation);
    }
}
