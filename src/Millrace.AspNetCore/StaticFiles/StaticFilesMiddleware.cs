using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Millrace.AspNetCore.StaticFiles.Bodies;
using Millrace.Http;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Access;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.AspNetCore.StaticFiles;

/// <summary>
/// Serves requests from a site: the <see cref="ResponsePlanner"/> decides on the request's thread, in that thread's scratch memory, and
/// this executes the plan. Files in memory need no await.
/// </summary>
internal sealed class StaticFilesMiddleware(Site site, RequestDelegate next)
{
    public Task InvokeAsync(HttpContext context)
    {
        // As with UseStaticFiles, an endpoint that routing has already chosen takes precedence. CONNECT requests a tunnel, as WebSockets
        // over HTTP/2 do.
        if (context.GetEndpoint()?.RequestDelegate is not null || HttpMethods.IsConnect(context.Request.Method))
        {
            return next(context);
        }

        return site.Revalidates ? RevalidateAndRespondAsync(context) : RespondAsync(context, default);
    }

    /// <param name="context">The request.</param>
    /// <param name="verified">The result of verifying the credentials, if they were verified for this request.</param>
    /// <param name="isLast">Whether the remaining pipeline has had the request and not responded.</param>
    /// <param name="prepared">The listing that was made for this request.</param>
    private Task RespondAsync(HttpContext context, AuthenticationResult verified, bool isLast = false, ListingPreparation? prepared = null)
    {
        PlanThreadState threadState = PlanThreadState.OfThisThread;
        int error = isLast ? 0 : ErrorOf(context.Response);
        if (!threadState.TryRead(context.Request, out PlanRequest request))
        {
            return error != 0 ? next(context) : ErrorResponse.WriteAsync(context, PlanStatus.BadRequest);
        }

        if (error != 0)
        {
            // A failed POST has a page too: the request is decided, and the plan is only for the body of the response.
            bool isHead = request.Method == Method.Head;
            request = request with { ErrorStatus = error, Method = isHead ? Method.Head : Method.Get };
        }

        request = request with
        {
            Client = context.Connection.RemoteIpAddress,
            Authorization = site.Access.HasPasswords ? threadState.Text.Add(context.Request.Headers.Authorization) : default,
            Verified = verified,
            Prepared = prepared,
            Dictionary = site.UsesDictionaries ? threadState.ReadDictionary(context.Request) : default,
        };
        BodySender send = default;
        SiteOutcome outcome;
        SnapshotLease lease = site.Catalog.AcquireForRequest();
        try
        {
            outcome = Begin(context, threadState, request, lease.Snapshot, isLast, out send, out PlanWait wait);
            switch (outcome)
            {
                case SiteOutcome.Begun when send.IsPending:
                    return send.RunAsync(context, lease);
                case SiteOutcome.Begun:
                    return Task.CompletedTask;
                case SiteOutcome.NeedsVerification:
                    return VerifyAndRespondAsync(context, wait.Verifier!, request.Authorization.ToArray(), isLast);
                case SiteOutcome.NeedsPreparation:
                    return PrepareAndRespondAsync(context, verified, isLast, wait.Preparation!);
                case SiteOutcome.Exhausted:
                    return ErrorResponse.WriteAsync(context, PlanStatus.ServiceUnavailable);
                case SiteOutcome.BadHost:
                    return ErrorResponse.WriteAsync(context, PlanStatus.BadRequest);
                case SiteOutcome.Misdirected:
                    return ErrorResponse.WriteAsync(context, StatusCodes.Status421MisdirectedRequest);
            }
        }
        finally
        {
            if (!send.IsPending)
            {
                lease.Release();
            }
        }

        // After the lease is released: the next middleware may take long.
        return isLast ? Task.CompletedTask
            : outcome == SiteOutcome.PutLast ? RespondLastAsync(context, verified)
            : next(context);
    }

    /// <summary>
    /// The error status for which middleware runs the pipeline again: UseExceptionHandler and UseStatusCodePagesWithReExecute set the
    /// status and the path of its page. UseStaticFiles keeps such a status too.
    /// </summary>
    private static int ErrorOf(HttpResponse response) => response.StatusCode >= StatusCodes.Status400BadRequest ? response.StatusCode : 0;

    /// <summary>
    /// Runs the remaining pipeline first: endpoints of later routing and other sites take precedence over a site's 404 page. Then plans
    /// again for the original path, as the scratch memory was reused meanwhile.
    /// </summary>
    private async Task RespondLastAsync(HttpContext context, AuthenticationResult verified)
    {
        HttpRequest request = context.Request;
        (PathString pathBase, PathString path, QueryString query) = (request.PathBase, request.Path, request.QueryString);
        await next(context);
        if (NotFoundPage.Is(context))
        {
            NotFoundPage.Prepare(context);
            (request.PathBase, request.Path, request.QueryString) = (pathBase, path, query);
            await RespondAsync(context, verified, isLast: true);
        }
    }

    private SiteOutcome Begin(
        HttpContext context,
        PlanThreadState threadState,
        scoped in PlanRequest request,
        CatalogSnapshot snapshot,
        bool isLast,
        out BodySender send,
        out PlanWait wait)
    {
        send = default;
        wait = default;
        if (Precedence(request, snapshot, threadState.Scratch, isLast) is SiteOutcome precedence)
        {
            return precedence;
        }

        ResponsePlan plan = site.Planner.Decide(request, snapshot, threadState.Scratch);
        wait = new PlanWait(plan.Preparation, plan.Verifier);
        return plan.Preparation is not null ? SiteOutcome.NeedsPreparation
            : plan.Verifier is not null ? SiteOutcome.NeedsVerification
            : IsUnknown(plan, request) ? SiteOutcome.PassedOn
            : !isLast && IsForMissingPath(plan, request) ? SiteOutcome.PutLast
            : RefusalOf(context.Request, threadState.Text) is SiteOutcome refusal ? refusal
            : request.ErrorStatus != 0 ? BeginPage(new ResponseWriter(context, threadState), plan, snapshot, out send)
            : BeginPlanned(new ResponseWriter(context, threadState), plan, snapshot, out send);
    }

    /// <summary>The page of an error of other code, which may have any status. Without its page the error passes on.</summary>
    private static SiteOutcome BeginPage(
        ResponseWriter writer, scoped in ResponsePlan plan, CatalogSnapshot snapshot, out BodySender send)
    {
        send = default;
        if (writer.TryOpen(snapshot, plan.Asset!, out BodySource source) != BodyOpening.Opened)
        {
            return SiteOutcome.PassedOn;
        }

        writer.WriteAsset(plan, source, AssetPart.Of(plan, source));
        send = writer.Body;
        return SiteOutcome.Begun;
    }

    /// <summary>A deleted file passes to the next middleware.</summary>
    private static SiteOutcome BeginPlanned(
        ResponseWriter writer, scoped in ResponsePlan plan, CatalogSnapshot snapshot, out BodySender send)
    {
        writer.Begin(plan, snapshot);
        send = writer.Body;
        return writer.ErrorStatus switch
        {
            0 => SiteOutcome.Begun,
            PlanStatus.ServiceUnavailable => SiteOutcome.Exhausted,
            _ => SiteOutcome.PassedOn,
        };
    }

    /// <summary>
    /// Whether later middleware takes precedence for methods other than GET and HEAD: where GET would find no file. A client that may not
    /// see a path gets the same response whether it exists or not.
    /// </summary>
    private SiteOutcome? Precedence(scoped in PlanRequest request, CatalogSnapshot snapshot, PlanScratch scratch, bool isLast)
    {
        if (request.Method is Method.Get or Method.Head)
        {
            return null;
        }

        ResponsePlan get = site.Planner.Decide(request with { Method = Method.Get }, snapshot, scratch);
        return get.Status == PlanStatus.NotFound ? SiteOutcome.PassedOn
            : get.IsFallback && !isLast ? SiteOutcome.PutLast
            : null;
    }

    /// <summary>Whether the site has neither a file nor a 404 page for the path.</summary>
    private static bool IsUnknown(scoped in ResponsePlan plan, scoped in PlanRequest request) => request.ErrorStatus == 0
        ? plan.Status == PlanStatus.NotFound && plan.Body != PlanBody.Asset
        : plan.Status != request.ErrorStatus || plan.Body != PlanBody.Asset;

    /// <summary>Whether the plan is for a path without a file: a 404 page or the fallback.</summary>
    private static bool IsForMissingPath(scoped in ResponsePlan plan, scoped in PlanRequest request) =>
        request.ErrorStatus == 0 && (plan.IsFallback || plan.Status == PlanStatus.NotFound);

    /// <summary>
    /// The outcome for a request with a wrong host or scheme; null for all others. The server accepts more hosts, and targets with the
    /// https scheme (RFC 9110, section 7.4) on connections without TLS. The request's own scheme includes what a trusted proxy has
    /// forwarded.
    /// </summary>
    private static SiteOutcome? RefusalOf(HttpRequest request, RequestText text)
    {
        if (!UriHost.IsValidHostField(text.Add(request.Headers.Host)))
        {
            return SiteOutcome.BadHost;
        }

        string target = request.HttpContext.Features.Get<IHttpRequestFeature>()?.RawTarget ?? "";
        return target.StartsWith("https://", StringComparison.OrdinalIgnoreCase) && !request.IsHttps ? SiteOutcome.Misdirected : null;
    }

    private async Task RevalidateAndRespondAsync(HttpContext context)
    {
        await RevalidateAsync(context);
        await RespondAsync(context, default);
    }

    /// <summary>Copies the request, as the scratch memory is reused during the wait.</summary>
    private Task RevalidateAsync(HttpContext context) => PlanThreadState.OfThisThread.TryRead(context.Request, out PlanRequest request)
        ? site.RevalidateAsync(request.Path.ToArray(), request.Query.ToArray(), request.Accept.ToArray())
        : Task.CompletedTask;

    /// <summary>Verifying new credentials takes tens of milliseconds, on other threads; then the request is planned again.</summary>
    private async Task VerifyAndRespondAsync(HttpContext context, BasicAuthentication verifier, byte[] authorization, bool isLast) =>
        await RespondAsync(context, new AuthenticationResult(verifier, await verifier.VerifyAsync(authorization)), isLast);

    private async Task PrepareAndRespondAsync(
        HttpContext context, AuthenticationResult verified, bool isLast, ListingPreparation preparation)
    {
        await preparation.Made;
        await RespondAsync(context, verified, isLast, preparation);
    }
}

/// <summary>What a request must wait for before it is planned again.</summary>
internal readonly record struct PlanWait(ListingPreparation? Preparation, BasicAuthentication? Verifier);

/// <summary>The outcome of a request at a site.</summary>
internal enum SiteOutcome
{
    /// <summary>The request passes to the next middleware.</summary>
    PassedOn,

    /// <summary>The site has a 404 page or a fallback, which applies after the next middleware.</summary>
    PutLast,

    /// <summary>The response has its head; its body may remain to be sent.</summary>
    Begun,

    /// <summary>The credentials are new: the request is planned again after their verification.</summary>
    NeedsVerification,

    /// <summary>A listing takes long to make: the request is planned again when it is made.</summary>
    NeedsPreparation,

    /// <summary>No descriptor is available to open the file.</summary>
    Exhausted,

    /// <summary>The Host field is not valid.</summary>
    BadHost,

    /// <summary>The target is https, but the connection is not secured.</summary>
    Misdirected,
}
