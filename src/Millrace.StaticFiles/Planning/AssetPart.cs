using Millrace.Http;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Planning;

/// <summary>Which bytes answer a plan after its asset was opened, for any protocol.</summary>
/// <param name="State">Whether the file is as planned.</param>
/// <param name="Extent">What the head promises of the bytes.</param>
/// <param name="Range">The bytes; not used for several ranges.</param>
internal readonly record struct AssetPart(AssetState State, BodyExtent Extent, ByteRange Range)
{
    public static AssetPart Of(scoped in ResponsePlan plan, in BodySource source)
    {
        var whole = new ByteRange(0, source.Size - 1);
        return !source.IsAsCatalogued ? new AssetPart(AssetState.Changed, BodyExtent.Whole, whole)
            : plan.Body == PlanBody.Asset ? new AssetPart(AssetState.AsPlanned, BodyExtent.Whole, whole)
            : plan.Ranges.Length == 1 ? new AssetPart(AssetState.AsPlanned, BodyExtent.Range, plan.Ranges[0])
            : new AssetPart(AssetState.AsPlanned, BodyExtent.Ranges, default);
    }
}

/// <summary>Whether the file of an asset is as planned.</summary>
internal enum AssetState : byte
{
    AsPlanned,

    /// <summary>
    /// The opened file differs from the snapshot's: it is sent whole, without the validators, and the conditions and ranges that were
    /// evaluated for the earlier version do not apply.
    /// </summary>
    Changed,
}

/// <summary>Which bytes of a file a head promises.</summary>
internal enum BodyExtent : byte
{
    /// <summary>All bytes: the head can still be rewritten for the length that is read.</summary>
    Whole,

    /// <summary>The bytes that Content-Range names, perhaps all: no others may be sent.</summary>
    Range,

    /// <summary>Several ranges, each after its own part head.</summary>
    Ranges,
}
