using Millrace.Http;

namespace Millrace.StaticFiles.Snapshots;

/// <summary>The coded variants of an asset, at most one per coding. Immutable.</summary>
internal sealed class VariantSet
{
    private readonly Asset?[] _byCoding = new Asset?[4];

    public VariantSet(IEnumerable<Asset> variants)
    {
        Codings = CodingSet.Identity;
        foreach (Asset variant in variants)
        {
            _byCoding[(int)variant.Coding] = variant;
            Codings |= (CodingSet)(1 << (int)variant.Coding);
        }
    }

    /// <summary>Their codings, and identity.</summary>
    public CodingSet Codings { get; }

    public Asset? For(ContentCoding coding) => _byCoding[(int)coding];

    public IEnumerable<Asset> All => _byCoding.OfType<Asset>();

    /// <summary>A set with more variants. Of two in the same coding, the one already here stays.</summary>
    public VariantSet With(IEnumerable<Asset> more) => new(more.Concat(All));
}
