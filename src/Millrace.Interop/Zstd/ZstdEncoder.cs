using System.Buffers;

namespace Millrace.Interop.Zstd;

/// <summary>
/// Compresses one content into one frame, piece by piece. Deterministic for a version of the library. One thread; owned by its creator.
/// Throws <see cref="InsufficientMemoryException"/> if memory is short.
/// </summary>
internal sealed unsafe class ZstdEncoder : IDisposable
{
    /// <summary>
    /// From this size of the dictionary on, it is searched for long matches first: the usual tables do not reach over all of it.
    /// </summary>
    private const int LongDictionaryBytes = 1024 * 1024;

    private readonly ZstdLibrary _library;
    private readonly ZstdCompressionCalls _calls;
    private MemoryHandle _dictionary;
    private nint _context;

    /// <param name="library">The library.</param>
    /// <param name="level">1 to 22; levels above 19 take much memory.</param>
    /// <param name="contentBytes">The size of the content, which the frame then states, and all of which must follow.</param>
    /// <param name="dictionary">Raw bytes that the content may refer to (RFC 9842); pinned until disposal. Empty for none.</param>
    public ZstdEncoder(ZstdLibrary library, int level, long contentBytes, ReadOnlyMemory<byte> dictionary = default)
    {
        _library = library;
        _calls = library.Compression;
        _context = _calls.Create();
        if (_context == 0)
        {
            throw new InsufficientMemoryException("libzstd: no memory for an encoder");
        }

        try
        {
            Set(ZstdCompressionCalls.Level, level);
            Set(ZstdCompressionCalls.WindowLog, ZstdWindow.LogFor(contentBytes, dictionary.Length));
            Set(ZstdCompressionCalls.ContentSizeFlag, 1);
            library.Check(_calls.SetPledgedSize(_context, (ulong)contentBytes));
            if (!dictionary.IsEmpty)
            {
                Set(ZstdCompressionCalls.LongDistanceMatching, dictionary.Length >= LongDictionaryBytes ? 1 : 0);
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

    /// <summary>The most bytes that a content of this size is compressed to.</summary>
    public static long BytesMax(ZstdLibrary library, long contentBytes) => (long)library.Compression.Bound((nuint)contentBytes);

    /// <summary>
    /// Compresses a piece of the content. <see cref="OperationStatus.Done"/>: all of it was taken and, if it is the last, written.
    /// <see cref="OperationStatus.DestinationTooSmall"/>: call again with what remains of the piece.
    /// </summary>
    public OperationStatus Compress(ReadOnlySpan<byte> piece, Span<byte> destination, out int consumed, out int written, bool isLast)
    {
        ObjectDisposedException.ThrowIf(_context == 0, this);
        int directive = isLast ? ZstdCompressionCalls.End : ZstdCompressionCalls.Continue;
        fixed (byte* source = piece)
        fixed (byte* target = destination)
        {
            var input = new ZstdBuffer { Address = source, Bytes = (nuint)piece.Length };
            var output = new ZstdBuffer { Address = target, Bytes = (nuint)destination.Length };
            nuint remaining;
            do
            {
                remaining = _library.Check(_calls.Compress(_context, &output, &input, directive));
            }
            while (output.Position < output.Bytes && (isLast ? remaining != 0 : input.Position < input.Bytes));

            consumed = (int)input.Position;
            written = (int)output.Position;
            bool isDone = consumed == piece.Length && (!isLast || remaining == 0);
            return isDone ? OperationStatus.Done : OperationStatus.DestinationTooSmall;
        }
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

    private void Set(int parameter, int value) => _library.Check(_calls.SetParameter(_context, parameter, value));
}
