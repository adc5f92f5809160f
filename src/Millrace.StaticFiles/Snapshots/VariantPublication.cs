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

    /// <summary>So many of the bodies may be pages of a memory file, which takes a descriptor.</summary>
    public VariantPublication(Asset asset, IEnumerable<CodedBody> bodies, int filesMax)
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

    /// <summary>The memory files behind the published variants.</summary>
    public int FilesCommitted { get; private set; }

    /// <summary>Publishes all of them to the asset, or none. Call under the catalog's lock.</summary>
    public PublishOutcome Commit(ResourceBudget memory)
    {
        if (_asset.IsRetired || _variants.Exists(variant => _asset.VariantFor(variant.Coding) is not null))
        {
            return PublishOutcome.Retired;
        }

        long bytes = _variants.Sum(static variant => variant.InMemoryBytes);
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

/// <summary>The coded body of an asset.</summary>
internal readonly record struct CodedBody(ContentCoding Coding, ReadOnlyMemory<byte> Bytes);

/// <summary>The result of publishing variants.</summary>
internal enum PublishOutcome
{
    /// <summary>They are served from now on.</summary>
    Published,

    /// <summary>The asset changed or vanished meanwhile; they are discarded.</summary>
    Retired,

    /// <summary>Their memory budget is used up. None was published; memory becomes available when old variants are freed.</summary>
    NoRoom,
}
