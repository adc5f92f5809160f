using System.Text;
using Microsoft.AspNetCore.Http;
using Millrace.AspNetCore.StaticFiles.Bodies;
using Millrace.Http;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.AspNetCore.StaticFiles;

/// <summary>Executes a plan: sets the response head and opens the body.</summary>
/// <param name="context">The request.</param>
/// <param name="threadState">The state it was planned with.</param>
/// <param name="isOthersError">Whether the plan is for the page of an error that other code decided on.</param>
internal readonly ref struct ResponseWriter(HttpContext context, PlanThreadState threadState, bool isOthersError)
{
    /// <summary>Begins the response; the body to send is in <paramref name="send"/>.</summary>
    public SiteOutcome Begin(scoped in ResponsePlan plan, CatalogSnapshot snapshot, out BodySender send)
    {
        send = default;
        switch (plan.Body)
        {
            case PlanBody.Asset:
            case PlanBody.Ranges:
                return BeginAsset(plan, snapshot, out send);
            case PlanBody.Document:
                send = BeginWhole(plan, plan.Document!.Bytes);
                return SiteOutcome.Begun;
            case PlanBody.StatusText:
                send = BeginWhole(plan, ErrorResponse.TextOf(plan.Status));
                return SiteOutcome.Begun;
            default:
                ResponseFields.Set(context, plan, threadState.Scratch, AssetState.AsPlanned, 0);
                return SiteOutcome.Begun;
        }
    }

    private bool IncludesBody => !HttpMethods.IsHead(context.Request.Method);

    private SiteOutcome BeginAsset(scoped in ResponsePlan plan, CatalogSnapshot snapshot, out BodySender send)
    {
        send = default;
        BodyOpening opening = BodySource.TryOpen(snapshot, plan.Asset!, out BodySource source);
        if (opening != BodyOpening.Opened)
        {
            return BeginWithout(plan, opening, out send);
        }

        try
        {
            AssetPart part = AssetPart.Of(plan, source);
            send = part.Extent == BodyExtent.Ranges ? BeginParts(plan, source) : BeginBody(plan, source, part);
            return SiteOutcome.Begun;
        }
        catch
        {
            // The response had already started. Nothing else owns the source yet.
            source.Close();
            throw;
        }
    }

    /// <summary>
    /// An error whose page cannot be opened keeps its status and all its fields. A deleted file passes to the next middleware, and so does
    /// an error of other code without its page.
    /// </summary>
    private SiteOutcome BeginWithout(scoped in ResponsePlan plan, BodyOpening opening, out BodySender send)
    {
        send = default;
        if (isOthersError)
        {
            return SiteOutcome.PassedOn;
        }

        if (plan.Status < 400)
        {
            return opening == BodyOpening.Exhausted ? SiteOutcome.Exhausted : SiteOutcome.PassedOn;
        }

        send = BeginWhole(PlannedHead.WithoutPage(plan), ErrorResponse.TextOf(plan.Status));
        return SiteOutcome.Begun;
    }

    private BodySender BeginBody(scoped in ResponsePlan plan, in BodySource source, in AssetPart part)
    {
        ResponseFields.Set(context, plan, threadState.Scratch, part.State, part.Range.Length);
        if (IncludesBody && part.Range.Length > 0)
        {
            return BodySender.Of(source, part.Range, part.Extent);
        }

        source.Close();
        return default;
    }

    private BodySender BeginParts(scoped in ResponsePlan plan, in BodySource source)
    {
        MultipartRanges parts = PlannedHead.PartsOf(plan, source.Size, threadState.NextBoundary());
        string contentType = Encoding.ASCII.GetString(parts.ContentType);
        ResponseFields.Set(context, plan, threadState.Scratch, AssetState.AsPlanned, parts.Bytes, contentType);
        return BodySender.Of(source, parts);
    }

    private BodySender BeginWhole(scoped in ResponsePlan plan, byte[] body)
    {
        ResponseFields.Set(context, plan, threadState.Scratch, AssetState.AsPlanned, body.Length);
        return IncludesBody ? BodySender.Of(body) : default;
    }
}
