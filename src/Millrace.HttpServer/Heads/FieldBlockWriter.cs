using System.Buffers.Text;
using System.Diagnostics;
using Millrace.Http;

namespace Millrace.HttpServer.Heads;

/// <summary>
/// Writes a response's head as an HTTP/2 field block, with representations that use no dynamic table: the block is valid on every
/// connection.
/// </summary>
internal ref struct FieldBlockWriter(Span<byte> destination) : IHeadWriter<FieldBlockWriter>
{
    private readonly Span<byte> _destination = destination;
    private ResponseHeadResult _result;

    public static HeadCoding Coding => HeadCoding.Hpack;

    public static FieldBlockWriter Over(Span<byte> destination) => new(destination);

    public int Written { readonly get; private set; }

    private readonly Span<byte> Room => _destination[Written..];

    public void Status(int status) => Took(HpackEncoder.WriteStatus(Room, status), ResponseHeadResult.TooLarge);

    public void Field(scoped ReadOnlySpan<byte> name, scoped ReadOnlySpan<byte> value) => Took(
        HpackEncoder.WriteField(Room, name, value),
        Room.Length < HpackEncoder.MaxLength(name, value) ? ResponseHeadResult.TooLarge : ResponseHeadResult.UnsafeField);

    public void ContentLength(long bytes)
    {
        Debug.Assert(bytes >= 0);
        Span<byte> digits = stackalloc byte[20];
        bool formatted = Utf8Formatter.TryFormat(bytes, digits, out int count);
        Debug.Assert(formatted);
        Field("content-length"u8, digits[..count]);
    }

    public void Lines(scoped ReadOnlySpan<byte> lines)
    {
        if (lines.TryCopyTo(Room))
        {
            Written += lines.Length;
        }
        else
        {
            Took(0, ResponseHeadResult.TooLarge);
        }
    }

    public readonly ResponseHeadResult Finish(out int bytes)
    {
        bytes = _result == ResponseHeadResult.Ok ? Written : 0;
        return _result;
    }

    private void Took(int bytes, ResponseHeadResult otherwise)
    {
        Written += bytes;
        if (bytes == 0 && _result == ResponseHeadResult.Ok)
        {
            _result = otherwise;
        }
    }
}
