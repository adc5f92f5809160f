using System.Buffers;

namespace Millrace.HttpServer.Http2;

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
