using Millrace.StaticFiles.Scanning;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Compression;

/// <summary>
/// Reads what is to be compressed or decoded. Holds a lease only meanwhile, so that it keeps no old snapshot alive. Any thread.
/// </summary>
internal static class AssetReader
{
    /// <summary>Reads an asset's bytes if they still match its validators. If not, the site is about to change.</summary>
    public static bool TryRead(AssetCatalog catalog, Asset asset, Span<byte> body) => TryReadAt(catalog, asset, 0, body);

    /// <summary>As <see cref="TryRead"/>, a piece of them.</summary>
    public static bool TryReadAt(AssetCatalog catalog, Asset asset, long offset, Span<byte> piece)
    {
        CatalogSnapshot snapshot = catalog.Acquire();
        try
        {
            // Only an asset that is not retired is sure to be part of the snapshot just leased.
            if (asset.IsRetired)
            {
                return false;
            }

            if (asset.Strategy == BodyStrategy.InMemory)
            {
                asset.InMemoryBody.Slice((int)offset, piece.Length).CopyTo(piece);
                return true;
            }

            if (BodySource.TryOpen(snapshot, asset, out BodySource source) != BodyOpening.Opened)
            {
                return false;
            }

            bool isRead = FileContent.TryReadUnchanged(source.Descriptor, asset.State, piece, offset);
            source.Close();
            return isRead;
        }
        finally
        {
            snapshot.Release();
        }
    }
}
