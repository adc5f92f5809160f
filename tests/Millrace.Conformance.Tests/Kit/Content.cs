using System.IO.Compression;
using System.Text;

namespace Millrace.Conformance.Tests.Kit;

/// <summary>Bytes that are the same in every run and look alike nowhere.</summary>
internal static class Content
{
    public static byte[] Binary(int size, int seed)
    {
        byte[] bytes = new byte[size];
#pragma warning disable CA5394 // Not for secrets: the bytes have to be the same in every run.
        new Random(seed).NextBytes(bytes);
#pragma warning restore CA5394
        return bytes;
    }

    /// <summary>Numbered lines: text that compresses, and in which every range is recognized.</summary>
    public static byte[] Text(string title, int size)
    {
        var text = new StringBuilder(title).Append('\n');
        for (int line = 1; text.Length < size; line++)
        {
            text.Append("line ").Append(line).Append(" of ").Append(title).Append('\n');
        }

        return Encoding.ASCII.GetBytes(text.ToString(0, size));
    }

    public static byte[] Page(string title) => Encoding.ASCII.GetBytes(
        $"<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>{title}</title></head>\n"
        + $"<body><h1>{title}</h1></body>\n</html>\n");

    public static byte[] Gzip(byte[] bytes) => Through(bytes, static stream => new GZipStream(stream, CompressionLevel.Optimal));

    public static byte[] Brotli(byte[] bytes) => Through(bytes, static stream => new BrotliStream(stream, CompressionLevel.Optimal));

    /// <summary>
    /// One frame (RFC 8878 3.1.1): a raw block, and one for the run of equal bytes at the end, which makes it
    /// smaller than the file.
    /// </summary>
    public static byte[] Zstd(byte[] bytes)
    {
        ArgumentOutOfRangeException.ThrowIfGreaterThan(bytes.Length, ushort.MaxValue);
        int raw = bytes.AsSpan().LastIndexOfAnyExcept(bytes[^1]) + 1;
        using var stream = new MemoryStream();
        using var writer = new BinaryWriter(stream);
        writer.Write(0xFD2FB528u);
        writer.Write((byte)0xA0); // A single segment, its size in four bytes.
        writer.Write((uint)bytes.Length);
        WriteBlockHeader(writer, (uint)raw << 3);
        writer.Write(bytes.AsSpan(0, raw));
        WriteBlockHeader(writer, ((uint)(bytes.Length - raw) << 3) | 0b011); // A run, and the last.
        writer.Write(bytes[^1]);
        return stream.ToArray();
    }

    /// <summary>What a response means without its coding; null for what no framework here decodes.</summary>
    public static byte[]? Decoded(Response response)
    {
        using var coded = new MemoryStream(response.Body);
        using var plain = new MemoryStream();
        using Stream? decoder = response["Content-Encoding"]?.ToLowerInvariant() switch
        {
            null or "identity" => coded,
            "gzip" or "x-gzip" => new GZipStream(coded, CompressionMode.Decompress),
            "br" => new BrotliStream(coded, CompressionMode.Decompress),
            "deflate" => new ZLibStream(coded, CompressionMode.Decompress),
            _ => null,
        };
        try
        {
            decoder?.CopyTo(plain);
        }
        catch (Exception broken) when (broken is InvalidDataException or InvalidOperationException)
        {
            throw new Nonconformance($"what is no {response["Content-Encoding"]}");
        }

        return decoder is null ? null : plain.ToArray();
    }

    private static void WriteBlockHeader(BinaryWriter writer, uint block)
    {
        writer.Write((byte)block);
        writer.Write((byte)(block >> 8));
        writer.Write((byte)(block >> 16));
    }

    private static byte[] Through(byte[] bytes, Func<Stream, Stream> coder)
    {
        using var coded = new MemoryStream();
        using (Stream stream = coder(coded))
        {
            stream.Write(bytes);
        }

        return coded.ToArray();
    }
}
