using System.Buffers;
using System.Diagnostics;
using System.IO.Pipelines;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Millrace.Http;
using Millrace.StaticFiles.Archives;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.AspNetCore.StaticFiles.Bodies;

/// <summary>
/// A body to send after its head: bytes in memory, one part of a file or several, an archive. <see cref="RunAsync"/> owns the source and
/// the lease under which it was opened, and releases both.
/// </summary>
internal readonly struct BodySender
{
    /// <summary>
    /// Bytes read and flushed at a time: large enough to make system calls rare, small enough to stay in the L2 cache between the read and
    /// the send. Kestrel's back-pressure begins at the same 64 KiB.
    /// </summary>
    public const int BlockBytes = 64 * 1024;

    private readonly BodySource _source;
    private readonly ReadOnlyMemory<byte>? _bytes;
    private readonly MultipartRanges? _parts;
    private readonly ByteRange _range;
    private readonly BodyExtent _extent;
    private readonly ArchiveProducer? _archive;

    private BodySender(ArchiveProducer archive)
    {
        _archive = archive;
        IsPending = true;
    }

    private BodySender(BodySource source, ReadOnlyMemory<byte>? bytes, MultipartRanges? parts, ByteRange range, BodyExtent extent)
    {
        _source = source;
        _bytes = bytes;
        _parts = parts;
        _range = range;
        _extent = extent;
        IsPending = true;
    }

    public bool IsPending { get; }

    private bool IsInMemory =>
        _parts is null && _archive is null && (_bytes is not null || _source.Asset.Strategy == BodyStrategy.InMemory);

    private ReadOnlySpan<byte> Memory =>
        _bytes is { } bytes ? bytes.Span : _source.Asset.InMemoryBody.Slice((int)_range.First, (int)_range.Length);

    /// <summary>Bytes that are not changed until they are sent.</summary>
    public static BodySender Of(ReadOnlyMemory<byte> bytes) => new(default, bytes, null, default, BodyExtent.Whole);

    public static BodySender Of(in BodySource source, ByteRange range, BodyExtent extent) => new(source, null, null, range, extent);

    public static BodySender Of(in BodySource source, MultipartRanges parts) => new(source, null, parts, default, BodyExtent.Ranges);

    public static BodySender Of(ArchiveProducer archive) => new(archive);

    /// <summary>
    /// Whether an earlier middleware has replaced the body stream, as caches and loggers do by setting <see cref="HttpResponse.Body"/>. A
    /// server sends unflushed output of its writer when the request ends; the writer over a replaced stream drops it. Nor has the response
    /// necessarily started when that stream holds bytes. In Kestrel, for every version of HTTP, and in TestServer one object implements
    /// both features; with a server that uses two objects, each body is flushed once more than necessary.
    /// </summary>
    public static bool IsReplaced(HttpContext context) =>
        !ReferenceEquals(context.Features.Get<IHttpResponseBodyFeature>(), context.Features.Get<IHttpResponseFeature>());

    /// <summary>
    /// Whether what is not flushed is lost when the request ends: also over HTTP/3, where Kestrel finds that unexpected.
    /// </summary>
    public static bool NeedsFlush(HttpContext context) => IsReplaced(context) || HttpProtocol.IsHttp3(context.Request.Protocol);

    /// <summary>Sends the body. A small body in memory is written at once, and the task is complete.</summary>
    public Task RunAsync(HttpContext context, SnapshotLease lease)
    {
        Debug.Assert(IsPending, "there is a body");
        if (!IsInMemory || Memory.Length > BlockBytes || NeedsFlush(context))
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
    /// Starts the response: later writes go straight to the connection's output. Writes before the start would be buffered and copied once
    /// more.
    /// </summary>
    private static Task StartAsync(HttpContext context)
    {
        try
        {
            return context.Response.StartAsync();
        }
#pragma warning disable CA1031 // It is thrown where the task is awaited, so that source and lease are given back in one place.
        catch (Exception error)
#pragma warning restore CA1031
        {
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
            // The client has disconnected.
        }
        finally
        {
            Close(lease);
        }
    }

    private Task SendAsync(HttpContext context) =>
        _archive is not null ? ArchiveBody.SendAsync(context, _archive)
        : _parts is not null ? SendPartsAsync(context, _source, _parts)
        : IsInMemory ? SendMemoryAsync(context)
        : _extent == BodyExtent.Whole && WholeFileBody.CanSend(_source) ? WholeFileBody.SendAsync(context, _source)
        : FileBody.SendAsync(context, _source, _range);

    /// <summary>Sends several ranges of one file, each after its part head.</summary>
    private static async Task SendPartsAsync(HttpContext context, BodySource source, MultipartRanges parts)
    {
        await context.Response.StartAsync(context.RequestAborted);
        PipeWriter writer = context.Response.BodyWriter;
        for (int i = 0; i < parts.Count; i++)
        {
            writer.Write(parts.HeadOf(i));
            bool isSent = source.Asset.Strategy == BodyStrategy.InMemory
                ? await Of(source, parts[i], BodyExtent.Range).SendMemoryAsync(context)
                : await FileBody.SendAsync(context, source, parts[i], isBegun: true);
            if (!isSent)
            {
                return;
            }
        }

        writer.Write(parts.End);

        // At the end of a request Kestrel flushes only if nothing was flushed before.
        await writer.FlushAsync(context.RequestAborted);
    }

    /// <summary>Sends bytes in memory, block by block; the source stays open. False if the reader has completed.</summary>
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
        _archive?.Dispose();
        lease.Release();
    }
}
