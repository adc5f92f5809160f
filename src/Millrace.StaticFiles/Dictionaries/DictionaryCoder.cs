using System.Buffers;
using Millrace.Http;
using Millrace.Interop.Brotli;
using Millrace.Interop.Zstd;
using Millrace.StaticFiles.Compression;
using Millrace.StaticFiles.Scanning;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Dictionaries;

/// <summary>
/// Codes a body with a dictionary, in one of the codings of RFC 9842: a magic number and the dictionary's hash, then the content. Decodes
/// each result before it is used. Any thread.
/// </summary>
internal abstract class DictionaryCoder(ContentCoding coding)
{
    /// <summary>The unit between cancellation checks.</summary>
    private const int PieceBytes = 64 * 1024;

    private static readonly Lazy<IReadOnlyList<DictionaryCoder>> Loaded = new(static () =>
    [
        .. ZstdLibrary.TryLoad(out ZstdLibrary? zstd) ? (DictionaryCoder[])[new ZstdDictionaryCoder(zstd)] : [],
        .. BrotliLibrary.TryLoad(out BrotliLibrary? brotli) ? (DictionaryCoder[])[new BrotliDictionaryCoder(brotli)] : [],
    ]);

    /// <summary>Those that this system has the libraries for, the fastest first. The first call loads the libraries.</summary>
    public static IReadOnlyList<DictionaryCoder> OfSystem => Loaded.Value;

    public ContentCoding Coding => coding;

    public int HeaderBytes => Magic.Length + DictionaryHash.Bytes;

    protected abstract ReadOnlySpan<byte> Magic { get; }

    /// <summary>
    /// The coded body; null if it would not be smaller than another coding of so many bytes, or it was cancelled. Throws
    /// <see cref="InvalidDataException"/> if the library's result does not decode to the body.
    /// </summary>
    public byte[]? TryCode(
        ReadOnlySpan<byte> body, ReadOnlyMemory<byte> dictionary, in DictionaryHash hash, long otherBytes, CancellationToken stop)
    {
        long roomBytes = Math.Min(otherBytes, body.Length) - 1;
        if (roomBytes <= HeaderBytes)
        {
            return null;
        }

        BodyMemory room = BodyMemory.Allocate(roomBytes, mayHoldDescriptor: false);
        try
        {
            Magic.CopyTo(room.Body);
            hash.Write(room.Body[Magic.Length..]);
            int written = Code(body, dictionary, room.Body[HeaderBytes..], stop);
            if (written == 0)
            {
                return null;
            }

            byte[] coded = room.Body[..(HeaderBytes + written)].ToArray();
            bool isProven = IsCodingOf(coded, dictionary, body, stop);
            return isProven || stop.IsCancellationRequested
                ? isProven ? coded : null
                : throw new InvalidDataException(
                    $"{body.Length} bytes that were coded with a dictionary as {Coding} decode to others.");
        }
        finally
        {
            room.Release();
        }
    }

    /// <summary>Whether a coded body decodes to a body, as strictly as clients decode it.</summary>
    public bool IsCodingOf(ReadOnlySpan<byte> coded, ReadOnlyMemory<byte> dictionary, ReadOnlySpan<byte> body, CancellationToken stop)
    {
        Span<byte> hash = stackalloc byte[DictionaryHash.Bytes];
        DictionaryHash.Of(dictionary.Span).Write(hash);
        return coded.Length >= HeaderBytes
            && coded.StartsWith(Magic)
            && coded[Magic.Length..HeaderBytes].SequenceEqual(hash)
            && IsContentCodingOf(coded[HeaderBytes..], dictionary, body, stop);
    }

    /// <summary>Codes the content. Returns its size; 0 if it does not fit, or was cancelled.</summary>
    protected abstract int Code(
        ReadOnlySpan<byte> body, ReadOnlyMemory<byte> dictionary, Span<byte> destination, CancellationToken stop);

    /// <summary>Whether what follows the hash decodes to a body.</summary>
    protected abstract bool IsContentCodingOf(
        ReadOnlySpan<byte> coded, ReadOnlyMemory<byte> dictionary, ReadOnlySpan<byte> body, CancellationToken stop);

    protected static bool Decodes(DecodePiece decode, ReadOnlySpan<byte> coded, ReadOnlySpan<byte> body, CancellationToken stop)
    {
        byte[] room = ArrayPool<byte>.Shared.Rent(PieceBytes);
        try
        {
            OperationStatus status = OperationStatus.DestinationTooSmall;
            while (status == OperationStatus.DestinationTooSmall && !stop.IsCancellationRequested)
            {
                status = decode(coded, room, out int consumed, out int written);
                coded = coded[consumed..];
                if (!body.StartsWith(room.AsSpan(0, written)))
                {
                    return false;
                }

                body = body[written..];
            }

            return status == OperationStatus.Done && coded.IsEmpty && body.IsEmpty;
        }
        finally
        {
            ArrayPool<byte>.Shared.Return(room);
        }
    }

    protected delegate OperationStatus DecodePiece(
        ReadOnlySpan<byte> piece, Span<byte> destination, out int consumed, out int written);
}

/// <summary><c>dcz</c> (RFC 9842, section 5): a frame with the hash, which decoders skip, then a frame with the content.</summary>
internal sealed class ZstdDictionaryCoder(ZstdLibrary library) : DictionaryCoder(ContentCoding.DictionaryZstd)
{
    /// <summary>The skippable frame 0x184D2A5E of 32 bytes.</summary>
    protected override ReadOnlySpan<byte> Magic => [0x5e, 0x2a, 0x4d, 0x18, 0x20, 0, 0, 0];

    protected override int Code(
        ReadOnlySpan<byte> body, ReadOnlyMemory<byte> dictionary, Span<byte> destination, CancellationToken stop) =>
        BodyCoder.CodeZstd(library, body, dictionary, destination, stop);

    protected override bool IsContentCodingOf(
        ReadOnlySpan<byte> coded, ReadOnlyMemory<byte> dictionary, ReadOnlySpan<byte> body, CancellationToken stop)
    {
        using var decoder = new ZstdDecoder(library, dictionary);
        return Decodes(decoder.Decompress, coded, body, stop);
    }
}

/// <summary><c>dcb</c> (RFC 9842, section 4): the hash, then a brotli stream with the dictionary as its prefix.</summary>
internal sealed class BrotliDictionaryCoder(BrotliLibrary library) : DictionaryCoder(ContentCoding.DictionaryBrotli)
{
    protected override ReadOnlySpan<byte> Magic => [0xff, 0x44, 0x43, 0x42];

    protected override int Code(
        ReadOnlySpan<byte> body, ReadOnlyMemory<byte> dictionary, Span<byte> destination, CancellationToken stop) =>
        BodyCoder.CodeBrotli(library, body, dictionary, destination, stop);

    protected override bool IsContentCodingOf(
        ReadOnlySpan<byte> coded, ReadOnlyMemory<byte> dictionary, ReadOnlySpan<byte> body, CancellationToken stop)
    {
        using var decoder = new BrotliDictionaryDecoder(library, dictionary);
        return Decodes(decoder.Decompress, coded, body, stop);
    }
}
