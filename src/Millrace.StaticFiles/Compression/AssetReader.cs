using Millrace.StaticFiles.Scanning;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Compression;

/// <summary>Reads what is to be compressed. Holds a lease only meanwhile, so that it keeps no old snapshot alive. Any thread.</summary>
internal static class AssetReader
{
    /// <summary>Reads an asset's bytes if they still match its validators. If not, the site is about to change.</summary>
    public static bool TryRead(AssetCatalog catalog, Asset asset, Span<byte> body)
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
                asset.InMemoryBody.CopyTo(body);
                return true;
            }

            if (BodySource.TryOpen(snapshot, asset, out BodySource source) != BodyOpening.Opened)
            {
                return false;
            }

            bool isRead = FileContent.TryReadUnchanged(source.Descriptor, asset.State, body);
            source.Close();
            return isRead;
        }
        finally
        {
            snapshot.Release();
        }
    }
}
