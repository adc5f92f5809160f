namespace Millrace.Http;

/// <summary>
/// The orders in which codings of equal weight are preferred: the smallest body first, identity last. Each order lists all codings, so that
/// it fits any set of them, and is shared.
/// </summary>
internal static class CodingOrder
{
    private static readonly ContentCoding[] BrotliGzipZstd = Of(ContentCoding.Brotli, ContentCoding.Gzip, ContentCoding.Zstd);
    private static readonly ContentCoding[] ZstdBrotliGzip = Of(ContentCoding.Zstd, ContentCoding.Brotli, ContentCoding.Gzip);
    private static readonly ContentCoding[] ZstdGzipBrotli = Of(ContentCoding.Zstd, ContentCoding.Gzip, ContentCoding.Brotli);
    private static readonly ContentCoding[] GzipBrotliZstd = Of(ContentCoding.Gzip, ContentCoding.Brotli, ContentCoding.Zstd);
    private static readonly ContentCoding[] GzipZstdBrotli = Of(ContentCoding.Gzip, ContentCoding.Zstd, ContentCoding.Brotli);

    /// <summary>Of bodies whose sizes are not known, or are equal: the coding that is usually smallest comes first.</summary>
    public static ContentCoding[] Usual { get; } = Of(ContentCoding.Brotli, ContentCoding.Zstd, ContentCoding.Gzip);

    /// <summary>By the sizes of the bodies; of a coding that does not exist it may be anything.</summary>
    public static ContentCoding[] BySize(long brotliBytes, long zstdBytes, long gzipBytes)
    {
        if (brotliBytes <= zstdBytes)
        {
            return zstdBytes <= gzipBytes ? Usual : brotliBytes <= gzipBytes ? BrotliGzipZstd : GzipBrotliZstd;
        }

        return brotliBytes <= gzipBytes ? ZstdBrotliGzip : zstdBytes <= gzipBytes ? ZstdGzipBrotli : GzipZstdBrotli;
    }

    private static ContentCoding[] Of(ContentCoding first, ContentCoding second, ContentCoding third) =>
        [first, second, third, ContentCoding.Identity];
}
