using System.Buffers;
using System.Diagnostics;
using System.IO.Pipelines;
using Microsoft.AspNetCore.Http;
using Millrace.Http;
using Millrace.StaticFiles.Catalog;
using Millrace.StaticFiles.Planning;

namespace Millrace.AspNetCore.StaticFiles.Bodies;

/// <summary>
/// A body that is left to send behind a head that is set: bytes in memory, a part of a file or several. <see cref="RunAsync"/> owns the
/// source and the lease it was opened under, and gives both back.
/// </summary>
internal readonly struct BodySend
{
    /// <summary>
    /// What is read and flushed at once: large enough to make system calls rare, small enough to stay in the L2 cache between the read and
    /// the send. Kestrel's back-pressure begins at the same 64 KiB.
    /// </summary>
    public const int BlockBytes = 64 * 1024;

    private readonly BodySource _source;
    private readonly byte[]? _array;
    private readonly MultipartRanges? _parts;
    private readonly ByteRange _range;
    private readonly BodyExtent _extent;

    private BodySend(BodySource source, byte[]? array, MultipartRanges? parts, ByteRange range, BodyExtent extent)
    {
        _source = source;
        _array = array;
        _parts = parts;
        _range = range;
        _extent = extent;
        IsPending = true;
    }

    public bool IsPending { get; }

    private bool IsInMemory => _parts is null && (_array is not null || _source.Asset.Strategy == BodyStrategy.Baked);

    private ReadOnlySpan<byte> Memory =>
        _array is not null ? _array : _source.Asset.BakedBody.Slice((int)_range.First, (int)_range.Length);

    public static BodySend Of(byte[] array) => new(default, array, null, default, BodyExtent.Whole);

    public static BodySend Of(in BodySource source, ByteRange range, BodyExtent extent) => new(source, null, null, range, extent);

    public static BodySend Of(in BodySource source, MultipartRanges parts) => new(source, null, parts, default, BodyExtent.Ranges);

    /// <summary>Sends it. What is small and in memory is written at once, and the task is complete.</summary>
    public Task RunAsync(HttpContext context, SnapshotLease lease)
    {
        Debug.Assert(IsPending, "there is a body");
        if (!IsInMemory || Memory.Length > BlockBytes || ReplacedBody.Is(context))
        {
            return SendAsync(context, lease, Task.CompletedTask);
        }

        Task start = StartAsync(context);
        if (!start.IsCompletedSuccessfully)
        {
            return SendAsync(context, lease, start);
        }

        try
        {
            context.Response.BodyWriter.Write(Memory);
            return Task.CompletedTask;
        }
        finally
        {
            Close(lease);
        }
    }

    /// <summary>
    /// Has the head written: what follows then goes straight to where the socket is fed from; before, it would be set aside and copied
    /// once more.
    /// </summary>
    private static Task StartAsync(HttpContext context)
    {
        try
        {
            return context.Response.StartAsync();
        }
        catch (Exception error)
        {
            // Thrown where it is awaited, so that source and lease are given back in one place.
            return Task.FromException(error);
        }
    }

    private async Task SendAsync(HttpContext context, SnapshotLease lease, Task start)
    {
        try
        {
            await start;
            await SendAsync(context);
        }
        catch (OperationCanceledException) when (context.RequestAborted.IsCancellationRequested)
        {
            // The client is gone, and nobody waits for the rest.
        }
        finally
        {
            Close(lease);
        }
    }

    private Task SendAsync(HttpContext context) =>
        _parts is not null ? PartsBody.SendAsync(context, _source, _parts)
        : IsInMemory ? SendMemoryAsync(context)
        : _extent == BodyExtent.Whole && WholeFileBody.CanSend(_source) ? WholeFileBody.SendAsync(context, _source)
        : FileBody.SendAsync(context, _source, _range);

    /// <summary>Sends what is in memory, block by block; the source stays open. False when nobody reads any more.</summary>
    public async Task<bool> SendMemoryAsync(HttpContext context)
    {
        PipeWriter writer = context.Response.BodyWriter;
        int length = Memory.Length;
        for (int at = 0; at < length; at += BlockBytes)
        {
            writer.Write(Memory.Slice(at, Math.Min(BlockBytes, length - at)));
            if ((await writer.FlushAsync(context.RequestAborted)).IsCompleted)
            {
                return false;
            }
        }

        return true;
    }

    private void Close(SnapshotLease lease)
    {
        _source.Close();
        lease.Release();
    }
}
