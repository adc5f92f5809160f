using System.Diagnostics;
using Millrace.Http;
using Millrace.StaticFiles.Scanning;

namespace Millrace.StaticFiles.Snapshots;

/// <summary>
/// Variants made of coded bodies, to be published to an asset. Built without the catalog's lock, because copying and hashing take long and
/// the publisher's thread has the lowest priority. Owns their memory until <see cref="Commit"/> succeeds.
/// </summary>
internal sealed class VariantPublication : IDisposable
{
    private readonly List<Asset> _variants = [];
    private readonly Asset _asset;
    private readonly AssetOrigin _origin;

    /// <summary>So many of the bodies may be pages of a memory file, which takes a descriptor.</summary>
    public VariantPublication(Asset asset, IEnumerable<CodedBody> bodies, AssetOrigin origin, int filesMax)
    {
        Debug.Assert(asset is { Origin: AssetOrigin.File, IsNegotiable: true }, "variants are published of files that may get them");
        _asset = asset;
        _origin = origin;
        long nowNs = WallClock.NowNs;
        try
        {
            IEnumerable<CodedBody> accepted = bodies.Where(body => asset.AcceptsVariant(origin, body.Coding));
            foreach (CodedBody body in accepted.DistinctBy(static body => body.Coding))
            {
                _variants.Add(VariantOf(body, nowNs, CountFiles(_variants) < filesMax));
            }
        }
        catch
        {
            Dispose();
            throw;
        }
    }

    /// <summary>The memory files behind the published variants.</summary>
    public int FilesCommitted { get; private set; }

    /// <summary>The interim variants in whose place the published ones are.</summary>
    public Asset[] Replaced { get; private set; } = [];

    /// <summary>Publishes all of them to the asset, or none. Call under the catalog's lock.</summary>
    public PublishOutcome Commit(AssetResources resources)
    {
        if (_asset.IsRetired || !_variants.TrueForAll(variant => _asset.AcceptsVariant(_origin, variant.Coding)))
        {
            return PublishOutcome.Obsolete;
        }

        long bytes = _variants.Sum(static variant => variant.InMemoryBytes);
        long interimBytes = _origin == AssetOrigin.Interim ? bytes : 0;
        if (!resources.Compressed.HasRoomFor(bytes, resources.Compressed.Held)
            || !resources.Interim.HasRoomFor(interimBytes, resources.Interim.Held))
        {
            return PublishOutcome.NoRoom;
        }

        resources.Compressed.Take(bytes);
        resources.Interim.Take(interimBytes);
        FilesCommitted = CountFiles(_variants);
        Replaced = [.. _variants.Select(variant => _asset.VariantFor(variant.Coding)).OfType<Asset>()];
        _asset.Publish(_origin, [.. _variants]);
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

    private Asset VariantOf(CodedBody body, long nowNs, bool mayHoldDescriptor)
    {
        ReadOnlySpan<byte> coded = body.Bytes.Span;
        BodyMemory memory = BodyMemory.Allocate(coded.Length, mayHoldDescriptor);
        coded.CopyTo(memory.Body);
        return _asset.WithCodedBody(body.Coding, _origin, ContentDigest.Of(coded), memory, nowNs);
    }
}

/// <summary>The coded body of an asset.</summary>
internal readonly record struct CodedBody(ContentCoding Coding, ReadOnlyMemory<byte> Bytes);

/// <summary>The result of publishing variants.</summary>
internal enum PublishOutcome
{
    /// <summary>They are served from now on.</summary>
    Published,

    /// <summary>The asset changed, vanished or got such variants meanwhile; these are discarded.</summary>
    Obsolete,

    /// <summary>Their memory budget is used up. None was published; memory becomes available when old variants are freed.</summary>
    NoRoom,
}
