using System.Diagnostics;
using Millrace.Engine;
using Millrace.Engine.Buffers;
using Millrace.Http;
using Millrace.StaticFiles.Catalog;

namespace Millrace.Web.Http2;

/// <summary>
/// The bytes of one answer's body that are not in the output yet, wherever they are. It owns the body's source, and the chunk of a file
/// that was read last, until all is taken or <see cref="Release"/>; a read that is under way must have ended before. They are copied into
/// the output: a frame takes no more than 16 KB, for which two more parts of a send cost as much. Reactor thread only.
/// </summary>
internal sealed unsafe class OutgoingBody
{
    /// <summary>What one read brings: it stays in the L2 cache until it is sent, and is not so long that others wait for it.</summary>
    public const int ChunkBytes = 128 * 1024;

    private BodyPiece _piece;
    private byte[] _text = [];
    private BodySource _source;
    private bool _ownsSource;
    private MultipartRanges? _parts;
    private int _part;
    private long _at;
    private long _end;
    private BlockPools? _pools;
    private Block _chunk;
    private int _chunkAt;
    private int _chunkEnd;

    /// <summary>Bytes that are still to be taken.</summary>
    public long Left { get; private set; }

    /// <summary>As far as one read can bring them: of several ranges those of one.</summary>
    public long LeftOfPiece => _end - _at;

    /// <summary>Bytes that can be taken now.</summary>
    public int Ready => _piece == BodyPiece.File ? _chunkEnd - _chunkAt : (int)Math.Min(int.MaxValue, LeftOfPiece);

    public bool NeedsRead => Left > 0 && Ready == 0;

    public bool IsReading { get; private set; }

    /// <summary>Where its file is looked at again.</summary>
    public ref readonly BodySource Source => ref _source;

    /// <summary>Whether a read that ends here ends the range, or the file, that was promised.</summary>
    private bool IsAtEndOfPiece => _at + _chunkEnd - _chunkAt == _end;

    public void BeginText(byte[] text)
    {
        _text = text;
        Left = text.Length;
        Enter(BodyPiece.Text, 0, text.Length);
    }

    /// <summary>So many bytes of an asset. Takes the source over.</summary>
    public void Begin(in BodySource source, long first, long bytes)
    {
        TakeOver(source);
        Left = bytes;
        Enter(source.Asset.Strategy == BodyStrategy.Baked ? BodyPiece.Baked : BodyPiece.File, first, bytes);
    }

    /// <summary>Several ranges of an asset. Takes the source over.</summary>
    public void Begin(in BodySource source, MultipartRanges parts)
    {
        TakeOver(source);
        _parts = parts;
        _part = 0;
        Left = parts.Bytes;
        Enter(BodyPiece.PartHead, 0, parts.HeadOf(0).Length);
    }

    /// <summary>The file turned out to be another: all of it, as it is now, from its beginning.</summary>
    public void BeginAgain()
    {
        Debug.Assert(_piece == BodyPiece.File && _parts is null);
        DropChunk();
        _source = _source.Renewed();
        Left = _source.Size;
        Enter(BodyPiece.File, 0, _source.Size);
    }

    /// <summary>
    /// Has the next chunk read. A read of all that is left of a file asks for one byte more than there should be: it tells that the file
    /// has grown.
    /// </summary>
    /// <param name="reactor">Whose memory and kernel queue to use.</param>
    /// <param name="most">How many bytes to hold at most.</param>
    public ValueTask<int> ReadAsync(Reactor reactor, int most)
    {
        Debug.Assert(NeedsRead && !IsReading && _piece == BodyPiece.File);
        long left = LeftOfPiece;
        int wanted = left >= most ? most : (int)left + (_end == _source.Size ? 1 : 0);
        _chunk = reactor.Pools.Rent(wanted);
        _pools = reactor.Pools;
        IsReading = true;
        return reactor.ReadDescriptorAsync(_source.Descriptor, _chunk.Address, wanted, _at);
    }

    /// <summary>A read has ended: with so many bytes, or below zero with a failure.</summary>
    public ChunkState EndRead(int bytes)
    {
        IsReading = false;
        if (bytes <= 0)
        {
            DropChunk();
            return bytes < 0 ? ChunkState.Unreadable : ChunkState.Short;
        }

        long left = LeftOfPiece;
        _chunkAt = 0;
        _chunkEnd = (int)Math.Min(bytes, left);
        return bytes > left ? ChunkState.Long : IsAtEndOfPiece ? ChunkState.Last : ChunkState.Next;
    }

    /// <summary>Writes the next bytes to the output; no more than are ready.</summary>
    public void Write(Connection connection, int count)
    {
        Debug.Assert(count <= Ready && count > 0);
        connection.Write(_piece switch
        {
            BodyPiece.File => new ReadOnlySpan<byte>(_chunk.Address + _chunkAt, count),
            BodyPiece.Baked => _source.Asset.BakedBody.Slice((int)_at, count),
            BodyPiece.PartHead => _parts!.HeadOf(_part).Slice((int)_at, count),
            BodyPiece.PartsEnd => _parts!.End.Slice((int)_at, count),
            _ => _text.AsSpan((int)_at, count),
        });
        _at += count;
        Left -= count;
        if (_piece == BodyPiece.File && (_chunkAt += count) == _chunkEnd)
        {
            DropChunk();
        }

        if (Left == 0)
        {
            Release();
        }
        else if (_at == _end)
        {
            EnterNextPiece();
        }
    }

    /// <summary>Gives back what it holds; once more does no harm.</summary>
    public void Release()
    {
        Debug.Assert(!IsReading, "the kernel still writes to it");
        DropChunk();
        if (_ownsSource)
        {
            _ownsSource = false;
            _source.Close();
            _source = default;
        }

        _parts = null;
        _text = [];
        _piece = BodyPiece.None;
        _at = _end = Left = 0;
    }

    /// <summary>Gives back what was read, and not taken: it is read again when its time has come.</summary>
    public void DropChunk()
    {
        Debug.Assert(!IsReading, "the kernel still writes to it");
        if (!_chunk.IsNone)
        {
            _pools!.Return(_chunk);
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
            BodyPiece piece = _source.Asset.Strategy == BodyStrategy.Baked ? BodyPiece.Baked : BodyPiece.File;
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
