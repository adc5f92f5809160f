using System.IO.Compression;
using System.Text;
using Millrace.Http;
using Millrace.Interop.Zstd;
using Millrace.Tests.Shared;

namespace Millrace.StaticFiles.Tests.Compression;

/// <summary>Bodies to compress, and what decodes them.</summary>
internal static class TestText
{
    private static readonly string[] Words = "wheel water stone grain sluice race mill flour gate turn river the of a and".Split(' ');

    /// <summary>Words without end, the same for the same seed: to a third or so by any coding.</summary>
    public static byte[] Of(int bytes, int seed = 1)
    {
        var random = new Random(seed);
        var text = new StringBuilder(bytes + 16);
        while (text.Length < bytes)
        {
            text.Append(Words[random.Next(Words.Length)]).Append(random.Next(100)).Append(' ');
        }

        return Encoding.ASCII.GetBytes(text.ToString(0, bytes));
    }

    public static byte[] Noise(int bytes, int seed = 1)
    {
        byte[] noise = new byte[bytes];
        new Random(seed).NextBytes(noise);
        return noise;
    }

    public static byte[] Decode(ContentCoding coding, ReadOnlySpan<byte> coded)
    {
        using var input = new MemoryStream(coded.ToArray());
        using Stream decoder = coding switch
        {
            ContentCoding.Brotli => new BrotliStream(input, CompressionMode.Decompress),
            ContentCoding.Zstd when ZstdLibrary.TryLoad(out ZstdLibrary? library) => new ZstdReadStream(library, input),
            ContentCoding.Gzip => new GZipStream(input, CompressionMode.Decompress),
            _ => throw new InvalidOperationException($"There is no decoder for {coding}."),
        };
        using var output = new MemoryStream();
        decoder.CopyTo(output);
        return output.ToArray();
    }
}
