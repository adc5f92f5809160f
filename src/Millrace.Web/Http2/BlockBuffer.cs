using System.Buffers;

namespace Millrace.Web.Http2;

/// <summary>The pieces of a field block that does not come in one frame, put together. Rare, so in memory of the runtime's pool.</summary>
internal struct BlockBuffer
{
    private byte[]? _bytes;
    private int _count;
    private int _pieces;

    public readonly ReadOnlySpan<byte> Bytes => _bytes.AsSpan(0, _count);

    /// <summary>The memory that it holds, for tests.</summary>
    public readonly int HeldBytes => _bytes?.Length ?? 0;

    public void Begin() => _count = _pieces = 0;

    /// <summary>False where there would be too much of it, or too many pieces.</summary>
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

    /// <summary>For what has come, not for what may: who begins a block and waits holds no more than it has sent.</summary>
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
