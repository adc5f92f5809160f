using Millrace.Http;
using Millrace.StaticFiles.Catalog;

namespace Millrace.StaticFiles.Planning;

/// <summary>Which bytes answer a plan, now that its asset is open, whatever protocol carries them.</summary>
/// <param name="State">Whether the file is what the plan took it for.</param>
/// <param name="Extent">What the head says of the bytes.</param>
/// <param name="Range">The bytes; of no meaning for several ranges.</param>
internal readonly record struct AssetPart(AssetState State, BodyExtent Extent, ByteRange Range)
{
    public static AssetPart Of(scoped in Plan plan, in BodySource source)
    {
        var whole = new ByteRange(0, source.Size - 1);
        return !source.IsAsCatalogued ? new AssetPart(AssetState.Changed, BodyExtent.Whole, whole)
            : plan.Body == PlanBody.Asset ? new AssetPart(AssetState.AsPlanned, BodyExtent.Whole, whole)
            : plan.Ranges.Length == 1 ? new AssetPart(AssetState.AsPlanned, BodyExtent.Range, plan.Ranges[0])
            : new AssetPart(AssetState.AsPlanned, BodyExtent.Ranges, default);
    }
}
