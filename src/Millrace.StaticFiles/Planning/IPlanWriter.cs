using Millrace.Http;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Planning;

/// <summary>Writes the response to a plan in one protocol, or with another server's objects.</summary>
internal interface IPlanWriter
{
    /// <param name="plan">The planned response.</param>
    /// <param name="body">The whole body.</param>
    /// <param name="retained">The same bytes if they never change; null to copy the body if it has to wait.</param>
    void WriteBytes(scoped in ResponsePlan plan, ReadOnlySpan<byte> body, byte[]? retained);

    /// <summary>Writes an error that no plan decides on: the file of the planned response cannot be opened.</summary>
    void WriteError(int status);
}

/// <inheritdoc cref="IPlanWriter"/>
/// <typeparam name="TSnapshot">What the files are opened of: a binding, or a snapshot that the caller has leased.</typeparam>
internal interface IPlanWriter<in TSnapshot> : IPlanWriter
{
    /// <summary>Opens the file of an asset, unless it is opened later.</summary>
    BodyOpening TryOpen(TSnapshot snapshot, Asset asset, out BodySource source);

    /// <summary>Writes a response with an asset. Takes ownership of the source.</summary>
    void WriteAsset(scoped in ResponsePlan plan, in BodySource source, in AssetPart part);

    /// <summary>Writes a response with an archive of a directory.</summary>
    void WriteArchive(scoped in ResponsePlan plan, TSnapshot snapshot);
}

/// <summary>Chooses what the response to a plan consists of, for all writers.</summary>
internal static class PlanWriterExtensions
{
    public static void Begin<TWriter, TSnapshot>(this ref TWriter writer, scoped in ResponsePlan plan, TSnapshot snapshot)
        where TWriter : struct, IPlanWriter<TSnapshot>, allows ref struct
    {
        switch (plan.Body)
        {
            case PlanBody.Asset:
            case PlanBody.Ranges:
                BodyOpening opening = writer.TryOpen(snapshot, plan.Asset!, out BodySource source);
                if (opening == BodyOpening.Opened)
                {
                    writer.WriteAsset(plan, source, AssetPart.Of(plan, source));
                }
                else if (opening == BodyOpening.Unproven)
                {
                    writer.BeginUncoded(plan, snapshot);
                }
                else
                {
                    writer.BeginWithoutFile(plan, opening);
                }

                break;
            case PlanBody.Document:
                writer.WriteBytes(plan, plan.Document!.Bytes, plan.Document.Bytes);
                break;
            case PlanBody.Archive:
                writer.WriteArchive(plan, snapshot);
                break;
            default:
                ReadOnlySpan<byte> text = plan.Body == PlanBody.StatusText ? PlannedHead.ErrorTextOf(plan.Status) : default;
                writer.WriteBytes(plan, text, retained: null);
                break;
        }
    }

    /// <summary>
    /// Begins a response with the original of the planned sibling, whose file has changed: whole, and without validators, as the plan is
    /// about another representation.
    /// </summary>
    private static void BeginUncoded<TWriter, TSnapshot>(this ref TWriter writer, scoped in ResponsePlan plan, TSnapshot snapshot)
        where TWriter : struct, IPlanWriter<TSnapshot>, allows ref struct
    {
        ResponsePlan uncoded = ResponsePlan.Whole(plan.Status, plan.Asset!.Original!, plan.Fields);
        BodyOpening opening = writer.TryOpen(snapshot, uncoded.Asset!, out BodySource source);
        if (opening == BodyOpening.Opened)
        {
            writer.WriteAsset(uncoded, source, new AssetPart(AssetState.Changed, BodyExtent.Whole, new ByteRange(0, source.Size - 1)));
        }
        else
        {
            writer.BeginWithoutFile(uncoded, opening);
        }
    }

    /// <summary>Begins a response whose file cannot be opened. An error keeps its status and fields: only its page is left out.</summary>
    public static void BeginWithoutFile<TWriter>(this ref TWriter writer, scoped in ResponsePlan plan, BodyOpening opening)
        where TWriter : struct, IPlanWriter, allows ref struct
    {
        if (plan.Status < 400)
        {
            writer.WriteError(PlanStatus.ForFailedOpen(opening));
            return;
        }

        var withoutPage = new ResponsePlan(plan.Status, PlanBody.StatusText, plan.Fields);
        writer.WriteBytes(withoutPage, PlannedHead.ErrorTextOf(plan.Status), retained: null);
    }
}
