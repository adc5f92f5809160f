namespace Millrace.Http;

/// <summary>
/// The instructions of a decoder, RFC 9204 section 4.4, until they are written to its stream. They are bounded: each answers something of a
/// peer that gives no credit for the answer. Keeps its memory for the connection; most have a few bytes at a time.
/// </summary>
internal struct QpackDecoderOutput()
{
    /// <summary>About 2,000 instructions; a peer has a few hundred requests open at most.</summary>
    public const int BytesMax = 4096;

    private const byte SectionPattern = 0x80;
    private const byte CancellationPattern = 0x40;
    private const byte IncrementPattern = 0x00;

    private byte[] _bytes = [];
    private int _start;
    private int _end;

    public readonly ReadOnlySpan<byte> Bytes => _bytes.AsSpan(_start, _end - _start);

    /// <summary>The memory that it holds.</summary>
    public readonly int HeldBytes => _bytes.Length;

    /// <summary>Takes away what was written to the stream.</summary>
    public void Advance(int bytes)
    {
        _start += bytes;
        if (_start == _end)
        {
            _start = _end = 0;
        }
    }

    public bool TryAcknowledgeSection(long streamId) => TryAdd(SectionPattern, prefixBits: 7, streamId);

    public bool TryCancelStream(long streamId) => TryAdd(CancellationPattern, prefixBits: 6, streamId);

    public bool TryIncrement(long insertions) => TryAdd(IncrementPattern, prefixBits: 6, insertions);

    private bool TryAdd(byte pattern, int prefixBits, long value)
    {
        if (_bytes.Length - _end < QpackInteger.BytesMax && !TryMakeRoom())
        {
            return false;
        }

        _end += QpackInteger.Write(_bytes.AsSpan(_end), pattern, prefixBits, value);
        return true;
    }

    private bool TryMakeRoom()
    {
        int held = _end - _start;
        if (held + QpackInteger.BytesMax > BytesMax)
        {
            return false;
        }

        byte[] room = held + QpackInteger.BytesMax <= _bytes.Length ? _bytes : new byte[Math.Clamp(2 * _bytes.Length, 64, BytesMax)];
        Bytes.CopyTo(room);
        _bytes = room;
        (_start, _end) = (0, held);
        return true;
    }
}
