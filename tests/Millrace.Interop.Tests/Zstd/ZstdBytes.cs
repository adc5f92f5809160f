using System.Buffers;
using System.Text;
using Millrace.Interop.Zstd;

namespace Millrace.Interop.Tests.Zstd;

/// <summary>The system's library, contents, and whole contents through encoder and decoder in pieces.</summary>
internal static class ZstdBytes
{
    public static ZstdLibrary Library { get; } = ZstdLibrary.TryLoad(out ZstdLibrary? library)
        ? library
        : throw new InvalidOperationException($"These tests need libzstd: {ZstdLibrary.Problem}.");

    /// <summary>Text of words from a small vocabulary; the same for the same seed.</summary>
    public static byte[] Text(int bytes, int seed)
    {
        var random = new Random(seed);
        var text = new StringBuilder(bytes + 16);
        while (text.Length < bytes)
        {
            text.Append("word").Append(random.Next(2000)).Append(random.Next(10) == 0 ? '\n' : ' ');
        }

        return Encoding.ASCII.GetBytes(text.ToString(0, bytes));
    }

    public static byte[] Noise(int bytes, int seed)
    {
        byte[] noise = new byte[bytes];
        new Random(seed).NextBytes(noise);
        return noise;
    }

    public static byte[] Encode(
        byte[] content, int level = 3, ReadOnlyMemory<byte> dictionary = default, int pieceBytes = 64 * 1024, int roomBytes = 64 * 1024)
    {
        using var encoder = new ZstdEncoder(Library, level, content.Length, dictionary);
        return CodedPieces.Encode(encoder.Compress, content, pieceBytes, roomBytes);
    }

    /// <summary>What came out, and the status at the end of the input.</summary>
    public static (OperationStatus Status, byte[] Content) Decode(
        byte[] coded, ReadOnlyMemory<byte> dictionary = default, int pieceBytes = 64 * 1024, int roomBytes = 64 * 1024)
    {
        using var decoder = new ZstdDecoder(Library, dictionary);
        var output = new MemoryStream();
        byte[] room = new byte[roomBytes];
        int at = 0;
        while (true)
        {
            int take = Math.Min(pieceBytes, coded.Length - at);
            OperationStatus status = decoder.Decompress(coded.AsSpan(at, take), room, out int consumed, out int written);
            at += consumed;
            output.Write(room, 0, written);
            if (status == OperationStatus.InvalidData || (status != OperationStatus.DestinationTooSmall && at == coded.Length))
            {
                return (status, output.ToArray());
            }
        }
    }
}
