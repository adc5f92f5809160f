namespace Millrace.Http;

/// <summary>The names of content codings, which are case-insensitive (RFC 9110 section 8.4.1), and sets of them.</summary>
internal static class ContentCodings
{
    public const int Count = 6;

    /// <summary>The name in Content-Encoding. Identity occurs only in Accept-Encoding (RFC 9110 section 8.4).</summary>
    public static ReadOnlySpan<byte> NameOf(ContentCoding coding) => coding switch
    {
        ContentCoding.Gzip => "gzip"u8,
        ContentCoding.Brotli => "br"u8,
        ContentCoding.Zstd => "zstd"u8,
        ContentCoding.DictionaryZstd => "dcz"u8,
        ContentCoding.DictionaryBrotli => "dcb"u8,
        _ => "identity"u8,
    };

    public static CodingSet SetOf(ContentCoding coding) => (CodingSet)(1 << (int)coding);

    public static bool Has(this CodingSet set, ContentCoding coding) => (set & SetOf(coding)) != 0;

    /// <summary>Whether it needs a dictionary that the client has.</summary>
    public static bool NeedsDictionary(this ContentCoding coding) =>
        coding is ContentCoding.DictionaryZstd or ContentCoding.DictionaryBrotli;

    public static bool TryRecognize(ReadOnlySpan<byte> name, out ContentCoding coding)
    {
        // x-gzip is gzip, RFC 9110 section 8.4.1.3.
        (bool isKnown, coding) =
            Words.EqualsIgnoreCase(name, "gzip"u8) || Words.EqualsIgnoreCase(name, "x-gzip"u8) ? (true, ContentCoding.Gzip)
            : Words.EqualsIgnoreCase(name, "br"u8) ? (true, ContentCoding.Brotli)
            : Words.EqualsIgnoreCase(name, "zstd"u8) ? (true, ContentCoding.Zstd)
            : Words.EqualsIgnoreCase(name, "dcz"u8) ? (true, ContentCoding.DictionaryZstd)
            : Words.EqualsIgnoreCase(name, "dcb"u8) ? (true, ContentCoding.DictionaryBrotli)
            : (Words.EqualsIgnoreCase(name, "identity"u8), ContentCoding.Identity);
        return isKnown;
    }
}

/// <summary>The available codings: bit <c>1 &lt;&lt; (int)coding</c> for each <see cref="ContentCoding"/>.</summary>
[Flags]
internal enum CodingSet : byte
{
    None = 0,
    Identity = 1,
    Gzip = 2,
    Brotli = 4,
    Zstd = 8,
    DictionaryZstd = 16,
    DictionaryBrotli = 32,
}

/// <summary>The content codings a representation is served in (RFC 9110 section 8.4.1, RFC 7932, RFC 8878, RFC 9842).</summary>
internal enum ContentCoding : byte
{
    Identity,
    Gzip,
    Brotli,
    Zstd,

    /// <summary>Zstd with a dictionary that the client has: <c>dcz</c>. Each dictionary makes another representation.</summary>
    DictionaryZstd,

    /// <summary>Brotli with a dictionary that the client has: <c>dcb</c>.</summary>
    DictionaryBrotli,
}
