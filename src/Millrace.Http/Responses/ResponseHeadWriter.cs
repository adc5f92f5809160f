using System.Buffers.Text;
using System.Diagnostics;

namespace Millrace.Http;

/// <summary>Writes a response's head as the lines of HTTP/1.1 into a span of the caller's.</summary>
internal ref struct ResponseHeadWriter(Span<byte> destination) : IHeadWriter<ResponseHeadWriter>
{
    /// <summary>The empty line.</summary>
    public const int EndBytes = 2;

    private readonly Span<byte> _destination = destination;

    public static HeadCoding Coding => HeadCoding.Http1;

    public static ResponseHeadWriter Over(Span<byte> destination) => new(destination);

    public int Written { readonly get; private set; }

    public void Status(int status) => Write(StatusLine.Of(status));

    public void AnyStatus(int status)
    {
        ReadOnlySpan<byte> known = StatusLine.Find(status);
        if (!known.IsEmpty)
        {
            Write(known);
            return;
        }

        // The reason is optional, the space before it is not (RFC 9112 section 4).
        Write("HTTP/1.1 "u8);
        Span<byte> digits = stackalloc byte[3];
        bool formatted = Utf8Formatter.TryFormat(status, digits, out int count);
        Debug.Assert(formatted && count == 3);
        Write(digits);
        Write(" \r\n"u8);
    }

    public void Field(scoped ReadOnlySpan<byte> name, scoped ReadOnlySpan<byte> value)
    {
        FieldRules.ThrowIfInvalid(name, value);
        Write(name);
        Write(": "u8);
        Write(value);
        Write("\r\n"u8);
    }

    public void Lines(scoped ReadOnlySpan<byte> lines)
    {
        Debug.Assert(lines.IsEmpty || lines.EndsWith("\r\n"u8));
        Write(lines);
    }

    public int Finish()
    {
        Write("\r\n"u8);
        return Written;
    }

    private void Write(scoped ReadOnlySpan<byte> bytes)
    {
        bytes.CopyTo(_destination[Written..]);
        Written += bytes.Length;
    }
}

/// <summary>Fields with a value that is a number.</summary>
internal static class HeadWriterExtensions
{
    public static void ContentLength<TWriter>(this ref TWriter writer, long bytes)
        where TWriter : struct, IHeadWriter<TWriter>, allows ref struct
    {
        Debug.Assert(bytes >= 0);
        Span<byte> digits = stackalloc byte[19];
        bool formatted = Utf8Formatter.TryFormat(bytes, digits, out int count);
        Debug.Assert(formatted);
        writer.Field("Content-Length"u8, digits[..count]);
    }
}

/// <summary>The coding of a response's head.</summary>
internal enum HeadCoding : byte
{
    /// <summary>As lines of text, RFC 9112.</summary>
    Http1,

    /// <summary>As a field block of HPACK, RFC 7541.</summary>
    Hpack,

    /// <summary>As the representations of a field section of QPACK, RFC 9204.</summary>
    Qpack,
}

/// <summary>
/// Writes the fields of a response's head in one coding. A destination that is too small is an error of the caller, which knows every size
/// in advance: nothing is written past it. It is an interface so that the content of a head is written once; generic code over it is
/// compiled for each coding.
/// </summary>
internal interface IHeadWriter<TSelf>
    where TSelf : struct, IHeadWriter<TSelf>, allows ref struct
{
    static abstract HeadCoding Coding { get; }

    static abstract TSelf Over(Span<byte> destination);

    int Written { get; }

    /// <summary>Must be first.</summary>
    void Status(int status);

    /// <summary>The same for the status of another server, of three digits.</summary>
    void AnyStatus(int status);

    /// <summary>Throws for a name or value with invalid bytes: a CR or LF there could inject fields or a whole response.</summary>
    void Field(scoped ReadOnlySpan<byte> name, scoped ReadOnlySpan<byte> value);

    /// <summary>Copies fields that were prepared and validated before in the same coding.</summary>
    void Lines(scoped ReadOnlySpan<byte> lines);

    /// <summary>Ends the head; returns its length.</summary>
    int Finish();
}
