using System.Diagnostics;
using System.Runtime.CompilerServices;
using Millrace.Engine;
using Millrace.Http;
using Millrace.HttpServer.Bodies;
using Millrace.HttpServer.Heads;
using Millrace.HttpServer.Sessions;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.HttpServer.Http1;

/// <summary>
/// The part of a response that remains to be sent after its head, over HTTP/1.1. It owns the body's source while it is pending. It is sent
/// from memory by reference, by one read directly after the head, in chunks, of which the next is read while the last one is sent, or as it
/// is made. One for each session; reactor thread only.
/// </summary>
/// <remarks>
/// The head has promised a length. A file that no longer has these bytes ends the connection with a reset, never with padding or an
/// apparently complete end. Only while nothing is sent, the head can still be replaced: by 500 for a file that the disk cannot deliver, or,
/// if the whole of a file was read at once, by the head of its present content.
/// </remarks>
internal sealed class ResponseBody(Connection connection, SessionReactorState reactorState)
{
    /// <summary>Small enough to stay in the L2 cache between the read and the send, large enough to make both rare.</summary>
    public const int ChunkBytes = 256 * 1024;

    /// <summary>One chunk being sent with the head before it, and the next chunk read after it: never more is unsent.</summary>
    private const int UnsentBytesMax = ChunkBytes + (32 * 1024);

    private const int DocumentPieceBytes = 64 * 1024;

    /// <summary>The result of a read that fails.</summary>
    private const int Unreadable = -1;

    /// <summary>A file that is written in small steps is written again within this time.</summary>
    private static readonly TimeSpan PagesQuiet = TimeSpan.FromMinutes(1);

    private BodySource _source;
    private UnflushedHead _head;
    private MultipartRanges? _parts;
    private byte[]? _document;
    private BodyStream? _stream;
    private StreamFraming _framing;
    private BodyExtent _extent;
    private long _first;
    private long _bytes;

    public bool IsPending { get; private set; }

    /// <summary>Takes over one range of an asset, whose head is the last output.</summary>
    public void Begin(in BodySource source, in AssetPart part, in UnflushedHead head)
    {
        IsPending = true;
        _source = source;
        _extent = part.Extent;
        _first = part.Range.First;
        _bytes = part.Range.Length;
        _head = head;
    }

    /// <summary>Takes over several ranges of an asset, each with its own part head (RFC 9110, section 14.6).</summary>
    public void Begin(in BodySource source, MultipartRanges parts)
    {
        IsPending = true;
        _source = source;
        _parts = parts;
    }

    /// <summary>
    /// Takes over a long generated document, such as a listing of 50,000 names. It is in the managed heap, which the kernel cannot read,
    /// and is copied as the client reads: a client that reads nothing holds no more of the reactor's memory for it than for a file.
    /// </summary>
    public void Begin(byte[] document)
    {
        IsPending = true;
        _document = document;
    }

    /// <summary>Takes over a body that is made while it is sent.</summary>
    public void Begin(BodyStream stream, StreamFraming framing)
    {
        IsPending = true;
        _stream = stream;
        _framing = framing;
    }

    /// <summary>Sends the remaining bytes. Returns false if the connection is closed, or must close after what was written.</summary>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    public async ValueTask<bool> SendAsync()
    {
        Debug.Assert(IsPending);
        try
        {
            if (_document is not null)
            {
                return await SendDocumentAsync(_document);
            }

            if (_stream is not null)
            {
                return await SendStreamAsync(_stream);
            }

            if (_parts is not null)
            {
                return await SendPartsAsync(_parts);
            }

            if (_source.Asset.Strategy == BodyStrategy.InMemory)
            {
                return await SendMemoryAsync(_first, _bytes);
            }

            bool isWhole = _extent == BodyExtent.Whole;
            if (_source.Asset.Strategy != BodyStrategy.SingleRead || (isWhole ? _bytes >= ChunkBytes : _bytes > ChunkBytes))
            {
                return await SendFileAsync(_first, _bytes, isAfterHead: true);
            }

            // The read of a whole file asks for one byte more than expected, to see whether the file has grown.
            int read = await ReadAsync(_first, (int)_bytes, isWhole ? (int)_bytes + 1 : (int)_bytes);
            if (read == Unreadable)
            {
                return RespondUnreadable();
            }

            BodyChange change = _source.Change(connection.Reactor.Counters.Iterations);
            return FirstRead.Decide(_extent, read == _bytes, change, attempts: 0) switch
            {
                FirstReadOutcome.Send => true,
                FirstReadOutcome.Abort => Abort(),
                _ => await SendChangedAsync(read),
            };
        }
        finally
        {
            Reset();
        }
    }

    private void Reset()
    {
        _stream?.Release();
        if (_document is null && _stream is null)
        {
            bool isHeld = _source.OwnsDescriptor;
            _source.Close();
            if (isHeld)
            {
                connection.ReturnFile();
            }
        }

        // Otherwise a connection that becomes idle would keep the snapshot's tables alive.
        _source = default;
        _head = default;
        _parts = null;
        _document = null;
        _stream = null;
        IsPending = false;
    }

    private bool Abort()
    {
        connection.Abort();
        return false;
    }

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<bool> SendDocumentAsync(byte[] document)
    {
        for (int sent = 0; sent < document.Length; sent += DocumentPieceBytes)
        {
            connection.Write(document.AsSpan(sent, Math.Min(DocumentPieceBytes, document.Length - sent)));
            if (await connection.FlushAsync(ChunkBytes - DocumentPieceBytes) == FlushOutcome.Closed)
            {
                return false;
            }
        }

        return true;
    }

    /// <summary>Sends a body as it is made, and as the client takes it.</summary>
    private async ValueTask<bool> SendStreamAsync(BodyStream stream)
    {
        var progress = new SessionEvent();
        stream.Progressed = progress.Set;
        var body = new StreamedBody(stream, _framing);
        while (!connection.Writer.IsLost)
        {
            switch (body.Write(connection))
            {
                case StreamProgress.Ended:
                    // Without chunks, the end of the connection ends the body.
                    return _framing == StreamFraming.Chunked;
                case StreamProgress.Lost:
                    return Abort();
                case StreamProgress.WaitsForClient:
                    if (await connection.FlushAsync(StreamedBody.UnsentBytesMax / 2) == FlushOutcome.Closed)
                    {
                        return false;
                    }

                    break;
                default:
                    connection.Flush();
                    await progress.WaitAsync();
                    break;
            }
        }

        return false;
    }

    private async ValueTask<bool> SendPartsAsync(MultipartRanges parts)
    {
        for (int i = 0; i < parts.Count; i++)
        {
            connection.Write(parts.HeadOf(i));
            (long first, long bytes) = (parts[i].First, parts[i].Length);
            if (_source.Asset.Strategy == BodyStrategy.InMemory && bytes <= ResponseWriter.CopiedBytesMax)
            {
                connection.Write(_source.Asset.InMemoryBody.Slice((int)first, (int)bytes));
            }
            else if (!await (_source.Asset.Strategy == BodyStrategy.InMemory ? SendMemoryAsync(first, bytes) : SendFileAsync(first, bytes)))
            {
                return false;
            }
        }

        connection.Write(parts.End);
        return true;
    }

    /// <summary>
    /// Sends bytes in native memory by reference. The snapshot is kept until the kernel has taken the bytes or their pages. The pages are
    /// never written again, and they outlive the asset in the sockets that hold them.
    /// </summary>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<bool> SendMemoryAsync(long first, long bytes)
    {
        // A filter's output is the connection's own memory: limit it as for a body that is read.
        long mostAtOnce = connection.Filters.IsEmpty ? bytes : ChunkBytes;
        for (long sent = 0; sent < bytes; sent += mostAtOnce)
        {
            WriteReference(first + sent, (int)Math.Min(mostAtOnce, bytes - sent));
            if (await connection.FlushAsync() == FlushOutcome.Closed)
            {
                return false;
            }
        }

        return true;
    }

    private unsafe void WriteReference(long first, int bytes)
    {
        byte* address = _source.Asset.InMemoryBodyAddress + first;
        if (_source.Descriptor == Asset.NoDescriptor)
        {
            connection.WriteReference(address, bytes);
        }
        else
        {
            connection.WritePages(address, bytes, _source.Descriptor, first);
        }
    }

    /// <summary>Sends a range of the file in chunks, of a large file as pages of the file itself.</summary>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<bool> SendFileAsync(long first, long bytes, bool isAfterHead = false)
    {
        // Pages of a file that was written recently are not sent: a writer can change pages in the socket, but not a copy.
        bool maySendPages = _source.Asset.Strategy == BodyStrategy.SendFile && _source.HasBeenQuietFor(PagesQuiet);
        long end = first + bytes;
        long pagesEnd = maySendPages ? end - connection.FilePages.CopiedBytesAfter : first;
        long pagesEndAt = -1;
        for (long offset = first; offset < end;)
        {
            if (connection.FilePages.ShouldSendFile(_source.Descriptor, offset, pagesEnd - offset))
            {
                isAfterHead = false;
                long sent = await connection.FilePages.SendFileAsync(_source.Descriptor, offset, pagesEnd - offset);
                if (sent < 0)
                {
                    return false;
                }

                // A socket that refuses these pages refuses the remaining ones.
                pagesEnd = sent > 0 ? pagesEnd : first;
                pagesEndAt = sent > 0 ? connection.WrittenBytes : pagesEndAt;
                offset += sent;
            }

            int wanted = (int)Math.Min(ChunkBytes, end - offset);
            if (offset + wanted == end && pagesEndAt >= 0 && !await connection.FilePages.AcknowledgedAsync(pagesEndAt))
            {
                return Abort();
            }

            int count = await ReadAsync(offset, enough: 1, wanted);
            if (count == Unreadable && offset == first && isAfterHead)
            {
                return RespondUnreadable();
            }

            offset += Math.Max(0, count);

            // If the file was rewritten: the response is not complete yet, so the client does not take it for complete. Nothing may be
            // awaited after the read: the bytes could be sent meanwhile.
            if (count <= 0 || (offset == end && _source.Change() == BodyChange.Rewritten))
            {
                return Abort();
            }

            if (await connection.FlushAsync(UnsentBytesMax) == FlushOutcome.Closed)
            {
                return false;
            }
        }

        return true;
    }

    /// <summary>
    /// Reads the file after what is written, until there are enough bytes or the file ends. Returns the number of bytes, or <see
    /// cref="Unreadable"/>, with nothing added to the output, if the read fails.
    /// </summary>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<int> ReadAsync(long first, int enough, int most)
    {
        int read = 0;
        try
        {
            while (read < enough)
            {
                int count = await connection.ReadFileAsync(_source.Descriptor, first + read, most - read);
                if (count == 0)
                {
                    break;
                }

                read += count;
            }
        }
        catch (IOException)
        {
            // The engine counts and logs it.
            connection.Retract(read);
            return Unreadable;
        }

        return read;
    }

    /// <summary>
    /// Sends a file that turned out to differ from its head before anything was sent. Reads it again until no write happens in between, and
    /// sends that content without the validators of the earlier version. A file larger than one read is sent in chunks. A file that is
    /// written continuously is answered with 500.
    /// </summary>
    /// <param name="read">The number of body bytes after the head.</param>
    private async ValueTask<bool> SendChangedAsync(int read)
    {
        connection.Retract(read);
        for (int attempts = 1; ; attempts++)
        {
            _source = _source.Renewed();
            if (_source.Size >= ChunkBytes)
            {
                return await SendInChunksAsync();
            }

            int wanted = (int)_source.Size + 1;
            nint body = ReserveBody(wanted);
            read = await ReadAsync(0, (int)_source.Size, wanted);
            if (read == Unreadable)
            {
                return RespondUnreadable();
            }

            connection.Retract(read);

            // Fewer bytes than its size and no write: the reported size is wrong, and the bytes that can be read are the file.
            switch (FirstRead.Decide(BodyExtent.Whole, isAsLong: read <= _source.Size, _source.Change(), attempts))
            {
                case FirstReadOutcome.Send:
                    ReplaceHead(read);
                    WriteRead(body, read);
                    return true;
                case FirstReadOutcome.Refuse:
                    return RespondUnreadable();
            }
        }
    }

    private unsafe nint ReserveBody(int bytes) => (nint)Unsafe.AsPointer(ref connection.GetSpan(bytes)[0]);

    private unsafe void WriteRead(nint body, int bytes) => connection.WriteReference((byte*)body, bytes);

    /// <summary>
    /// Sends a file whose head has no length because the file was changing, up to its size at opening: in chunks (RFC 9112, section 7.1),
    /// or until the end of the connection for HTTP/1.0.
    /// </summary>
    private async ValueTask<bool> SendInChunksAsync()
    {
        bool inChunks = _head.Version == HttpVersion.Http11;
        ReplaceHead(BodyDescription.UnknownBytes);
        for (long offset = 0; offset < _source.Size; offset += ChunkBytes)
        {
            long bytes = Math.Min(ChunkBytes, _source.Size - offset);
            if (inChunks)
            {
                Chunk.WriteSize(connection, bytes);
            }

            if (!await SendFileAsync(offset, bytes))
            {
                return false;
            }

            if (inChunks)
            {
                connection.Write("\r\n"u8);
            }
        }

        if (inChunks)
        {
            connection.Write("0\r\n\r\n"u8);
        }

        // Otherwise the end of the connection ends the body.
        return inChunks;
    }

    /// <summary>Replaces the head, which is the last output, by one without the validators of the earlier version.</summary>
    /// <param name="bytes">The body's length, or <see cref="BodyDescription.UnknownBytes"/>.</param>
    private void ReplaceHead(long bytes)
    {
        connection.Retract(_head.Bytes);
        ResponsePlan plan = ResponsePlan.Whole(_head.Status, _source.Asset, _head.Fields);
        int bytesMax = PlanHeadWriter.BytesMax<ResponseHeadWriter>(plan, PlanHeadWriter.NoScratch) + _head.OwnBytes;
        var writer = new ResponseHeadWriter(connection.GetSpan(bytesMax));
        PlanHeadWriter.WriteUncertain(ref writer, plan, new BodyDescription(bytes));
        writer.Lines(_head.OwnLines);
        bool isUnframed = bytes == BodyDescription.UnknownBytes && _head.Version != HttpVersion.Http11;
        if (bytes == BodyDescription.UnknownBytes && !isUnframed)
        {
            writer.Field("Transfer-Encoding"u8, "chunked"u8);
        }

        connection.Advance(ResponseWriter.Finish(ref writer, reactorState, isUnframed ? ResponseWriter.CloseLine : _head.ConnectionLine));
        _head.Exchange?.BeginBody(connection.WrittenBytes);
    }

    /// <summary>Replaces the head, which is the last output, by an error. Returns false: the connection closes after it.</summary>
    private bool RespondUnreadable()
    {
        connection.Retract(_head.Bytes);
        var error = new UnplannedError(500, _head.PrefersHtml);
        ResponseWriter.WriteError(connection, reactorState, error, ResponseWriter.CloseLine, includesBody: true, _head.Exchange);
        return false;
    }
}
