using System.Buffers;

namespace Millrace.Interop.Brotli;

/// <summary>
/// Compresses one content into one brotli stream that may refer to a dictionary, piece by piece. Deterministic for a version of the
/// library. One thread; owned by its creator. Throws <see cref="InsufficientMemoryException"/> if memory is short.
/// </summary>
internal sealed unsafe class BrotliDictionaryEncoder : IDisposable
{
    /// <summary>The largest window of RFC 7932, which RFC 9842, section 4, demands of clients: 16 MiB.</summary>
    private const int WindowBitsMax = 24;
    private const int WindowBitsMin = 10;

    /// <summary>A window is so much smaller than the power of 2 (RFC 7932, section 9.1).</summary>
    private const int WindowGapBytes = 16;

    private readonly BrotliCompressionCalls _calls;
    private MemoryHandle _dictionary;
    private nint _prepared;
    private nint _state;

    /// <param name="library">The library.</param>
    /// <param name="quality">0 to 11.</param>
    /// <param name="contentBytes">The size of the content.</param>
    /// <param name="dictionary">Raw bytes that the content may refer to, all of them from anywhere; pinned until disposal.</param>
    public BrotliDictionaryEncoder(BrotliLibrary library, int quality, int contentBytes, ReadOnlyMemory<byte> dictionary)
    {
        _calls = library.Compression;
        try
        {
            _dictionary = dictionary.Pin();
            _prepared = Created(_calls.PrepareDictionary(
                BrotliCompressionCalls.RawDictionary, (nuint)dictionary.Length, (byte*)_dictionary.Pointer, quality, 0, 0, 0));
            _state = Created(_calls.Create(0, 0, 0));
            Set(BrotliCompressionCalls.Quality, quality);
            Set(BrotliCompressionCalls.WindowBits, WindowBitsFor(contentBytes));
            Set(BrotliCompressionCalls.SizeHint, contentBytes);
            Require(_calls.AttachDictionary(_state, _prepared));
        }
        catch
        {
            Dispose();
            throw;
        }
    }

    /// <summary>The smallest window that the content fits in, because clients allocate it. The dictionary needs none.</summary>
    public static int WindowBitsFor(int contentBytes)
    {
        int bits = WindowBitsMin;
        while (bits < WindowBitsMax && (1 << bits) - WindowGapBytes < contentBytes)
        {
            bits++;
        }

        return bits;
    }

    /// <summary>
    /// Compresses a piece of the content. <see cref="OperationStatus.Done"/>: all of it was taken and, if it is the last, written.
    /// <see cref="OperationStatus.DestinationTooSmall"/>: call again with what remains of the piece.
    /// </summary>
    public OperationStatus Compress(ReadOnlySpan<byte> piece, Span<byte> destination, out int consumed, out int written, bool isLast)
    {
        ObjectDisposedException.ThrowIf(_state == 0, this);
        int operation = isLast ? BrotliCompressionCalls.Finish : BrotliCompressionCalls.Process;
        fixed (byte* source = piece)
        fixed (byte* target = destination)
        {
            byte* input = source;
            byte* output = target;
            nuint inputBytes = (nuint)piece.Length;
            nuint outputBytes = (nuint)destination.Length;
            bool isFinished;
            do
            {
                if (_calls.Compress(_state, operation, &inputBytes, &input, &outputBytes, &output, null) == 0)
                {
                    throw OutOfMemory();
                }

                isFinished = _calls.IsFinished(_state) != 0;
            }
            while (outputBytes > 0 && (isLast ? !isFinished : inputBytes > 0));

            consumed = piece.Length - (int)inputBytes;
            written = destination.Length - (int)outputBytes;
            return inputBytes == 0 && (!isLast || isFinished) ? OperationStatus.Done : OperationStatus.DestinationTooSmall;
        }
    }

    public void Dispose()
    {
        if (_state != 0)
        {
            _calls.Destroy(_state);
            _state = 0;
        }

        // The encoder refers to it, and it refers to the bytes.
        if (_prepared != 0)
        {
            _calls.DestroyDictionary(_prepared);
            _prepared = 0;
        }

        _dictionary.Dispose();
    }

    private static nint Created(nint address) => address != 0 ? address : throw OutOfMemory();

    /// <summary>The library has no other word for it, nor another reason with these parameters.</summary>
    private static InsufficientMemoryException OutOfMemory() => new("libbrotlienc: no memory for an encoder");

    private static void Require(int result)
    {
        if (result == 0)
        {
            throw new InvalidOperationException("libbrotlienc refuses a parameter or the dictionary.");
        }
    }

    private void Set(int parameter, int value) => Require(_calls.SetParameter(_state, parameter, (uint)value));
}
