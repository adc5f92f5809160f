using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Compression;

/// <summary>
/// Reads an asset from its start to its end, in pieces, each under a lease of its own: a long read keeps no old snapshot alive. One thread.
/// </summary>
internal sealed class AssetStream(AssetCatalog catalog, Asset asset, CancellationToken stop)
{
    private long _position;

    public long Remaining => asset.Size - _position;

    /// <summary>Whether the asset has changed or vanished, or the read was cancelled: what was read says nothing.</summary>
    public bool IsLost { get; private set; }

    /// <summary>The number of bytes read: as many as there is room for, or as remain; 0 once it is lost.</summary>
    public int Read(Span<byte> room)
    {
        int count = (int)Math.Min(room.Length, Remaining);
        IsLost |= stop.IsCancellationRequested || !AssetReader.TryReadAt(catalog, asset, _position, room[..count]);
        if (IsLost)
        {
            return 0;
        }

        _position += count;
        return count;
    }
}
