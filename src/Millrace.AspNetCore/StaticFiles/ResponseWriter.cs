using System.Text;
using Microsoft.AspNetCore.Http;
using Millrace.AspNetCore.StaticFiles.Bodies;
using Millrace.Http;
using Millrace.StaticFiles.Archives;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.AspNetCore.StaticFiles;

/// <summary>Executes a plan: sets the response head and opens the body.</summary>
/// <param name="context">The request.</param>
/// <param name="threadState">The state it was planned with.</param>
internal ref struct ResponseWriter(HttpContext context, PlanThreadState threadState) : IPlanWriter<CatalogSnapshot>
{
    /// <summary>The body that is to be sent after the head.</summary>
    public BodySender Body { get; private set; }

    /// <summary>
    /// The status if the file cannot be opened and nothing was written, as later middleware may have a response; 0 otherwise.
    /// </summary>
    public int ErrorStatus { get; private set; }

    private readonly bool IncludesBody => !HttpMethods.IsHead(context.Request.Method);

    public readonly BodyOpening TryOpen(CatalogSnapshot snapshot, Asset asset, out BodySource source) =>
        BodySource.TryOpen(snapshot, asset, out source);

    public void WriteAsset(scoped in ResponsePlan plan, in BodySource source, in AssetPart part)
    {
        try
        {
            Body = part.Extent == BodyExtent.Ranges ? BeginParts(plan, source) : BeginPart(plan, source, part);
        }
        catch
        {
            // The response had already started. Nothing else owns the source yet.
            source.Close();
            throw;
        }
    }

    public void WriteBytes(scoped in ResponsePlan plan, ReadOnlySpan<byte> body, byte[]? retained)
    {
        ResponseFields.Set(context, plan, threadState.Scratch, AssetState.AsPlanned, body.Length);
        Body = IncludesBody && body.Length > 0 ? BodySender.Of(retained ?? body.ToArray()) : default;
    }

    public void WriteArchive(scoped in ResponsePlan plan, CatalogSnapshot snapshot)
    {
        ArchiveProducer? producer = IncludesBody ? plan.Archive!.TryBegin(snapshot) : null;
        if (IncludesBody && producer is null)
        {
            WriteError(PlanStatus.ServiceUnavailable);
            return;
        }

        try
        {
            string contentType = Encoding.ASCII.GetString(plan.Archive!.Format.ContentType());
            ResponseFields.Set(context, plan, threadState.Scratch, AssetState.AsPlanned, bytes: null, contentType);
        }
        catch
        {
            // The response had already started. Nothing else owns the producer yet.
            producer?.Dispose();
            throw;
        }

        Body = producer is null ? default : BodySender.Of(producer);
    }

    public void WriteError(int status) => ErrorStatus = status;

    private readonly BodySender BeginPart(scoped in ResponsePlan plan, in BodySource source, in AssetPart part)
    {
        ResponseFields.Set(context, plan, threadState.Scratch, part.State, part.Range.Length);
        if (IncludesBody && part.Range.Length > 0)
        {
            return BodySender.Of(source, part.Range, part.Extent);
        }

        source.Close();
        return default;
    }

    private readonly BodySender BeginParts(scoped in ResponsePlan plan, in BodySource source)
    {
        MultipartRanges parts = PlannedHead.PartsOf(plan, source.Size, threadState.NextBoundary());
        string contentType = Encoding.ASCII.GetString(parts.ContentType);
        ResponseFields.Set(context, plan, threadState.Scratch, AssetState.AsPlanned, parts.Bytes, contentType);
        return BodySender.Of(source, parts);
    }
}
