using System.Buffers;

namespace Millrace.Http;

/// <summary>The byte classes of the HTTP and URI grammars, in the form for vectorized span searches.</summary>
internal static class ByteClasses
{
    private const string Alphanumerics = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

    /// <summary>tchar, RFC 9110 section 5.6.2.</summary>
    public static readonly SearchValues<byte> Token = Of(b => IsOneOf(b, Alphanumerics + "!#$%&'*+-.^_`|~"));

    /// <summary>Allowed in field names of HTTP/2, which have no upper-case letters: RFC 9113 section 8.2.1.</summary>
    public static readonly SearchValues<byte> LowerToken = Of(b => Token.Contains(b) && !char.IsAsciiLetterUpper((char)b));

    /// <summary>Allowed in field values, RFC 9110 section 5.5: HTAB, SP, VCHAR and obs-text.</summary>
    public static readonly SearchValues<byte> FieldValue = Of(b => b is (byte)'\t' or >= 0x20 and not 0x7F);

    /// <summary>
    /// Allowed in request targets: visible ASCII but '#'. RFC 3986 forbids more, yet browsers send <c>|</c> and <c>"</c> unencoded and no
    /// recipient splits on them. A fragment is refused because intermediaries disagree whether it ends the target, and bytes of 0x80 and
    /// above because they disagree on its encoding; their percent-encoded form is served.
    /// </summary>
    public static readonly SearchValues<byte> Target = Of(b => b is > 0x20 and < 0x7F and not (byte)'#');

    /// <summary>unreserved and sub-delims: a reg-name without its percent escapes, RFC 3986 section 3.2.2.</summary>
    public static readonly SearchValues<byte> RegName = Of(b => IsOneOf(b, Alphanumerics + "-._~!$&'()*+,;="));

    /// <summary>The bytes of an address of a future version in brackets, after its dot (RFC 3986 section 3.2.2).</summary>
    public static readonly SearchValues<byte> FutureAddress = Of(b => b == (byte)':' || RegName.Contains(b));

    /// <summary>RFC 3986 section 2.3.</summary>
    public static readonly SearchValues<byte> Unreserved = Of(b => IsOneOf(b, Alphanumerics + "-._~"));

    /// <summary>pchar without '%', and the slash between segments, RFC 3986 section 3.3.</summary>
    public static readonly SearchValues<byte> Path = Of(b => IsOneOf(b, Alphanumerics + "-._~!$&'()*+,;=:@/"));

    /// <summary>Allowed in the scheme of a URI after its first letter, RFC 3986 section 3.1.</summary>
    public static readonly SearchValues<byte> Scheme = Of(b => IsOneOf(b, Alphanumerics + "+-."));

    /// <summary>etagc: allowed between the quotes of an entity-tag, RFC 9110 section 8.8.3.</summary>
    public static readonly SearchValues<byte> EntityTag = Of(b => b is > 0x20 and not (byte)'"' and not 0x7F);

    /// <summary>The bytes of IPv6 addresses.</summary>
    public static readonly SearchValues<byte> Ipv6 = Of(b => IsOneOf(b, "0123456789ABCDEFabcdef:."));

    public static readonly SearchValues<byte> Digits = SearchValues.Create("0123456789"u8);

    public static readonly SearchValues<byte> HexDigits = SearchValues.Create("0123456789ABCDEFabcdef"u8);

    private static SearchValues<byte> Of(Func<byte, bool> belongs)
        => SearchValues.Create([.. Enumerable.Range(0, 256).Select(value => (byte)value).Where(belongs)]);

    private static bool IsOneOf(byte value, string characters) => characters.Contains((char)value, StringComparison.Ordinal);
}
