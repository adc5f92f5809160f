using System.Diagnostics;
using Millrace.StaticFiles.Building;

namespace Millrace.StaticFiles.Catalog;

/// <summary>
/// Variants made of coded bodies, on their way to an asset. Made without the catalogue's lock, as copying and hashing take their time and
/// whoever publishes has the lowest priority; owns their memory until it is committed.
/// </summary>
internal sealed class Publication : IDisposable
{
    private readonly List<Asset> _variants = [];
    private readonly Asset _asset;

    /// <param name="asset">An asset of a file.</param>
    /// <param name="bodies">Its body in codings it does not have yet.</param>
    /// <param name="filesMax">How many of them may be pages of a file.</param>
    public Publication(Asset asset, IEnumerable<CodedBody> bodies, int filesMax)
    {
        Debug.Assert(asset is { Origin: AssetOrigin.File, IsNegotiable: true }, "variants are published of files that may get them");
        _asset = asset;
        long nowNs = WallClock.NowNs;
        try
        {
            foreach (CodedBody body in bodies.Where(body => asset.VariantFor(body.Coding) is null).DistinctBy(static body => body.Coding))
            {
                _variants.Add(VariantOf(asset, body, nowNs, CountFiles(_variants) < filesMax));
            }
        }
        catch
        {
            Dispose();
            throw;
        }
    }

    /// <summary>Files whose pages the asset's variants are now.</summary>
    public int FilesCommitted { get; private set; }

    /// <summary>Gives them to the asset; all of them or none. Under the catalogue's lock.</summary>
    public PublishOutcome Commit(Budget memory)
    {
        if (_asset.IsRetired || _variants.Exists(variant => _asset.VariantFor(variant.Coding) is not null))
        {
            return PublishOutcome.Retired;
        }

        long bytes = _variants.Sum(static variant => variant.BakedBytes);
        if (!memory.HasRoomFor(bytes, memory.Held))
        {
            return PublishOutcome.NoRoom;
        }

        memory.Take(bytes);
        FilesCommitted = CountFiles(_variants);
        _asset.Publish([.. _variants]);
        _variants.Clear();
        return PublishOutcome.Published;
    }

    public void Dispose()
    {
        foreach (Asset variant in _variants)
        {
            BodyMemory.Of(variant).Release();
        }

        _variants.Clear();
    }

    private static int CountFiles(List<Asset> variants) => variants.Count(static variant => variant.Descriptor != Asset.NoDescriptor);

    private static Asset VariantOf(Asset asset, CodedBody body, long nowNs, bool mayHoldDescriptor)
    {
        ReadOnlySpan<byte> coded = body.Bytes.Span;
        BodyMemory memory = BodyMemory.Allocate(coded.Length, mayHoldDescriptor);
        coded.CopyTo(memory.Body);
        return asset.WithCodedBody(body.Coding, ContentDigest.Of(coded), memory, nowNs);
    }
}
