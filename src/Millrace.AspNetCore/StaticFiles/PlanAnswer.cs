using System.Text;
using Microsoft.AspNetCore.Http;
using Millrace.AspNetCore.StaticFiles.Bodies;
using Millrace.Http;
using Millrace.StaticFiles.Catalog;
using Millrace.StaticFiles.Planning;

namespace Millrace.AspNetCore.StaticFiles;

/// <summary>Executes a plan: sets the head of its answer and opens its body.</summary>
/// <param name="context">The request.</param>
/// <param name="bench">What it was planned with.</param>
/// <param name="isOthersError">Whether the plan is for the page of an error that was decided on elsewhere.</param>
internal readonly ref struct PlanAnswer(HttpContext context, PlanningBench bench, bool isOthersError)
{
    /// <summary>Begins the answer; the body that is left to send is in <paramref name="send"/>.</summary>
    public Outcome Begin(scoped in Plan plan, CatalogSnapshot snapshot, out BodySend send)
    {
        send = default;
        switch (plan.Body)
        {
            case PlanBody.Asset:
            case PlanBody.Ranges:
                return BeginAsset(plan, snapshot, out send);
            case PlanBody.Document:
                send = BeginWhole(plan, plan.Document!.Bytes);
                return Outcome.Begun;
            case PlanBody.StatusText:
                send = BeginWhole(plan, PlainAnswer.TextOf(plan.Status));
                return Outcome.Begun;
            default:
                AnswerFields.Set(context, plan, bench.Scratch, AssetState.AsPlanned, 0);
                return Outcome.Begun;
        }
    }

    private bool IncludesBody => !HttpMethods.IsHead(context.Request.Method);

    private Outcome BeginAsset(scoped in Plan plan, CatalogSnapshot snapshot, out BodySend send)
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
            return Outcome.Begun;
        }
        catch
        {
            // Somebody has started the response before. Nobody else has the source yet.
            source.Close();
            throw;
        }
    }

    /// <summary>
    /// An error stays that error, with all its fields, when only its page cannot be had. A file that is gone is the next middleware's, and
    /// so is an error of others without its page.
    /// </summary>
    private Outcome BeginWithout(scoped in Plan plan, BodyOpening opening, out BodySend send)
    {
        send = default;
        if (isOthersError)
        {
            return Outcome.PassedOn;
        }

        if (plan.Status < 400)
        {
            return opening == BodyOpening.Exhausted ? Outcome.Exhausted : Outcome.PassedOn;
        }

        send = BeginWhole(Plan.Bare(plan.Status, PlanBody.StatusText, plan.Fields), PlainAnswer.TextOf(plan.Status));
        return Outcome.Begun;
    }

    private BodySend BeginBody(scoped in Plan plan, in BodySource source, in AssetPart part)
    {
        AnswerFields.Set(context, plan, bench.Scratch, part.State, part.Range.Length);
        if (IncludesBody && part.Range.Length > 0)
        {
            return BodySend.Of(source, part.Range, part.Extent);
        }

        source.Close();
        return default;
    }

    private BodySend BeginParts(scoped in Plan plan, in BodySource source)
    {
        string partType = RuleFields.Of(plan.Fields).ContentType is { Count: > 0 } ruled
            ? ruled.ToString()
            : plan.Asset!.ContentType.Value;
        var parts = new MultipartRanges(plan.Ranges, source.Size, Encoding.ASCII.GetBytes(partType), bench.NextBoundary());
        string contentType = Encoding.ASCII.GetString(parts.ContentType);
        AnswerFields.Set(context, plan, bench.Scratch, AssetState.AsPlanned, parts.Bytes, contentType);
        return BodySend.Of(source, parts);
    }

    private BodySend BeginWhole(scoped in Plan plan, byte[] body)
    {
        AnswerFields.Set(context, plan, bench.Scratch, AssetState.AsPlanned, body.Length);
        return IncludesBody ? BodySend.Of(body) : default;
    }
}
