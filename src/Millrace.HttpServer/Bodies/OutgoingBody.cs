using System.Diagnostics;
using Millrace.Engine;
using Millrace.Engine.Buffers;
using Millrace.Engine.Connections;
using Millrace.Http;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.HttpServer.Bodies;

/// <summary>
/// The bytes of one response body that are not in the output yet. It owns the body's source, and the last chunk read from a file, until all
/// bytes are written or <see cref="Release"/>, before which a read in progress must have ended. Bytes are copied into the output (of
/// HTTP/2 a frame takes at most 16 KB, for which two more parts of a send cost as much), except those that QUIC sends from the snapshot's
/// memory. Reactor thread only.
/// </summary>
internal sealed unsafe class OutgoingBody
{
    /// <summary>The size of one read: it stays in the L2 cache until it is sent, and does not delay others for long.</summary>
    public const int ChunkBytes = 128 * 1024;

    private BodyPiece _piece;
    private byte[] _text = [];
    private BodyStream? _stream;
    private bool _ownsStream;
    private BodySource _source;
    private bool _ownsSource;

    /// <summary>The connection that the file was opened for, if it was opened for this response alone.</summary>
    private IClientConnection? _fileHolder;
    private MultipartRanges? _parts;
    private int _part;
    private long _at;
    private long _end;
    private IClientConnection? _holder;
    private Block _chunk;
    private int _chunkAt;
    private int _chunkEnd;

    /// <summary>The bytes that are still to be written; 0 for a stream, whose end its producer tells.</summary>
    public long Remaining { get; private set; }

    /// <summary>The producer of a body that is made while it is sent; otherwise null.</summary>
    public BodyStream? Stream => _stream;

    /// <summary>The remaining bytes that reads can bring in sequence: of several ranges, those of the present one.</summary>
    public long RemainingInPiece => _end - _at;

    /// <summary>Bytes that can be written now.</summary>
    public int Ready => _stream is not null ? _stream.Available.Length
        : _piece == BodyPiece.File ? _chunkEnd - _chunkAt : (int)Math.Min(int.MaxValue, RemainingInPiece);

    /// <summary>The next bytes are in the snapshot's memory: they stay as they are until <see cref="Release"/>.</summary>
    public bool IsInMemory => _piece == BodyPiece.InMemory;

    /// <summary>The output refers to bytes of the source: that is kept after the last one is taken, until <see cref="Release"/>.</summary>
    public bool IsReferenced { get; set; }

    public bool NeedsRead => Remaining > 0 && Ready == 0;

    public bool IsReading { get; private set; }

    /// <summary>The source, whose file can be checked for changes.</summary>
    public ref readonly BodySource Source => ref _source;

    /// <summary>Whether a read that ends here ends the promised range or file.</summary>
    private bool IsAtEndOfPiece => _at + _chunkEnd - _chunkAt == _end;

    public void BeginText(byte[] text)
    {
        _text = text;
        Remaining = text.Length;
        Enter(BodyPiece.Text, 0, text.Length);
    }

    /// <summary>Begins a part of an asset. Takes ownership of the source.</summary>
    public void Begin(in BodySource source, long first, long bytes)
    {
        TakeOver(source);
        Remaining = bytes;
        Enter(source.Asset.Strategy == BodyStrategy.InMemory ? BodyPiece.InMemory : BodyPiece.File, first, bytes);
    }

    /// <summary>Begins a body that is made while it is sent.</summary>
    /// <param name="stream">Its producer.</param>
    /// <param name="owns">Whether it releases the producer; otherwise the caller does.</param>
    public void Begin(BodyStream stream, bool owns = false)
    {
        Debug.Assert(_piece == BodyPiece.None);
        _stream = stream;
        _ownsStream = owns;
    }

    /// <summary>Whether the body ends with so many bytes more.</summary>
    public bool EndsAfter(int count) => _stream is null
        ? count == Remaining
        : _stream.State == BodyStreamState.Complete && count == _stream.Available.Length && _stream.TrailerLines.IsEmpty;

    /// <summary>Begins several ranges of an asset. Takes ownership of the source.</summary>
    public void Begin(in BodySource source, MultipartRanges parts)
    {
        TakeOver(source);
        _parts = parts;
        _part = 0;
        Remaining = parts.Bytes;
        Enter(BodyPiece.PartHead, 0, parts.HeadOf(0).Length);
    }

    /// <summary>Begins again with the whole file as it is now, because it differs from the expected one.</summary>
    public void Restart()
    {
        Debug.Assert(_piece == BodyPiece.File && _parts is null);
        DropChunk();
        _source = _source.Renewed();
        Remaining = _source.Size;
        Enter(BodyPiece.File, 0, _source.Size);
    }

    /// <summary>Whether the file must be opened before it is read.</summary>
    public bool IsDeferred => _source.IsDeferred;

    /// <summary>Opens the file, if the connection's client may have one more.</summary>
    public BodyOpening TryOpen(IClientConnection connection)
    {
        BodyOpening opening = _source.TryOpenDeferred(out BodySource opened);
        return opening == BodyOpening.Opened ? TryTake(opened, connection) : opening;
    }

    /// <summary>Begins again with the original, all of it, as the file of a sibling is another one now.</summary>
    public BodyOpening TryOpenOriginal(IClientConnection connection)
    {
        BodyOpening opening = _source.TryOpenOriginal(out BodySource opened);
        if (opening == BodyOpening.Opened && (opening = TryTake(opened, connection)) == BodyOpening.Opened)
        {
            _parts = null;
            Remaining = opened.Size;
            Enter(opened.Asset.Strategy == BodyStrategy.InMemory ? BodyPiece.InMemory : BodyPiece.File, 0, opened.Size);
        }

        return opening;
    }

    private BodyOpening TryTake(in BodySource opened, IClientConnection connection)
    {
        if (opened.OwnsDescriptor)
        {
            if (!connection.Holdings.TryHoldFile(opened.Descriptor))
            {
                opened.CloseFile();
                return BodyOpening.Exhausted;
            }

            _fileHolder = connection;
        }

        _source = opened;
        return BodyOpening.Opened;
    }

    /// <summary>
    /// Reads the next chunk. A read to the end of the file asks for one byte more than expected, to see whether the file has grown.
    /// </summary>
    /// <param name="connection">The connection whose memory and reactor are used.</param>
    /// <param name="most">The maximum number of bytes to hold.</param>
    public ValueTask<int> ReadAsync(IClientConnection connection, int most)
    {
        Debug.Assert(NeedsRead && !IsReading && _piece == BodyPiece.File);
        long remaining = RemainingInPiece;
        int wanted = remaining >= most ? most : (int)remaining + (_end == _source.Size ? 1 : 0);
        Debug.Assert(!_source.IsDeferred);
        Reactor reactor = connection.Reactor;
        _chunk = reactor.Pools.Rent(wanted, connection);
        _holder = connection;
        connection.Holdings.ChargeBlocks(_chunk.Bytes);
        IsReading = true;
        return reactor.ReadDescriptorAsync(_source.Descriptor, _chunk.Address, wanted, _at);
    }

    /// <summary>Ends a read with its byte count, or a negative number for a failure.</summary>
    public ChunkState EndRead(int bytes)
    {
        IsReading = false;
        if (bytes <= 0)
        {
            DropChunk();
            return bytes < 0 ? ChunkState.Unreadable : ChunkState.Short;
        }

        long remaining = RemainingInPiece;
        _chunkAt = 0;
        _chunkEnd = (int)Math.Min(bytes, remaining);
        return bytes > remaining ? ChunkState.Long : IsAtEndOfPiece ? ChunkState.Last : ChunkState.Next;
    }

    /// <summary>The next bytes, at most <see cref="Ready"/>, valid until they are taken.</summary>
    public ReadOnlySpan<byte> Next(int count)
    {
        Debug.Assert(count <= Ready && count > 0);
        return _stream is not null ? _stream.Available[..count] : _piece switch
        {
            BodyPiece.File => new ReadOnlySpan<byte>(_chunk.Address + _chunkAt, count),
            BodyPiece.InMemory => _source.Asset.InMemoryBody.Slice((int)_at, count),
            BodyPiece.PartHead => _parts!.HeadOf(_part).Slice((int)_at, count),
            BodyPiece.PartsEnd => _parts!.End.Slice((int)_at, count),
            _ => _text.AsSpan((int)_at, count),
        };
    }

    /// <summary>Takes bytes that are in the output.</summary>
    public void Take(int count)
    {
        Debug.Assert(count <= Ready && count > 0);
        if (_stream is not null)
        {
            _stream.Consume(count);
            return;
        }

        _at += count;
        Remaining -= count;
        if (_piece == BodyPiece.File && (_chunkAt += count) == _chunkEnd)
        {
            DropChunk();
        }

        if (Remaining == 0)
        {
            ReleaseUnreferenced();
        }
        else if (_at == _end)
        {
            EnterNextPiece();
        }
    }

    /// <summary>All bytes are in the output: releases what that does not refer to.</summary>
    public void ReleaseUnreferenced()
    {
        if (!IsReferenced)
        {
            Release();
        }
    }

    /// <summary>Releases what it holds; a second call has no effect.</summary>
    public void Release()
    {
        Debug.Assert(!IsReading, "the kernel still writes to it");
        DropChunk();
        if (_ownsSource)
        {
            _ownsSource = false;
            _fileHolder?.Holdings.ReturnFile();
            _fileHolder = null;
            _source.Close();
            _source = default;
        }

        if (_ownsStream)
        {
            _ownsStream = false;
            _stream!.Release();
        }

        IsReferenced = false;
        _parts = null;
        _stream = null;
        _text = [];
        _piece = BodyPiece.None;
        _at = _end = Remaining = 0;
    }

    /// <summary>Releases a chunk that was read but not written: it is read again when it is needed.</summary>
    public void DropChunk()
    {
        Debug.Assert(!IsReading, "the kernel still writes to it");
        if (!_chunk.IsNone)
        {
            _holder!.Holdings.ChargeBlocks(-_chunk.Bytes);
            _holder.Reactor.Pools.Return(_chunk);
            _chunk = default;
        }

        _chunkAt = _chunkEnd = 0;
    }

    private void TakeOver(in BodySource source)
    {
        Debug.Assert(!_ownsSource);
        _source = source;
        _ownsSource = true;
    }

    private void Enter(BodyPiece piece, long first, long bytes) => (_piece, _at, _end) = (piece, first, first + bytes);

    private void EnterNextPiece()
    {
        MultipartRanges parts = _parts!;
        if (_piece == BodyPiece.PartHead)
        {
            BodyPiece piece = _source.Asset.Strategy == BodyStrategy.InMemory ? BodyPiece.InMemory : BodyPiece.File;
            Enter(piece, parts[_part].First, parts[_part].Length);
        }
        else if (++_part < parts.Count)
        {
            Enter(BodyPiece.PartHead, 0, parts.HeadOf(_part).Length);
        }
        else
        {
            Enter(BodyPiece.PartsEnd, 0, parts.End.Length);
        }
    }
}

/// <summary>Where the next bytes of a body are.</summary>
internal enum BodyPiece : byte
{
    None,

    /// <summary>In an array.</summary>
    Text,

    /// <summary>In the snapshot's memory.</summary>
    InMemory,

    /// <summary>In a file that is read chunk by chunk.</summary>
    File,

    /// <summary>Before a range: its delimiter and fields.</summary>
    PartHead,

    /// <summary>After the last range.</summary>
    PartsEnd,
}

/// <summary>The result of a file read, compared with the promised bytes.</summary>
internal enum ChunkState : byte
{
    /// <summary>Bytes, with more to come.</summary>
    Next,

    /// <summary>The last of the promised bytes.</summary>
    Last,

    /// <summary>More than the file should hold.</summary>
    Long,

    /// <summary>Nothing: the file ends too early.</summary>
    Short,

    /// <summary>The read failed.</summary>
    Unreadable,
}
