using System.Numerics;

namespace Millrace.Interop.Zstd;

/// <summary>
/// The windows that every client can decode: 8 MiB in the coding <c>zstd</c> (RFC 9659), and with a dictionary 1.25 times its size if that
/// is more, up to 128 MiB (RFC 9842, section 5).
/// </summary>
internal static class ZstdWindow
{
    /// <summary>The base 2 logarithm of the least window that clients must decode.</summary>
    public const int LogMin = 23;

    private const long BytesMin = 1L << LogMin;
    private const long BytesMax = 128L << 20;

    /// <summary>The smallest logarithm that libzstd takes.</summary>
    private const int LogOfLibraryMin = 10;

    /// <summary>The largest window that a client must decode.</summary>
    public static long LimitFor(long dictionaryBytes) => Math.Clamp(dictionaryBytes + (dictionaryBytes / 4), BytesMin, BytesMax);

    /// <summary>
    /// For an encoder: reaches over the whole content and with it the whole dictionary if the limit permits. A frame whose content fits in
    /// its window needs a window of the content's size only, so the power of 2 above it may exceed the limit.
    /// </summary>
    public static int LogFor(long contentBytes, long dictionaryBytes = 0)
    {
        long limit = LimitFor(dictionaryBytes);
        return contentBytes <= limit
            ? Math.Max(LogOfLibraryMin, BitOperations.Log2(BitOperations.RoundUpToPowerOf2((ulong)Math.Max(1, contentBytes))))
            : BitOperations.Log2((ulong)limit);
    }

    /// <summary>For a decoder: accepts each window within the limit.</summary>
    public static int LogMaxFor(long dictionaryBytes) =>
        BitOperations.Log2(BitOperations.RoundUpToPowerOf2((ulong)LimitFor(dictionaryBytes)));
}
