using System.Buffers;
using System.IO.Compression;
using System.Text;
using Millrace.Http;
using Millrace.Interop.Zstd;

namespace Millrace.StaticFiles.Tests.Kit;

/// <summary>Content in a coding, as a tool that knows nothing of this server makes it.</summary>
internal static class CodedContent
{
    public static byte[] Gzip(string content) => Of(Encoding.UTF8.GetBytes(content), ContentCoding.Gzip);

    public static byte[] Brotli(string content) => Of(Encoding.UTF8.GetBytes(content), ContentCoding.Brotli);

    /// <summary>By the library that the server decodes with, as .NET has none.</summary>
    public static byte[] Zstd(ReadOnlySpan<byte> content, int level = 3)
    {
        Assert.True(ZstdLibrary.TryLoad(out ZstdLibrary? library), ZstdLibrary.Problem);
        using var encoder = new ZstdEncoder(library, level, content.Length);
        byte[] coded = new byte[ZstdEncoder.BytesMax(library, content.Length)];
        Assert.Equal(OperationStatus.Done, encoder.Compress(content, coded, out _, out int written, isLast: true));
        return coded[..written];
    }

    /// <summary>In many small blocks, which take more than the content could.</summary>
    public static byte[] LongBrotli(byte[] content)
    {
        using var target = new MemoryStream();
        using (var coder = new BrotliStream(target, CompressionLevel.Fastest))
        {
            foreach (byte[] piece in content.Chunk(10))
            {
                coder.Write(piece);
                coder.Flush();
            }
        }

        return target.ToArray();
    }

    public static byte[] Of(byte[] content, ContentCoding coding, CompressionLevel level = CompressionLevel.Fastest)
    {
        using var target = new MemoryStream();
        using (Stream coder = coding == ContentCoding.Gzip ? new GZipStream(target, level) : new BrotliStream(target, level))
        {
            coder.Write(content);
        }

        return target.ToArray();
    }
}
