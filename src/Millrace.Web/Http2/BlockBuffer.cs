using System.Buffers;

namespace Millrace.Web.Http2;

/// <summary>The pieces of a field block that does not come in one frame, put together. Rare, so in memory of the runtime's pool.</summary>
internal struct BlockBuffer
{
    private byte[]? _bytes;
    private int _count;
    private int _pieces;

    public readonly ReadOnlySpan<byte> Bytes => _bytes.AsSpan(0, _count);

    public void Begin() => _count = _pieces = 0;

    /// <summary>False where there would be too much of it, or too many pieces.</summary>
    public bool TryAdd(ReadOnlySpan<byte> piece, int bytesMax, int piecesMax)
    {
        if (_count + piece.Length > bytesMax || ++_pieces > piecesMax)
        {
            return false;
        }

        _bytes ??= ArrayPool<byte>.Shared.Rent(bytesMax);
        piece.CopyTo(_bytes.AsSpan(_count));
        _count += piece.Length;
        return true;
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
