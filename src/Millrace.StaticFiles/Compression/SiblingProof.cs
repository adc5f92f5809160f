using System.Buffers;
using Millrace.StaticFiles.Scanning;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Compression;

/// <summary>
/// Proves by decoding that a coded file has its original's bytes. Holds two pieces of them, whatever their size. Any thread.
/// </summary>
internal static class SiblingProof
{
    private const int PieceBytes = 64 * 1024;

    /// <summary>
    /// Decodes a sibling and compares the result with its original. <see cref="SiblingVerdict.Undecided"/> if one of them has changed, or
    /// may still change without its times showing it (see <see cref="FileState.IsSettledAt"/>), or on cancellation.
    /// </summary>
    public static SiblingVerdict Of(AssetCatalog catalog, Asset original, Sibling sibling, CancellationToken stop)
    {
        if (SettlesAfter(original, sibling) >= TimeSpan.Zero)
        {
            return SiblingVerdict.Undecided;
        }

        if (sibling.File.Size == 0)
        {
            return SiblingVerdict.Empty;
        }

        var coded = new AssetStream(catalog, sibling.File, stop);
        var wanted = new AssetStream(catalog, original, stop);
        using BodyDecoder? decoder = BodyDecoder.TryCreate(sibling.Variant.Coding, coded);
        if (decoder is null)
        {
            return SiblingVerdict.Undecodable;
        }

        byte[] pieces = ArrayPool<byte>.Shared.Rent(2 * PieceBytes);
        try
        {
            SiblingVerdict verdict = Compare(decoder, wanted, pieces.AsSpan(0, PieceBytes), pieces.AsSpan(PieceBytes, PieceBytes));
            return coded.IsLost || wanted.IsLost ? SiblingVerdict.Undecided : verdict;
        }
        finally
        {
            ArrayPool<byte>.Shared.Return(pieces);
        }
    }

    /// <summary>
    /// The time until any later write to one of the files shows in its state; negative if that is so, or their bytes are in memory.
    /// </summary>
    public static TimeSpan SettlesAfter(Asset original, Sibling sibling) =>
        TimeSpan.FromTicks(Math.Max(SettlesAfterNs(original), SettlesAfterNs(sibling.File)) / TimeSpan.NanosecondsPerTick);

    private static long SettlesAfterNs(Asset asset) =>
        asset.Strategy == BodyStrategy.InMemory ? -TimeSpan.NanosecondsPerTick : asset.State.SettlesAfter(WallClock.NowNs);

    private static SiblingVerdict Compare(BodyDecoder decoder, AssetStream wanted, Span<byte> decoded, Span<byte> expected)
    {
        int count;
        while ((count = decoder.Read(decoded)) > 0)
        {
            if (wanted.Read(expected[..count]) != count || !decoded[..count].SequenceEqual(expected[..count]))
            {
                return SiblingVerdict.OtherContent;
            }
        }

        return decoder.Verdict == SiblingVerdict.Proven && wanted.Remaining > 0 ? SiblingVerdict.OtherContent : decoder.Verdict;
    }
}
