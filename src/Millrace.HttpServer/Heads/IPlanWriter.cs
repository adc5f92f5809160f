using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.HttpServer.Heads;

/// <summary>Writes the response to a plan in one protocol.</summary>
internal interface IPlanWriter
{
    /// <summary>Opens the file of an asset, unless it is opened later.</summary>
    BodyOpening TryOpen(SiteBinding binding, Asset asset, out BodySource source);

    /// <summary>Writes a response with an asset. Takes ownership of the source.</summary>
    void WriteAsset(scoped in ResponsePlan plan, in BodySource source, in AssetPart part);

    /// <param name="plan">The planned response.</param>
    /// <param name="body">The whole body.</param>
    /// <param name="retained">The same bytes if they never change; null to copy the body if it has to wait.</param>
    void WriteBytes(scoped in ResponsePlan plan, ReadOnlySpan<byte> body, byte[]? retained);

    /// <summary>Writes an error that no plan decides on.</summary>
    void WriteError(int status);
}

/// <summary>Chooses what the response to a plan consists of, for all protocols.</summary>
internal static class PlanWriterExtensions
{
    public static void Begin<TWriter>(this ref TWriter writer, scoped in ResponsePlan plan, SiteBinding binding)
        where TWriter : struct, IPlanWriter, allows ref struct
    {
        switch (plan.Body)
        {
            case PlanBody.Asset:
            case PlanBody.Ranges:
                BodyOpening opening = writer.TryOpen(binding, plan.Asset!, out BodySource source);
                if (opening == BodyOpening.Opened)
                {
                    writer.WriteAsset(plan, source, AssetPart.Of(plan, source));
                }
                else
                {
                    writer.BeginWithoutFile(plan, opening);
                }

                break;
            case PlanBody.Document:
                writer.WriteBytes(plan, plan.Document!.Bytes, plan.Document.Bytes);
                break;
            default:
                ReadOnlySpan<byte> text = plan.Body == PlanBody.StatusText ? PlanHeadWriter.ErrorBodyOf(plan.Status) : default;
                writer.WriteBytes(plan, text, retained: null);
                break;
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

        writer.WriteBytes(PlannedHead.WithoutPage(plan), PlanHeadWriter.ErrorBodyOf(plan.Status), retained: null);
    }
}
