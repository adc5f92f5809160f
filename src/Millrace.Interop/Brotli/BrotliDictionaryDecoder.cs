using System.Buffers;

namespace Millrace.Interop.Brotli;

/// <summary>
/// Decompresses one brotli stream that may refer to a dictionary, piece by piece, as strictly as clients do: a window beyond 16 MiB is not
/// valid data. One thread; owned by its creator. Throws <see cref="InsufficientMemoryException"/> if memory is short.
/// </summary>
internal sealed unsafe class BrotliDictionaryDecoder : IDisposable
{
    private readonly BrotliDecompressionCalls _calls;
    private MemoryHandle _dictionary;
    private nint _state;

    /// <param name="library">The library.</param>
    /// <param name="dictionary">The raw bytes that the encoder had; pinned until disposal.</param>
    public BrotliDictionaryDecoder(BrotliLibrary library, ReadOnlyMemory<byte> dictionary)
    {
        _calls = library.Decompression;
        _state = _calls.Create(0, 0, 0);
        if (_state == 0)
        {
            throw OutOfMemory();
        }

        _dictionary = dictionary.Pin();
        int isAttached = _calls.AttachDictionary(
            _state, BrotliCompressionCalls.RawDictionary, (nuint)dictionary.Length, (byte*)_dictionary.Pointer);
        if (isAttached == 0)
        {
            Dispose();
            throw OutOfMemory();
        }
    }

    /// <summary>
    /// Decompresses a piece of the input. <see cref="OperationStatus.Done"/>: the stream is complete, and what is not consumed is no part
    /// of it. <see cref="OperationStatus.NeedMoreData"/>: all of it was taken, within the stream.
    /// <see cref="OperationStatus.DestinationTooSmall"/>: call again with what remains.
    /// </summary>
    public OperationStatus Decompress(ReadOnlySpan<byte> piece, Span<byte> destination, out int consumed, out int written)
    {
        ObjectDisposedException.ThrowIf(_state == 0, this);
        fixed (byte* source = piece)
        fixed (byte* target = destination)
        {
            byte* input = source;
            byte* output = target;
            nuint inputBytes = (nuint)piece.Length;
            nuint outputBytes = (nuint)destination.Length;
            int result = _calls.Decompress(_state, &inputBytes, &input, &outputBytes, &output, null);
            consumed = piece.Length - (int)inputBytes;
            written = destination.Length - (int)outputBytes;
            return result switch
            {
                BrotliDecompressionCalls.Success => OperationStatus.Done,
                BrotliDecompressionCalls.NeedsMoreInput => OperationStatus.NeedMoreData,
                BrotliDecompressionCalls.NeedsMoreOutput => OperationStatus.DestinationTooSmall,

                // A stream that is not valid is the input's fault; memory is not.
                _ => IsOfMemory(_calls.ErrorCode(_state)) ? throw OutOfMemory() : OperationStatus.InvalidData,
            };
        }
    }

    public void Dispose()
    {
        if (_state != 0)
        {
            _calls.Destroy(_state);
            _state = 0;
            _dictionary.Dispose();
        }
    }

    private static bool IsOfMemory(int code) =>
        code is <= BrotliDecompressionCalls.FirstOfMemory and >= BrotliDecompressionCalls.LastOfMemory;

    private static InsufficientMemoryException OutOfMemory() => new("libbrotlidec: no memory for a decoder");
}
