using System.Collections.Frozen;
using System.Text;

namespace Millrace.StaticFiles.Rules;

/// <summary>
/// Maps extensions to content types, by the IANA registry and the practice of browsers, with the changes of a site's options. One instance
/// per site, so that all its assets of a type share one.
/// </summary>
internal sealed class ContentTypes
{
    private const string TableCharset = "; charset=utf-8";

    /// <summary>For unknown extensions: a browser offers to save the file, and does not guess.</summary>
    public static readonly ContentType OctetStream = new("application/octet-stream");

    /// <summary>
    /// The types and their extensions. Text has a charset (without one a browser guesses by locale), and so has XML, whose types define the
    /// parameter (RFC 7303). JSON has none (RFC 8259, section 11: it is UTF-8), nor have its relatives, YAML (RFC 9512) and TOML.
    /// </summary>
    private static readonly (string Type, string Extensions)[] Table =
    [
        ("text/html; charset=utf-8", "html htm shtml"),
        ("text/css; charset=utf-8", "css"),
        ("text/javascript; charset=utf-8", "js mjs cjs"),
        ("text/plain; charset=utf-8", "txt text log conf ini diff patch asc"),
        ("text/markdown; charset=utf-8", "md markdown"),
        ("text/csv; charset=utf-8", "csv"),
        ("text/tab-separated-values; charset=utf-8", "tsv"),
        ("text/calendar; charset=utf-8", "ics"),
        ("text/vcard; charset=utf-8", "vcf"),
        ("text/vtt; charset=utf-8", "vtt"),
        ("text/x-component; charset=utf-8", "htc"),
        ("application/json", "json map topojson"),
        ("application/ld+json", "jsonld"),
        ("application/geo+json", "geojson"),
        ("application/feed+json", "jsonfeed"),
        ("application/manifest+json", "webmanifest"),
        ("application/yaml", "yaml yml"),
        ("application/toml", "toml"),
        ("application/xml; charset=utf-8", "xml xsl xsd"),
        ("application/xhtml+xml; charset=utf-8", "xhtml xht"),
        ("application/xslt+xml; charset=utf-8", "xslt"),
        ("application/rss+xml; charset=utf-8", "rss"),
        ("application/atom+xml; charset=utf-8", "atom"),
        ("application/rdf+xml; charset=utf-8", "rdf"),
        ("application/mathml+xml; charset=utf-8", "mathml"),
        ("application/gpx+xml; charset=utf-8", "gpx"),
        ("application/vnd.google-earth.kml+xml; charset=utf-8", "kml"),
        ("application/vnd.google-earth.kmz", "kmz"),
        ("application/dash+xml; charset=utf-8", "mpd"),
        ("image/svg+xml; charset=utf-8", "svg"),
        ("image/svg+xml", "svgz"),
        ("image/png", "png"),
        ("image/apng", "apng"),
        ("image/jpeg", "jpg jpeg jpe jfif"),
        ("image/gif", "gif"),
        ("image/webp", "webp"),
        ("image/avif", "avif"),
        ("image/heic", "heic"),
        ("image/heif", "heif"),
        ("image/jxl", "jxl"),
        ("image/bmp", "bmp"),
        ("image/tiff", "tif tiff"),
        ("image/x-icon", "ico cur"),
        ("font/woff", "woff"),
        ("font/woff2", "woff2"),
        ("font/ttf", "ttf"),
        ("font/otf", "otf"),
        ("font/collection", "ttc"),
        ("application/vnd.ms-fontobject", "eot"),
        ("audio/mpeg", "mp3"),
        ("audio/mp4", "m4a"),
        ("audio/aac", "aac"),
        ("audio/ogg", "ogg oga"),
        ("audio/opus", "opus"),
        ("audio/flac", "flac"),
        ("audio/wav", "wav"),
        ("audio/webm", "weba"),
        ("audio/midi", "mid midi"),
        ("video/mp4", "mp4 m4v"),
        ("video/webm", "webm"),
        ("video/ogg", "ogv"),
        ("video/quicktime", "mov"),
        ("video/mpeg", "mpg mpeg"),
        ("video/x-matroska", "mkv"),
        ("video/x-msvideo", "avi"),
        ("video/3gpp", "3gp"),
        ("video/mp2t", "ts"),
        ("video/iso.segment", "m4s"),
        ("application/vnd.apple.mpegurl", "m3u8"),
        ("application/pdf", "pdf"),
        ("application/rtf", "rtf"),
        ("application/postscript", "ps eps ai"),
        ("application/epub+zip", "epub"),
        ("application/msword", "doc"),
        ("application/vnd.ms-excel", "xls"),
        ("application/vnd.ms-powerpoint", "ppt"),
        ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"),
        ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"),
        ("application/vnd.openxmlformats-officedocument.presentationml.presentation", "pptx"),
        ("application/vnd.oasis.opendocument.text", "odt"),
        ("application/vnd.oasis.opendocument.spreadsheet", "ods"),
        ("application/vnd.oasis.opendocument.presentation", "odp"),
        ("application/wasm", "wasm"),
        ("application/zip", "zip"),
        ("application/gzip", "gz tgz"),
        ("application/zstd", "zst"),
        ("application/x-bzip2", "bz2"),
        ("application/x-xz", "xz"),
        ("application/x-7z-compressed", "7z"),
        ("application/x-tar", "tar"),
        ("application/vnd.rar", "rar"),
        ("application/java-archive", "jar war"),
        ("application/vnd.android.package-archive", "apk"),
        ("application/x-debian-package", "deb"),
        ("application/x-rpm", "rpm"),
        ("application/x-bittorrent", "torrent"),
        ("application/x-shockwave-flash", "swf"),
        ("application/x-x509-ca-cert", "crt der pem"),
        ("application/x-pkcs12", "p12 pfx"),
        ("application/pkcs7-mime", "p7m p7c"),
        ("application/pgp-signature", "sig"),
        ("application/vnd.sqlite3", "sqlite3"),
        ("application/vnd.apache.parquet", "parquet"),
        ("model/gltf+json", "gltf"),
        ("model/gltf-binary", "glb"),
        ("model/stl", "stl"),
    ];

    private readonly FrozenDictionary<string, ContentType> _byExtension;
    private readonly int _extensionCharsMax;

    /// <summary>The table with the site's charset and types, which take precedence.</summary>
    public ContentTypes(SiteOptions options)
    {
        // Add, not the indexer: an extension listed twice is a mistake in the table, which its order must not hide.
        var types = new Dictionary<string, string>(StringComparer.OrdinalIgnoreCase);
        foreach ((string type, string extensions) in Table)
        {
            foreach (string extension in extensions.Split(' '))
            {
                types.Add(extension, type.Replace(TableCharset, CharsetOf(options), StringComparison.Ordinal));
            }
        }

        foreach ((string extension, string type) in options.ContentTypes)
        {
            types[extension] = WithCharset(type, options);
        }

        var interned = types.Values.Distinct().ToDictionary(type => type, type => new ContentType(type));
        _byExtension = types.ToFrozenDictionary(pair => pair.Key, pair => interned[pair.Value], StringComparer.OrdinalIgnoreCase);
        _extensionCharsMax = types.Keys.Max(extension => extension.Length);
    }

    /// <summary>The type of a file by its name: what follows the last dot, in any case. A leading dot starts no extension.</summary>
    public ContentType Of(ReadOnlySpan<byte> fileName)
    {
        int dot = fileName.LastIndexOf((byte)'.');
        ReadOnlySpan<byte> extension = dot > 0 ? fileName[(dot + 1)..] : default;
        if (extension.IsEmpty || extension.Length > _extensionCharsMax)
        {
            return OctetStream;
        }

        Span<char> chars = stackalloc char[extension.Length];
        _ = Encoding.Latin1.GetChars(extension, chars);
        return _byExtension.GetAlternateLookup<ReadOnlySpan<char>>().TryGetValue(chars, out ContentType? type) ? type : OctetStream;
    }

    /// <summary>Adds the site's charset to its own text types, unless they name one.</summary>
    private static string WithCharset(string type, SiteOptions options) =>
        type.StartsWith("text/", StringComparison.OrdinalIgnoreCase) && !type.Contains("charset=", StringComparison.OrdinalIgnoreCase)
            ? type + CharsetOf(options)
            : type;

    private static string CharsetOf(SiteOptions options) => options.Charset.Length == 0 ? "" : $"; charset={options.Charset}";
}

/// <summary>The value of a Content-Type field (RFC 9110, section 8.3). One instance per value, shared by all its assets.</summary>
internal sealed class ContentType
{
    /// <summary>
    /// The maximum length of a type, without the charset that may be added. RFC 6838, section 4.2, allows 127 for each half; a few
    /// parameters fit, too.
    /// </summary>
    public const int TypeCharactersMax = 512;

    /// <summary>The longest registered name has 45.</summary>
    public const int CharsetCharactersMax = 64;

    private readonly byte[] _value;

    internal ContentType(string value)
    {
        Value = value;
        _value = Encoding.ASCII.GetBytes(value);
        string type = value.Split(';')[0].Trim().ToLowerInvariant();
        IsCompressible = IsCompressibleType(type);
        Kind = KindOf(type);
    }

    public string Value { get; }

    /// <summary>
    /// Whether compression of such a body usually saves much: text, and formats that contain text or raw data. For compressed formats
    /// (images, video, archives, woff) it only costs.
    /// </summary>
    public bool IsCompressible { get; }

    public ContentKind Kind { get; }

    public ReadOnlySpan<byte> Bytes => _value;

    public override string ToString() => Value;

    private static bool IsCompressibleType(string type) =>
        type.StartsWith("text/", StringComparison.Ordinal)
        || type.EndsWith("+json", StringComparison.Ordinal)
        || type.EndsWith("+xml", StringComparison.Ordinal)
        || type is "application/json" or "application/xml" or "application/javascript" or "application/ecmascript"
            or "application/yaml" or "application/toml" or "application/rtf" or "application/postscript"
            or "application/wasm" or "application/vnd.apple.mpegurl" or "application/vnd.ms-fontobject"
            or "font/ttf" or "font/otf" or "font/collection"
            or "image/bmp" or "image/x-icon" or "image/vnd.microsoft.icon"
            or "model/stl";

    private static ContentKind KindOf(string type) => type switch
    {
        _ when type.StartsWith("image/", StringComparison.Ordinal) => ContentKind.Image,
        _ when type.StartsWith("audio/", StringComparison.Ordinal) => ContentKind.Audio,
        _ when type.StartsWith("video/", StringComparison.Ordinal) => ContentKind.Video,
        "application/zip" or "application/gzip" or "application/zstd" or "application/x-bzip2" or "application/x-xz"
            or "application/x-7z-compressed" or "application/x-tar" or "application/vnd.rar" or "application/java-archive"
            or "application/x-debian-package" or "application/x-rpm" => ContentKind.Archive,
        "application/json" or "application/xml" or "application/yaml" or "application/toml" or "application/pdf" or "application/rtf"
            or "application/postscript" or "application/epub+zip" or "application/msword" => ContentKind.Text,
        _ when type.StartsWith("text/", StringComparison.Ordinal)
            || type.StartsWith("application/vnd.oasis.opendocument.", StringComparison.Ordinal)
            || type.StartsWith("application/vnd.openxmlformats-officedocument.", StringComparison.Ordinal)
            || type.EndsWith("+json", StringComparison.Ordinal)
            || type.EndsWith("+xml", StringComparison.Ordinal) => ContentKind.Text,
        _ => ContentKind.Other,
    };
}

/// <summary>What people would call a content, for the icons of a listing.</summary>
internal enum ContentKind : byte
{
    Other,
    Image,
    Audio,
    Video,
    Archive,

    /// <summary>Documents too.</summary>
    Text,
}
