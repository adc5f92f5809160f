using System.Diagnostics;
using Millrace.StaticFiles.Building;

namespace Millrace.StaticFiles.Catalog;

/// <summary>Makes variants of coded bodies and gives them to their asset.</summary>
internal static class Publication
{
    /// <summary>Under the catalogue's lock, for an asset that is not retired.</summary>
    public static PublishOutcome Add(Asset asset, IReadOnlyCollection<CodedBody> bodies, Budget memory)
    {
        Debug.Assert(asset is { Origin: AssetOrigin.File, IsNegotiable: true }, "variants are published of files that may get them");
        CodedBody[] added = [.. bodies.Where(body => asset.VariantFor(body.Coding) is null).DistinctBy(body => body.Coding)];
        long bytes = added.Sum(body => AssetHoldings.RoundUp(body.Bytes.Length));
        if (!memory.HasRoomFor(bytes, memory.Held))
        {
            return PublishOutcome.NoRoom;
        }

        memory.Take(bytes);
        long nowNs = WallClock.NowNs;
        asset.Publish([.. added.Select(body => VariantOf(asset, body, nowNs))]);
        return PublishOutcome.Published;
    }

    private static unsafe Asset VariantOf(Asset asset, CodedBody body, long nowNs)
    {
        ReadOnlySpan<byte> coded = body.Bytes.Span;
        byte* bytes = AssetHoldings.Allocate(coded.Length);
        coded.CopyTo(new Span<byte>(bytes, coded.Length));
        return asset.WithCodedBody(body.Coding, ContentDigest.Of(coded), bytes, coded.Length, nowNs);
    }
}
