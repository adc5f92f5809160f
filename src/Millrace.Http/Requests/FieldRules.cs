using System.Buffers;
using System.Text;

namespace Millrace.Http;

/// <summary>
/// Checks a single field, except pseudo-fields, of a request by RFC 9113 sections 8.2.1 and 8.2.2, and of a response. Beyond these sections
/// it is as strict as with HTTP/1.1: names are tokens, and values have no control characters.
/// </summary>
internal static class FieldRules
{
    /// <summary>Checks a field of a response, in any coding.</summary>
    public static void ThrowIfInvalid(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value)
    {
        if (name.IsEmpty || name.ContainsAnyExcept(ByteClasses.Token) || value.ContainsAnyExcept(ByteClasses.FieldValue))
        {
            throw new ArgumentException("The name or the value of a response field contains bytes that could inject others.");
        }
    }

    /// <summary>
    /// Checks a field of a response for HTTP/2 or HTTP/3, which do not have those of a connection (RFC 9113 section 8.2.2, RFC 9114 section
    /// 4.2), and writes its name in lower case.
    /// </summary>
    /// <param name="name">The name.</param>
    /// <param name="value">The value.</param>
    /// <param name="lower">Memory of the name's length.</param>
    public static void ToLowerOrThrow(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value, Span<byte> lower)
    {
        ThrowIfInvalid(name, value);
        Ascii.ToLower(name, lower, out _);
        if (ConnectionFields.Contains(lower))
        {
            throw new ArgumentException($"{Encoding.ASCII.GetString(name)} is not a field of HTTP/2 and HTTP/3.", nameof(name));
        }
    }

    /// <summary>Checks a field of an HTTP/2 or HTTP/3 request.</summary>
    /// <param name="name">The name.</param>
    /// <param name="value">The value.</param>
    /// <param name="staticIndex">The index of the name in the static table, all of whose names are valid; otherwise 0.</param>
    public static HeadRefusal Check(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value, int staticIndex)
    {
        if (staticIndex == 0 && (name.IsEmpty || name.ContainsAnyExcept(ByteClasses.LowerToken)))
        {
            return name.ContainsAnyInRange((byte)'A', (byte)'Z') ? HeadRefusal.UpperCaseName : HeadRefusal.BadFieldName;
        }

        if (value.ContainsAnyExcept(ByteClasses.FieldValue) || HasWhitespaceAround(value))
        {
            return HeadRefusal.BadFieldValue;
        }

        bool isForConnection = ConnectionFields.Contains(name)
            || (name.SequenceEqual("te"u8) && !Words.EqualsIgnoreCase(value, "trailers"u8));
        return isForConnection ? HeadRefusal.ConnectionField : HeadRefusal.None;
    }

    private static bool HasWhitespaceAround(ReadOnlySpan<byte> value)
        => !value.IsEmpty && (value[0] is (byte)' ' or (byte)'\t' || value[^1] is (byte)' ' or (byte)'\t');
}

/// <summary>
/// The HTTP/1.1 connection fields, which no HTTP/2 message may have (RFC 9113 section 8.2.2). TE is one too, except with the value that
/// requests may give it.
/// </summary>
internal static class ConnectionFields
{
    /// <summary>Whether this name, in lower case, is one of them.</summary>
    public static bool Contains(ReadOnlySpan<byte> name) => name.Length switch
    {
        7 => name.SequenceEqual("upgrade"u8),
        10 => name.SequenceEqual("connection"u8) || name.SequenceEqual("keep-alive"u8),
        16 => name.SequenceEqual("proxy-connection"u8),
        17 => name.SequenceEqual("transfer-encoding"u8),
        _ => false,
    };
}

/// <summary>
/// The trailer fields of a request, RFC 9113 section 8.1: checked, and dropped unless they are wanted. TE is a field of the head only (RFC
/// 9114 section 4.2).
/// </summary>
/// <param name="bytesMax">The maximum size of a head: a byte of a block can refer to an entry of 4 KB, and each would be checked.</param>
internal sealed class TrailerFields(int bytesMax) : IHpackSink
{
    private long _bytesLeft = bytesMax;

    /// <summary>Takes them as lines of HTTP/1.1; null to drop them.</summary>
    public ArrayBufferWriter<byte>? Lines { get; init; }

    /// <summary>The first error: the trailers are too large, malformed, or valid.</summary>
    public HeadRefusal Refusal { get; private set; }

    public void OnField(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value, int staticIndex)
    {
        if (Refusal == HeadRefusal.None)
        {
            _bytesLeft -= name.Length + value.Length;
            Refusal = _bytesLeft < 0 ? HeadRefusal.HeadTooLarge
                : !name.IsEmpty && name[0] == ':' ? HeadRefusal.MisplacedPseudoField
                : name.SequenceEqual("te"u8) ? HeadRefusal.ConnectionField
                : FieldRules.Check(name, value, staticIndex);
            if (Refusal == HeadRefusal.None && Lines is not null)
            {
                Lines.Write(name);
                Lines.Write(": "u8);
                Lines.Write(value);
                Lines.Write("\r\n"u8);
            }
        }
    }
}
