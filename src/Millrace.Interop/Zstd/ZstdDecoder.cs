using System.Buffers;

namespace Millrace.Interop.Zstd;

/// <summary>
/// Decompresses one frame or several, piece by piece, as strictly as clients do: a window beyond <see cref="ZstdWindow.LimitFor"/> is not
/// valid data. With a dictionary, one frame. One thread; owned by its creator. Throws <see cref="InsufficientMemoryException"/> if memory
/// is short.
/// </summary>
internal sealed unsafe class ZstdDecoder : IDisposable
{
    /// <summary>
    /// With space for the whole content, libzstd does not look at the window. In pieces of this size it does, for contents that are larger.
    /// </summary>
    private const int PieceBytes = 16 * 1024;

    private readonly ZstdLibrary _library;
    private readonly ZstdDecompressionCalls _calls;
    private MemoryHandle _dictionary;
    private nint _context;

    /// <summary>Whether the input so far ends with a whole frame, all of which was written.</summary>
    private bool _isAtEnd;

    /// <summary>Whether the last call filled its destination, so that more may be ready without more input.</summary>
    private bool _mayHoldOutput;

    /// <param name="library">The library.</param>
    /// <param name="dictionary">The raw bytes that the encoder had; pinned until disposal. Empty for none.</param>
    public ZstdDecoder(ZstdLibrary library, ReadOnlyMemory<byte> dictionary = default)
    {
        _library = library;
        _calls = library.Decompression;
        _context = _calls.Create();
        if (_context == 0)
        {
            throw new InsufficientMemoryException("libzstd: no memory for a decoder");
        }

        try
        {
            int windowLogMax = ZstdWindow.LogMaxFor(dictionary.Length);
            library.Check(_calls.SetParameter(_context, ZstdDecompressionCalls.WindowLogMax, windowLogMax));
            if (!dictionary.IsEmpty)
            {
                _dictionary = dictionary.Pin();
                library.Check(_calls.RefPrefix(_context, (byte*)_dictionary.Pointer, (nuint)dictionary.Length));
            }
        }
        catch
        {
            Dispose();
            throw;
        }
    }

    /// <summary>
    /// Decompresses a piece of the input. <see cref="OperationStatus.Done"/>: all of it was taken, and the last frame is complete.
    /// <see cref="OperationStatus.NeedMoreData"/>: all of it was taken, within a frame.
    /// <see cref="OperationStatus.DestinationTooSmall"/>: call again with what remains.
    /// </summary>
    public OperationStatus Decompress(ReadOnlySpan<byte> piece, Span<byte> destination, out int consumed, out int written)
    {
        ObjectDisposedException.ThrowIf(_context == 0, this);
        consumed = 0;
        written = 0;
        while (consumed < piece.Length || _mayHoldOutput)
        {
            Span<byte> room = destination[written..];
            if (room.IsEmpty)
            {
                return OperationStatus.DestinationTooSmall;
            }

            if (!TryStep(piece[consumed..], room[..Math.Min(PieceBytes, room.Length)], ref consumed, ref written))
            {
                return OperationStatus.InvalidData;
            }
        }

        return _isAtEnd ? OperationStatus.Done : OperationStatus.NeedMoreData;
    }

    public void Dispose()
    {
        if (_context != 0)
        {
            _ = _calls.Free(_context);
            _context = 0;
            _dictionary.Dispose();
        }
    }

    private bool TryStep(ReadOnlySpan<byte> piece, Span<byte> destination, ref int consumed, ref int written)
    {
        fixed (byte* source = piece)
        fixed (byte* target = destination)
        {
            var input = new ZstdBuffer { Address = source, Bytes = (nuint)piece.Length };
            var output = new ZstdBuffer { Address = target, Bytes = (nuint)destination.Length };
            nuint result = _calls.Decompress(_context, &output, &input);
            if (_library.IsError(result))
            {
                // A frame that is not valid is the input's fault; memory is not.
                return _library.IsOutOfMemory(result) && _library.Check(result) != 0;
            }

            consumed += (int)input.Position;
            written += (int)output.Position;
            _isAtEnd = result == 0;
            _mayHoldOutput = !_isAtEnd && output.Position == output.Bytes;
            return true;
        }
    }
}
