using Millrace.StaticFiles.Rules;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.HttpServer.Http1;

/// <summary>
/// Caches whole responses, head and body in one block, for assets that are requested repeatedly: all sends read the same memory, instead of
/// a copy for each response. An entry is valid as long as its Date. The first request within that second does not use the cache. Reactor
/// thread only.
/// </summary>
internal sealed class ResponseCache : IDisposable
{
    /// <summary>
    /// The smallest body that is cached: for smaller ones, one buffer for all pipelined responses is cheaper than many parts of a send.
    /// </summary>
    private const int BodyBytesMin = 4 * 1024;

    /// <summary>With at most 16 KiB each: 2 MiB a reactor, if as many assets are requested often.</summary>
    private const int Slots = 128;

    private readonly Slot[] _slots = new Slot[Slots];

    /// <summary>Whether responses with the whole asset are cached: they would be copied otherwise, and are not small.</summary>
    public static bool IsCacheable(Asset asset) =>
        asset.Strategy == BodyStrategy.InMemory && asset.Size is >= BodyBytesMin and <= ResponseWriter.CopiedBytesMax;

    /// <summary>
    /// Finds the cached response. If it is not <see cref="CachedResponse.IsWritten"/>, the caller writes it. Null for the first request
    /// within the validity of the Date, or while a send still reads the memory of the previous response.
    /// </summary>
    /// <param name="asset">The asset, which is sent whole with status 200.</param>
    /// <param name="fields">The fields that rules add.</param>
    /// <param name="dateStamp">The Date; see <see cref="Heads.DateField.StampAt"/>.</param>
    /// <param name="bytesMax">The maximum size of head and body.</param>
    public CachedResponse? Find(Asset asset, FieldSet fields, long dateStamp, int bytesMax)
    {
        ref Slot slot = ref _slots[IndexOf(asset)];
        if (slot.Asset != asset || slot.Fields != fields || slot.DateStamp != dateStamp)
        {
            slot.Asset = asset;
            slot.Fields = fields;
            slot.DateStamp = dateStamp;
            slot.Response?.Expire();
            return null;
        }

        if (slot.Response is { IsWritten: false, IsExclusive: false })
        {
            // A slow client still reads the previous version. Each slot has only one block.
            return null;
        }

        if (slot.Response is null || (!slot.Response.IsWritten && slot.Response.Room.Length < bytesMax))
        {
            var larger = new CachedResponse(bytesMax);
            slot.Response?.Release();
            slot.Response = larger;
        }

        return slot.Response;
    }

    public void Dispose()
    {
        foreach (ref Slot slot in _slots.AsSpan())
        {
            slot.Response?.Release();
            slot = default;
        }
    }

    /// <summary>Indexes by the address of the asset's memory, which no two assets share at a time.</summary>
    private static unsafe int IndexOf(Asset asset)
    {
        const ulong GoldenRatio = 0x9E37_79B9_7F4A_7C15;
        const int Shift = 64 - 7;
        return (int)(((ulong)asset.InMemoryBodyAddress * GoldenRatio) >> Shift);
    }

    private struct Slot
    {
        public Asset? Asset;
        public FieldSet? Fields;
        public long DateStamp;
        public CachedResponse? Response;
    }
}
