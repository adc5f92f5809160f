using Millrace.Http;
using Millrace.Interop.Files;
using Millrace.StaticFiles.Building;
using Millrace.StaticFiles.Catalog;

namespace Millrace.StaticFiles.Compression;

/// <summary>
/// Compresses what a site has that is worth it and was not yet, from the smallest to the largest: small files gain most for the memory
/// they take. Holds a lease on the site only while it reads a file, so that nothing old lives longer for it. One thread.
/// </summary>
internal sealed class CompressionPass(AssetCatalog catalog, long compressedBytesTotalMax)
{
    private static readonly ContentCoding[] Codings = [ContentCoding.Brotli, ContentCoding.Gzip];

    /// <summary>The asset there was no memory for, and what it takes: it is not coded again before there is as much.</summary>
    private (Asset Asset, long Bytes)? _refused;

    public PassOutcome Run(CancellationToken stop)
    {
        CatalogSnapshot snapshot = catalog.Adopt();
        Asset[] assets;
        try
        {
            assets = [.. snapshot.AssetsToCompress().Where(asset => asset.Size <= BodyCoder.BytesMax)];
        }
        finally
        {
            snapshot.Release();
        }

        Array.Sort(assets, BySizeThenPath);
        foreach (Asset asset in assets)
        {
            if (stop.IsCancellationRequested)
            {
                return PassOutcome.Stopped;
            }

            if (catalog.Current != snapshot)
            {
                return PassOutcome.Superseded;
            }

            if (!TryCompress(asset, stop))
            {
                return PassOutcome.NoRoom;
            }
        }

        return stop.IsCancellationRequested ? PassOutcome.Stopped : PassOutcome.Complete;
    }

    /// <summary>False when the memory is used up.</summary>
    private bool TryCompress(Asset asset, CancellationToken stop)
    {
        if (_refused is { } refused && refused.Asset == asset
            && catalog.CompressedBytesHeld + refused.Bytes > compressedBytesTotalMax)
        {
            return false;
        }

        BodyMemory memory = BodyMemory.Allocate(asset.Size, mayHoldDescriptor: false);
        try
        {
            return !TryRead(asset, memory.Body) || TryPublish(asset, memory.Body, stop);
        }
        finally
        {
            memory.Release();
        }
    }

    private bool TryPublish(Asset asset, ReadOnlySpan<byte> body, CancellationToken stop)
    {
        var bodies = new List<CodedBody>(Codings.Length);
        foreach (ContentCoding coding in Codings)
        {
            if (asset.VariantFor(coding) is null && BodyCoder.TryCode(body, coding, stop, out byte[] coded))
            {
                bodies.Add(new CodedBody(coding, coded));
            }
        }

        // Half of the codings would pass for all of them.
        if (stop.IsCancellationRequested || catalog.Publish(asset, bodies) != PublishOutcome.NoRoom)
        {
            return true;
        }

        _refused = (asset, bodies.Sum(coded => BodyMemory.Taken(coded.Bytes.Length)));
        return false;
    }

    /// <summary>
    /// Reads an asset's bytes, if they still are the ones its validators speak of. Where not, the site is about to change.
    /// </summary>
    private bool TryRead(Asset asset, Span<byte> body)
    {
        CatalogSnapshot snapshot = catalog.Adopt();
        try
        {
            // Only an asset that a snapshot to come may hold is sure to be part of the one just leased.
            if (asset.IsRetired)
            {
                return false;
            }

            if (asset.Strategy == BodyStrategy.Baked)
            {
                asset.BakedBody.CopyTo(body);
                return true;
            }

            if (asset.Descriptor != Asset.NoDescriptor)
            {
                return TryRead(asset.Descriptor, asset.State, body);
            }

            int descriptor = snapshot.OpenOnDemand(asset, out _);
            try
            {
                return descriptor >= 0 && TryRead(descriptor, asset.State, body);
            }
            finally
            {
                if (descriptor >= 0)
                {
                    _ = FileCalls.Close(descriptor);
                }
            }
        }
        finally
        {
            snapshot.Release();
        }
    }

    private static bool TryRead(int descriptor, in FileState expected, Span<byte> body) =>
        FileContent.Read(descriptor, body) == body.Length
        && FileState.Read(descriptor, out FileState after) == 0 && after == expected;

    private static int BySizeThenPath(Asset left, Asset right)
    {
        int bySize = left.Size.CompareTo(right.Size);
        return bySize != 0 ? bySize : left.Path.SequenceCompareTo(right.Path);
    }
}
