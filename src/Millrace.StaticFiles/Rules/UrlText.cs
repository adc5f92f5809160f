using System.Buffers;

namespace Millrace.StaticFiles.Rules;

/// <summary>
/// Writes parts of a URL into a span (RFC 3986). Whatever the input, only URL characters are written: no CR or LF, no space, no backslash
/// (browsers treat it as a slash), only ASCII. Text that does not fit is dropped, and sets <see cref="Overflowed"/>.
/// </summary>
internal ref struct UrlText(Span<byte> destination)
{
    private const string Unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";

    /// <summary>pchar without '%', and the slash.</summary>
    private static readonly SearchValues<byte> PathBytes = Of(Unreserved + "!$&'()*+,;=:@/");

    /// <summary>The same and '?', as allowed in a whole query or fragment.</summary>
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
    public void Path(scoped ReadOnlySpan<byte> decoded) => Encode(decoded, PathBytes);

    /// <summary>Writes a decoded text as the value of a query parameter, or within a fragment.</summary>
    public void Value(scoped ReadOnlySpan<byte> decoded) => Encode(decoded, ValueBytes);

    /// <summary>Writes a query or fragment that is already encoded: its escapes stay.</summary>
    public void Query(scoped ReadOnlySpan<byte> raw) => Reencode(raw, QueryBytes);

    /// <summary>Writes a path from a rule: its escapes stay.</summary>
    public void RawPath(scoped ReadOnlySpan<byte> raw) => Reencode(raw, PathBytes);

    /// <summary>Writes the raw value of a query parameter as a value again: '+' stays a space there.</summary>
    public void RawValue(scoped ReadOnlySpan<byte> raw)
    {
        for (int at = 0; at < raw.Length; at++)
        {
            bool isKept = raw[at] == '+' || (raw[at] == '%' && QueryText.IsEscape(raw, at));
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
            EncodeByte(bytes[at], plain.Contains(bytes[at]) || (bytes[at] == '%' && QueryText.IsEscape(bytes, at)));
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
