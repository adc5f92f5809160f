using System.Buffers;
using Millrace.Interop.Zstd;

namespace Millrace.Tests.Shared;

/// <summary>
/// Reads the content of a zstd stream, as BrotliStream and GZipStream do for theirs. Throws <see cref="InvalidDataException"/> for data
/// that is not valid, and for data that ends within a frame. One thread; leaves the source open.
/// </summary>
internal sealed class ZstdReadStream(ZstdLibrary library, Stream source, ReadOnlyMemory<byte> dictionary = default) : Stream
{
    private const int InputBytes = 64 * 1024;

    private readonly ZstdDecoder _decoder = new(library, dictionary);
    private readonly byte[] _input = new byte[InputBytes];
    private ReadOnlyMemory<byte> _remaining;
    private OperationStatus _status = OperationStatus.NeedMoreData;

    public override bool CanRead => true;

    public override bool CanSeek => false;

    public override bool CanWrite => false;

    public override long Length => throw new NotSupportedException();

    public override long Position
    {
        get => throw new NotSupportedException();
        set => throw new NotSupportedException();
    }

    public override int Read(Span<byte> buffer)
    {
        while (!buffer.IsEmpty)
        {
            if (_remaining.IsEmpty && _status != OperationStatus.DestinationTooSmall)
            {
                int count = source.Read(_input);
                if (count == 0)
                {
                    return _status == OperationStatus.Done ? 0 : throw new InvalidDataException("The data ends within a frame.");
                }

                _remaining = _input.AsMemory(0, count);
            }

            _status = _decoder.Decompress(_remaining.Span, buffer, out int consumed, out int written);
            _remaining = _remaining[consumed..];
            if (_status == OperationStatus.InvalidData)
            {
                throw new InvalidDataException("The data is not a valid zstd stream.");
            }

            if (written > 0)
            {
                return written;
            }
        }

        return 0;
    }

    public override int Read(byte[] buffer, int offset, int count) => Read(buffer.AsSpan(offset, count));

    public override void Flush()
    {
    }

    public override long Seek(long offset, SeekOrigin origin) => throw new NotSupportedException();

    public override void SetLength(long value) => throw new NotSupportedException();

    public override void Write(byte[] buffer, int offset, int count) => throw new NotSupportedException();

    protected override void Dispose(bool disposing)
    {
        if (disposing)
        {
            _decoder.Dispose();
        }

        base.Dispose(disposing);
    }
}
