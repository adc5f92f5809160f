using System.Text;

namespace Millrace.StaticFiles.Rules;

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
        IsCompressible = IsCompressibleType(value.Split(';')[0].Trim().ToLowerInvariant());
    }

    public string Value { get; }

    /// <summary>
    /// Whether compression of such a body usually saves much: text, and formats that contain text or raw data. For compressed formats
    /// (images, video, archives, woff) it only costs.
    /// </summary>
    public bool IsCompressible { get; }

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
}
