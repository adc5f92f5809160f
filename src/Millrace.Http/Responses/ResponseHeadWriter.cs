using System.Buffers.Text;
using System.Diagnostics;

namespace Millrace.Http;

/// <summary>
/// Writes a response's head into a span of the caller's. It never writes past it and never throws for invalid input: it stops at the first
/// error, which <see cref="Finish"/> returns.
/// </summary>
/// <remarks>
/// The room needed is <see cref="FieldBytes"/> for each field, <see cref="ContentLengthBytesMax"/>, the status line's own length,
/// and <see cref="EndBytes"/>.
/// </remarks>
internal ref struct ResponseHeadWriter(Span<byte> destination) : IHeadWriter<ResponseHeadWriter>
{
    /// <summary>"Content-Length: ", the 19 digits of the largest long, CRLF.</summary>
    public const int ContentLengthBytesMax = 16 + 19 + 2;

    /// <summary>The empty line.</summary>
    public const int EndBytes = 2;

    private readonly Span<byte> _destination = destination;
    private int _written;
    private ResponseHeadResult _result;

    public static HeadCoding Coding => HeadCoding.Http1;

    public static ResponseHeadWriter Over(Span<byte> destination) => new(destination);

    /// <summary>The bytes written so far.</summary>
    public readonly int Written => _written;

    /// <summary>The size of a field line: name, ": ", value, CRLF.</summary>
    public static int FieldBytes(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value) => name.Length + 2 + value.Length + 2;

    public void Status(int status) => Write(StatusLine.Of(status));

    public void Field(scoped ReadOnlySpan<byte> name, scoped ReadOnlySpan<byte> value)
    {
        if (name.IsEmpty || name.ContainsAnyExcept(ByteClasses.Token) || value.ContainsAnyExcept(ByteClasses.FieldValue))
        {
            Stop(ResponseHeadResult.UnsafeField);
            return;
        }

        if (!HasRoomFor(FieldBytes(name, value)))
        {
            return;
        }

        Write(name);
        Write(": "u8);
        Write(value);
        Write("\r\n"u8);
    }

    public void ContentLength(long bytes)
    {
        Debug.Assert(bytes >= 0);
        Span<byte> digits = stackalloc byte[20];
        bool formatted = Utf8Formatter.TryFormat(bytes, digits, out int count);
        Debug.Assert(formatted);
        if (HasRoomFor(ContentLengthBytesMax - 19 + count))
        {
            Write("Content-Length: "u8);
            Write(digits[..count]);
            Write("\r\n"u8);
        }
    }

    /// <summary>Copies complete lines that were prepared and validated before.</summary>
    public void Lines(scoped ReadOnlySpan<byte> lines)
    {
        Debug.Assert(lines.IsEmpty || lines.EndsWith("\r\n"u8));
        Write(lines);
    }

    /// <summary>Ends the head with the empty line. Unless the result is Ok, nothing of the head may be sent and its length is 0.</summary>
    public ResponseHeadResult Finish(out int bytes)
    {
        Write("\r\n"u8);
        bytes = _result == ResponseHeadResult.Ok ? _written : 0;
        return _result;
    }

    private void Write(scoped ReadOnlySpan<byte> bytes)
    {
        if (HasRoomFor(bytes.Length))
        {
            bytes.CopyTo(_destination[_written..]);
            _written += bytes.Length;
        }
    }

    private bool HasRoomFor(int bytes)
    {
        if (bytes > _destination.Length - _written)
        {
            Stop(ResponseHeadResult.TooLarge);
        }

        return _result == ResponseHeadResult.Ok;
    }

    private void Stop(ResponseHeadResult result)
    {
        if (_result == ResponseHeadResult.Ok)
        {
            _result = result;
        }
    }
}

/// <summary>The coding of a response's head.</summary>
internal enum HeadCoding : byte
{
    /// <summary>As lines of text, RFC 9112.</summary>
    Http1,

    /// <summary>As a field block of HPACK, RFC 7541.</summary>
    Hpack,
}

/// <summary>Whether a response's head may be sent.</summary>
internal enum ResponseHeadResult : byte
{
    Ok,

    /// <summary>The span was too small. Nothing was written past it.</summary>
    TooLarge,

    /// <summary>A name or value contains invalid bytes; a CR or LF there could inject fields or a whole response.</summary>
    UnsafeField,
}

/// <summary>
/// Writes the fields of a response's head in one coding. It stops at the first error, which <see cref="Finish"/> returns. It is an
/// interface so that the content of a head is written once; generic code over it is compiled for each coding.
/// </summary>
internal interface IHeadWriter<TSelf>
    where TSelf : IHeadWriter<TSelf>, allows ref struct
{
    static abstract HeadCoding Coding { get; }

    static abstract TSelf Over(Span<byte> destination);

    /// <summary>The bytes written so far.</summary>
    int Written { get; }

    /// <summary>Must be first.</summary>
    void Status(int status);

    void Field(scoped ReadOnlySpan<byte> name, scoped ReadOnlySpan<byte> value);

    void ContentLength(long bytes);

    /// <summary>Copies fields that were prepared and validated before in the same coding.</summary>
    void Lines(scoped ReadOnlySpan<byte> lines);

    /// <summary>Ends the head. Unless the result is Ok, nothing of it may be sent and its length is 0.</summary>
    ResponseHeadResult Finish(out int bytes);
}
