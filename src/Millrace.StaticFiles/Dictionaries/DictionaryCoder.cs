using System.Buffers;
using Millrace.Interop.Zstd;
using Millrace.StaticFiles.Compression;
using Millrace.StaticFiles.Scanning;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Dictionaries;

/// <summary>
/// Codes a body with a dictionary as <c>dcz</c> (RFC 9842, section 5): a frame with the dictionary's hash, which decoders skip, then a
/// frame with the content. Decodes each result before it is used. Any thread.
/// </summary>
internal static class DictionaryCoder
{
    public const int HeaderBytes = 8 + DictionaryHash.Bytes;

    /// <summary>The unit between cancellation checks.</summary>
    private const int PieceBytes = 64 * 1024;

    /// <summary>The skippable frame 0x184D2A5E of 32 bytes.</summary>
    public static ReadOnlySpan<byte> Magic => [0x5e, 0x2a, 0x4d, 0x18, 0x20, 0, 0, 0];

    /// <summary>
    /// The coded body; null if it would not be smaller than another coding of so many bytes, or it was cancelled. Throws
    /// <see cref="InvalidDataException"/> if the library's result does not decode to the body.
    /// </summary>
    public static byte[]? TryCode(
        ZstdLibrary library,
        ReadOnlySpan<byte> body,
        ReadOnlyMemory<byte> dictionary,
        in DictionaryHash hash,
        long otherBytes,
        CancellationToken stop)
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
            int written = BodyCoder.CodeZstd(library, body, dictionary, room.Body[HeaderBytes..], stop);
            if (written == 0)
            {
                return null;
            }

            byte[] coded = room.Body[..(HeaderBytes + written)].ToArray();
            bool isProven = IsCodingOf(library, coded, dictionary, body, stop);
            return isProven || stop.IsCancellationRequested
                ? isProven ? coded : null
                : throw new InvalidDataException($"libzstd coded {body.Length} bytes with a dictionary, and decodes others.");
        }
        finally
        {
            room.Release();
        }
    }

    /// <summary>Whether a coded body decodes to a body, as strictly as clients decode it.</summary>
    public static bool IsCodingOf(
        ZstdLibrary library, ReadOnlySpan<byte> coded, ReadOnlyMemory<byte> dictionary, ReadOnlySpan<byte> body, CancellationToken stop)
    {
        Span<byte> hash = stackalloc byte[DictionaryHash.Bytes];
        DictionaryHash.Of(dictionary.Span).Write(hash);
        if (coded.Length < HeaderBytes || !coded.StartsWith(Magic) || !coded[Magic.Length..HeaderBytes].SequenceEqual(hash))
        {
            return false;
        }

        coded = coded[HeaderBytes..];
        byte[] room = ArrayPool<byte>.Shared.Rent(PieceBytes);
        using var decoder = new ZstdDecoder(library, dictionary);
        try
        {
            OperationStatus status = OperationStatus.DestinationTooSmall;
            while (status == OperationStatus.DestinationTooSmall && !stop.IsCancellationRequested)
            {
                status = decoder.Decompress(coded, room, out int consumed, out int written);
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
}
