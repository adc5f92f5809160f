using Millrace.Http;
using Millrace.StaticFiles.Scanning;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Compression;

/// <summary>
/// Compresses the files of a site that are worth it and not done yet, smallest first: small files gain most for their memory. Holds a lease
/// only while it reads a file, so that it keeps no old snapshot alive. An unexpected error is reported; it is about one file, and the
/// others are compressed. Files that keep changing wait. One thread.
/// </summary>
internal sealed class CompressionPass(
    AssetCatalog catalog, long compressedBytesTotalMax, Action<Exception> failed, EncodeBody code, TimeProvider clock)
{
    /// <summary>The first pause after a result that was made in vain.</summary>
    public static readonly TimeSpan PauseMin = TimeSpan.FromSeconds(1);

    private readonly ChangeBackoff _backoff = new(clock, PauseMin);

    /// <summary>The asset for which memory was short, and its bytes: it is not compressed again before that much is free.</summary>
    private (Asset Asset, long Bytes)? _refused;

    /// <summary>The time until a file that changed has waited long enough; null if none waits.</summary>
    public TimeSpan? NextDue => _backoff.NextDue;

    public PassOutcome Run(CancellationToken stop)
    {
        _backoff.Begin();
        CatalogSnapshot snapshot = catalog.Acquire();
        Asset[] assets;
        try
        {
            assets = [.. snapshot.AssetsToCompress().Where(NeedsCoding)
                .OrderBy(static asset => asset.Size).ThenBy(static asset => asset.SitePath, SitePath.ByBytes)];
        }
        finally
        {
            snapshot.Release();
        }

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

            if (!_backoff.IsDue(asset.SitePath, asset))
            {
                continue;
            }

            try
            {
                if (!TryCompress(asset, stop))
                {
                    return PassOutcome.NoRoom;
                }
            }
#pragma warning disable CA1031 // It is reported; the file is tried again in the next pass.
            catch (Exception error)
#pragma warning restore CA1031
            {
                failed(error);
            }
        }

        return stop.IsCancellationRequested ? PassOutcome.Stopped : PassOutcome.Complete;
    }

    private static bool NeedsCoding(Asset asset)
    {
        if (asset.Size > BodyCoder.BytesMax)
        {
            return false;
        }

        foreach (ContentCoding coding in BodyCoder.Codings)
        {
            if (Needs(asset, coding))
            {
                return true;
            }
        }

        return false;
    }

    /// <summary>
    /// Beside a brotli file no zstd is made: clients that accept zstd accept brotli, and a site whose files are compressed already saves
    /// the time and the memory.
    /// </summary>
    private static bool Needs(Asset asset, ContentCoding coding) => asset.AcceptsVariant(AssetOrigin.Background, coding)
        && (coding != ContentCoding.Zstd || asset.VariantFor(ContentCoding.Brotli) is not { Origin: AssetOrigin.Sibling });

    /// <summary>False if memory is short.</summary>
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
            return !AssetReader.TryRead(catalog, asset, memory.Body) || TryPublish(asset, memory.Body, stop);
        }
        finally
        {
            memory.Release();
        }
    }

    private bool TryPublish(Asset asset, ReadOnlySpan<byte> body, CancellationToken stop)
    {
        var bodies = new List<CodedBody>(BodyCoder.Codings.Length);
        long beganAt = clock.GetTimestamp();
        foreach (ContentCoding coding in BodyCoder.Codings)
        {
            if (Needs(asset, coding) && code(body, coding, stop, out byte[] coded))
            {
                bodies.Add(new CodedBody(coding, coded));
            }
        }

        _backoff.Spent(asset.SitePath, asset, clock.GetElapsedTime(beganAt));

        // Some codings only would count as all of them.
        if (stop.IsCancellationRequested || catalog.Publish(asset, bodies) != PublishOutcome.NoRoom)
        {
            return true;
        }

        _refused = (asset, bodies.Sum(coded => BodyMemory.AllocatedBytes(coded.Bytes.Length)));
        return false;
    }
}

/// <summary>Codes a body; false if too little is gained, or it was cancelled.</summary>
internal delegate bool EncodeBody(ReadOnlySpan<byte> body, ContentCoding coding, CancellationToken stop, out byte[] coded);

/// <summary>The result of a pass over a site.</summary>
internal enum PassOutcome
{
    Complete,

    /// <summary>Memory is short. More becomes available when old variants are freed.</summary>
    NoRoom,

    /// <summary>The site changed meanwhile; another pass is needed.</summary>
    Superseded,

    Stopped,
}
