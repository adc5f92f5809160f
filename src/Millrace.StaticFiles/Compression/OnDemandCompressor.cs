using System.Diagnostics.CodeAnalysis;
using Millrace.Http;
using Millrace.StaticFiles.Scanning;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Compression;

/// <summary>
/// Compresses files that clients ask for before background compression has reached them: quickly, with gzip, each version of a file at most
/// once. No request waits for it. Works on the thread pool, on one file at a time. Any thread requests; an unexpected error is reported.
/// Dispose it before its catalog.
/// </summary>
internal sealed class OnDemandCompressor(AssetCatalog catalog, Action<Exception> failed, EncodeBody code) : IThreadPoolWorkItem, IDisposable
{
    /// <summary>Of the usual text, the last of these waits some tens of milliseconds. A file beyond them is requested again.</summary>
    public const int WaitingMax = 64;

    /// <summary>Guards the queue. No allocation, and held briefly: reactors take it, once for each file.</summary>
    private readonly object _monitor = new();
    private readonly Queue<Asset> _waiting = new(WaitingMax);
    private readonly CancellationTokenSource _stop = new();
    private bool _isRunning;

    /// <summary>Has a file compressed for the clients after one that gets it plain, if that one would have had gzip.</summary>
    public void EnqueueIfWanted(Asset file, Asset chosen, ReadOnlySpan<byte> acceptEncoding)
    {
        if (chosen == file
            && file.WantsInterim
            && AcceptEncoding.TryChoose(acceptEncoding, CodingSet.Identity | CodingSet.Gzip, out ContentCoding coding)
            && coding == ContentCoding.Gzip)
        {
            Enqueue(file);
        }
    }

    /// <summary>Has a file compressed unless that was requested before, or too many wait.</summary>
    public void Enqueue(Asset asset)
    {
        lock (_monitor)
        {
            if (asset.IsInterimQueued || _waiting.Count == WaitingMax || _stop.IsCancellationRequested)
            {
                return;
            }

            asset.IsInterimQueued = true;
            _waiting.Enqueue(asset);
            if (_isRunning)
            {
                return;
            }

            _isRunning = true;
        }

        ThreadPool.UnsafeQueueUserWorkItem(this, preferLocal: false);
    }

    /// <summary>Waits for the piece being compressed: a millisecond.</summary>
    public void Dispose()
    {
        lock (_monitor)
        {
            _stop.Cancel();
            while (_isRunning)
            {
                Monitor.Wait(_monitor);
            }
        }

        _stop.Dispose();
    }

    void IThreadPoolWorkItem.Execute()
    {
        while (TryTake(out Asset? asset))
        {
            try
            {
                Compress(asset);
            }
#pragma warning disable CA1031 // It is reported; background compression tries the file again.
            catch (Exception error)
#pragma warning restore CA1031
            {
                failed(error);
            }
        }
    }

    private bool TryTake([NotNullWhen(true)] out Asset? asset)
    {
        lock (_monitor)
        {
            asset = null;
            if (!_stop.IsCancellationRequested && _waiting.TryDequeue(out asset))
            {
                return true;
            }

            _isRunning = false;
            Monitor.PulseAll(_monitor);
            return false;
        }
    }

    private void Compress(Asset asset)
    {
        if (asset.IsBackgroundCompressed || !catalog.HasRoomForInterim)
        {
            return;
        }

        BodyMemory memory = BodyMemory.Allocate(asset.Size, mayHoldDescriptor: false);
        try
        {
            if (AssetReader.TryRead(catalog, asset, memory.Body) && code(memory.Body, ContentCoding.Gzip, _stop.Token, out byte[] coded))
            {
                // If memory is short or the file has changed, it is sent uncompressed.
                _ = catalog.Publish(asset, [new CodedBody(ContentCoding.Gzip, coded)], AssetOrigin.Interim);
            }
        }
        finally
        {
            memory.Release();
        }
    }
}
