using System.Buffers;
using System.Diagnostics.CodeAnalysis;
using System.Text;
using Millrace.Http;

namespace Millrace.StaticFiles.Rules;

/// <summary>
/// Writes parts of a URL into a span (RFC 3986). Whatever the input, only URL characters are written: no CR or LF, no space, no backslash
/// (browsers treat it as a slash), only ASCII. Text that does not fit is dropped, and sets <see cref="Overflowed"/>.
/// </summary>
internal ref struct UrlText(Span<byte> destination)
{
    private const string Unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";

    /// <summary>As <see cref="ByteClasses.Path"/>, and '?', as allowed in a whole query or fragment.</summary>
    private static readonly SearchValues<byte> QueryBytes = Of(Unreserved + "!$&'()*+,;=:@/?");

    /// <summary>The characters allowed in the value of one parameter: none that would end it.</summary>
    private static readonly SearchValues<byte> ValueBytes = Of(Unreserved + "!$'()*,:@/?");

    /// <summary>The characters allowed in one segment.</summary>
    private static readonly SearchValues<byte> SegmentBytes = Of(Unreserved + "!$&'()*+,;=:@");

    private readonly Span<byte> _destination = destination;
    private int _written;

    public bool Overflowed { get; private set; }

    public readonly int Length => _written;

    public readonly ReadOnlySpan<byte> Written => _destination[.._written];

    /// <summary>The URL text of a path from a rule: its escapes stay.</summary>
    public static byte[] EncodePath(byte[] raw) => Encode(raw, ByteClasses.Path);

    /// <summary>The URL text of a query or fragment from a rule: its escapes stay.</summary>
    public static byte[] EncodeQuery(byte[] raw) => Encode(raw, QueryBytes);

    /// <summary>Writes a request target of a decoded path and the query that was sent; false if the room does not suffice.</summary>
    public static bool TryWriteTarget(
        scoped ReadOnlySpan<byte> decodedPath, scoped ReadOnlySpan<byte> query, Span<byte> room, out ReadOnlySpan<byte> target)
    {
        var text = new UrlText(room);
        text.Path(decodedPath);
        if (!query.IsEmpty)
        {
            text.Literal("?"u8);
            text.Literal(query);
        }

        target = text.Written;
        return !text.Overflowed;
    }

    /// <summary>Writes bytes that are valid URL text.</summary>
    public void Literal(scoped ReadOnlySpan<byte> bytes)
    {
        if (bytes.Length > _destination.Length - _written)
        {
            Overflowed = true;
            return;
        }

        bytes.CopyTo(_destination[_written..]);
        _written += bytes.Length;
    }

    public void Truncate(int length) => _written = length;

    /// <summary>Writes a decoded path or a part of it, slashes included.</summary>
    public void Path(scoped ReadOnlySpan<byte> decoded) => Encode(decoded, ByteClasses.Path);

    /// <summary>Writes a decoded text as the value of a query parameter, or within a fragment.</summary>
    public void Value(scoped ReadOnlySpan<byte> decoded) => Encode(decoded, ValueBytes);

    /// <summary>Writes a query or fragment that is already encoded: its escapes stay.</summary>
    public void Query(scoped ReadOnlySpan<byte> raw) => Reencode(raw, QueryBytes);

    /// <summary>Writes the raw value of a query parameter as a value again: '+' stays a space there.</summary>
    public void RawValue(scoped ReadOnlySpan<byte> raw)
    {
        for (int at = 0; at < raw.Length; at++)
        {
            bool isKept = raw[at] == '+' || (raw[at] == '%' && PercentEncoding.ByteAt(raw, at) >= 0);
            EncodeByte(raw[at], isKept || ValueBytes.Contains(raw[at]));
        }
    }

    /// <summary>Writes the raw value of a query parameter as one path segment: a '/' in it starts no other segment.</summary>
    public void RawValueAsSegment(scoped ReadOnlySpan<byte> raw)
    {
        for (int at = 0; at < raw.Length;)
        {
            byte value = QueryText.NextDecoded(raw, ref at);
            EncodeByte(value, SegmentBytes.Contains(value));
        }
    }

    private static byte[] Encode(byte[] raw, SearchValues<byte> plain)
    {
        var text = new UrlText(new byte[PercentEncoding.BytesMaxPerByte * raw.Length]);
        text.Reencode(raw, plain);
        return text.Written.ToArray();
    }

    private void Encode(scoped ReadOnlySpan<byte> bytes, SearchValues<byte> plain)
    {
        foreach (byte value in bytes)
        {
            EncodeByte(value, plain.Contains(value));
        }
    }

    private void Reencode(scoped ReadOnlySpan<byte> bytes, SearchValues<byte> plain)
    {
        for (int at = 0; at < bytes.Length; at++)
        {
            EncodeByte(bytes[at], plain.Contains(bytes[at]) || (bytes[at] == '%' && PercentEncoding.ByteAt(bytes, at) >= 0));
        }
    }

    private void EncodeByte(byte value, bool isPlain)
    {
        ReadOnlySpan<byte> digits = "0123456789ABCDEF"u8;
        ReadOnlySpan<byte> escape = [(byte)'%', digits[value >> 4], digits[value & 15]];
        Literal(isPlain ? new ReadOnlySpan<byte>(in value) : escape);
    }

    private static SearchValues<byte> Of(string characters) => SearchValues.Create(System.Text.Encoding.ASCII.GetBytes(characters));
}

/// <summary>The host of an absolute URL in a configuration. Any thread.</summary>
internal static class UrlHost
{
    /// <summary>The position of the host in an absolute http(s) URL; 0 for any other text.</summary>
    public static int IndexOfHost(string text) =>
        text.StartsWith("https://", StringComparison.OrdinalIgnoreCase) ? 8
        : text.StartsWith("http://", StringComparison.OrdinalIgnoreCase) ? 7
        : 0;

    /// <summary>Throws <see cref="SiteException"/> for a rule whose source names a host.</summary>
    public static void RefuseRuleFor(string source)
    {
        if (IndexOfHost(source) > 0)
        {
            throw new SiteException("Rules for a host are not supported.", "Write the path alone; give each host a root of its own.");
        }
    }

    /// <summary>
    /// Replaces an international host of the URL by its A-labels and leaves the other parts unchanged. False if the host has none; the
    /// result is then the text itself, and the problem a clause that gives the reason.
    /// </summary>
    public static bool TryEncode(string text, out string encoded, [NotNullWhen(false)] out string? problem)
    {
        encoded = text;
        problem = null;
        int start = text.IndexOf("://", StringComparison.Ordinal) + 3;
        if (start < 3)
        {
            return true;
        }

        int length = text.AsSpan(start).IndexOfAny("/?#:");
        int end = length < 0 ? text.Length : start + length;
        if (Ascii.IsValid(text.AsSpan(start, end - start)))
        {
            return true;
        }

        if (!DomainName.TryEncode(text[start..end], out string? host, out problem))
        {
            return false;
        }

        encoded = string.Concat(text.AsSpan(0, start), host, text.AsSpan(end));
        return true;
    }
}
