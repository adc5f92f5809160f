using System.Buffers;
using Millrace.Engine;
using Millrace.Http;
using Millrace.HttpServer.Sessions;

namespace Millrace.HttpServer.Http2;

/// <summary>
/// Joins and decodes the field blocks of one connection (RFC 9113, section 4.3), within limits on what they cost. Reactor thread only.
/// </summary>
internal sealed class FieldBlockReader(Connection connection, SessionReactorState reactorState)
{
    /// <summary>The memory of a dynamic table of the default size, including its index.</summary>
    private const int TableBytes = 8 * 1024;

    private readonly HpackDecoder _decoder = new();
    private FieldBlockBuffer _block;
    private bool _holdsTable;

    /// <summary>The sum of what field blocks exceeded the largest head by.</summary>
    private long _oversizedBytes;

    /// <summary>The stream of an incomplete block; 0 for none.</summary>
    public int StreamId { get; private set; }

    /// <summary>The flags of the HEADERS frame that began the block.</summary>
    public FrameFlags Flags { get; private set; }

    /// <summary>When an incomplete block must be complete; <see cref="long.MaxValue"/> if there is none.</summary>
    public long DueMs { get; private set; } = long.MaxValue;

    /// <summary>The block that is joined so far.</summary>
    public ReadOnlySpan<byte> Bytes => _block.Bytes;

    public Http2Fault Begin(in FrameHeader header, ReadOnlySpan<byte> fragment)
    {
        StreamId = header.StreamId;
        Flags = header.Flags;
        DueMs = reactorState.DueMs(reactorState.Limits.Head);
        _block.Begin();
        return Add(fragment);
    }

    /// <summary>
    /// A coded block is not larger than its decoded fields. A head that is slightly too large gets an error response; a much larger one is
    /// not read.
    /// </summary>
    public Http2Fault Add(ReadOnlySpan<byte> fragment)
    {
        int heldBytes = _block.HeldBytes;
        int bytesMax = 2 * reactorState.HeadLimits.HeadBytesMax;
        int continuationsMax = Math.Max(reactorState.Limits.Http2.ContinuationsMax, bytesMax / FrameHeader.DefaultLengthMax);
        bool isAdded = _block.TryAdd(fragment, bytesMax, 1 + continuationsMax);
        connection.ChargeManaged(_block.HeldBytes - heldBytes);
        return isAdded ? default : Http2Fault.OfConnection(Http2Error.EnhanceYourCalm);
    }

    /// <summary>Completes a block, and returns its stream; <see cref="Bytes"/> are valid until <see cref="ReleaseBuffer"/>.</summary>
    public int Complete()
    {
        int streamId = StreamId;
        StreamId = 0;
        DueMs = long.MaxValue;
        return streamId;
    }

    public void ReleaseBuffer()
    {
        connection.ChargeManaged(-_block.HeldBytes);
        _block.Return();
    }

    /// <summary>Gives an incomplete block its full time again, because the input was not read meanwhile.</summary>
    public void RestartTime() => DueMs = StreamId == 0 ? DueMs : reactorState.DueMs(reactorState.Limits.Head);

    /// <summary>
    /// Decodes a block. References to one large entry can expand a block of a few bytes to megabytes. The excess over the largest head is
    /// summed over the connection, whatever happens to the requests, and ends it after <see cref="Http2Limits.OversizedHeadsMax"/> heads.
    /// </summary>
    public Http2Fault Decode(ReadOnlySpan<byte> block, IHpackSink? sink)
    {
        long headBytesMax = reactorState.HeadLimits.HeadBytesMax;
        long most = headBytesMax + (reactorState.Limits.Http2.OversizedHeadsMax * headBytesMax) - _oversizedBytes;
        HpackResult result = _decoder.Decode(block, reactorState.Http2.ScratchFor(block.Length), sink, most);
        HoldTable();
        _oversizedBytes += Math.Max(0, _decoder.DecodedBytes - headBytesMax);
        return result switch
        {
            HpackResult.TooLarge => Http2Fault.OfConnection(Http2Error.EnhanceYourCalm),
            HpackResult.Ok => default,
            _ => Http2Fault.OfConnection(Http2Error.CompressionError),
        };
    }

    /// <summary>Decodes a block without a use: later blocks refer to the table that it changes.</summary>
    public Http2Fault Drop(ReadOnlySpan<byte> block) => Decode(block, sink: null);

    /// <summary>Releases everything at the end of the session.</summary>
    public void Release()
    {
        ReleaseBuffer();
        connection.ChargeManaged(_holdsTable ? -TableBytes : 0);
    }

    /// <summary>Accounts the dynamic table, whose memory is allocated with the first entry and kept.</summary>
    private void HoldTable()
    {
        if (!_holdsTable && _decoder.Table.Count > 0)
        {
            _holdsTable = true;
            connection.ChargeManaged(TableBytes);
        }
    }
}

/// <summary>
/// Joins the fragments of a field block that does not fit one frame. This is rare, so the memory comes from the shared array pool.
/// </summary>
internal struct FieldBlockBuffer
{
    private byte[]? _bytes;
    private int _count;
    private int _pieces;

    public readonly ReadOnlySpan<byte> Bytes => _bytes.AsSpan(0, _count);

    /// <summary>The size of the memory held.</summary>
    public readonly int HeldBytes => _bytes?.Length ?? 0;

    public void Begin() => _count = _pieces = 0;

    /// <summary>False if the block becomes too large or has too many fragments.</summary>
    public bool TryAdd(ReadOnlySpan<byte> piece, int bytesMax, int piecesMax)
    {
        if (_count + piece.Length > bytesMax || ++_pieces > piecesMax)
        {
            return false;
        }

        MakeRoom(_count + piece.Length);
        piece.CopyTo(_bytes.AsSpan(_count));
        _count += piece.Length;
        return true;
    }

    /// <summary>
    /// Grows by what has arrived, not to the maximum: a client that begins a block and waits holds no more than it has sent.
    /// </summary>
    private void MakeRoom(int bytes)
    {
        if (_bytes is null || _bytes.Length < bytes)
        {
            byte[] larger = ArrayPool<byte>.Shared.Rent(bytes);
            Bytes.CopyTo(larger);
            if (_bytes is not null)
            {
                ArrayPool<byte>.Shared.Return(_bytes);
            }

            _bytes = larger;
        }
    }

    public void Return()
    {
        if (_bytes is not null)
        {
            ArrayPool<byte>.Shared.Return(_bytes);
            _bytes = null;
        }

        _count = _pieces = 0;
    }
}
