using System.Buffers;
using System.Buffers.Text;
using System.Text;

namespace Millrace.Server.AccessLog;

/// <summary>
/// A reusable buffer for one line, which grows to the longest line. Escapes clients' texts: they cannot end a quoted string, begin a new
/// line, or control a terminal. Long texts are truncated.
/// </summary>
internal sealed class LineBuffer
{
    /// <summary>Longer texts are cut: the limit of a request line, and far above any real value of other fields.</summary>
    public const int TextBytesMax = 8 * 1024;

    /// <summary>The longest escape of a byte: <c>\u00XX</c>.</summary>
    public const int EscapedBytesMax = 6;

    private static readonly SearchValues<byte> PlainBytes = SearchValues.Create(
        [
            .. Enumerable.Range(' ', '~' - ' ' + 1)
                .Select(static value => (byte)value)
                .Where(static value => value is not ((byte)'"' or (byte)'\\')),
        ]);

    private byte[] _bytes = new byte[1024];
    private int _written;

    public ReadOnlySpan<byte> Bytes => _bytes.AsSpan(0, _written);

    public void Clear() => _written = 0;

    public void Add(ReadOnlySpan<byte> text)
    {
        text.CopyTo(Room(text.Length));
        _written += text.Length;
    }

    public void Add(byte one)
    {
        Room(1)[0] = one;
        _written++;
    }

    public void AddNumber(long number)
    {
        const int DigitsMax = 20;
        _ = Utf8Formatter.TryFormat(number, Room(DigitsMax), out int digits);
        _written += digits;
    }

    /// <summary>Adds a number, padded with zeros to the given digits.</summary>
    public void AddNumber(int number, int digits)
    {
        Span<byte> room = Room(digits);
        for (int i = digits - 1; i >= 0; i--)
        {
            room[i] = (byte)('0' + (number % 10));
            number /= 10;
        }

        _written += digits;
    }

    private void AddHexadecimal(byte value)
    {
        ReadOnlySpan<byte> digits = "0123456789ABCDEF"u8;
        Add(digits[value >> 4]);
        Add(digits[value & 0xF]);
    }

    /// <summary>Adds a formattable value of at most the given bytes.</summary>
    public void AddFormatted<TValue>(TValue value, int bytesMax, ReadOnlySpan<char> format = default)
        where TValue : IUtf8SpanFormattable
    {
        if (!value.TryFormat(Room(bytesMax), out int bytes, format, System.Globalization.CultureInfo.InvariantCulture))
        {
            throw new InvalidOperationException($"A formatted {typeof(TValue).Name} is longer than {bytesMax} bytes.");
        }

        _written += bytes;
    }

    /// <summary>
    /// Escapes as nginx does, which all readers of NCSA formats understand: bytes outside printable ASCII become <c>\xXX</c>.
    /// </summary>
    public void AddNcsa(ReadOnlySpan<byte> text)
    {
        text = Cut(text);
        while (AddPlain(ref text))
        {
            Add("\\x"u8);
            AddHexadecimal(text[0]);
            text = text[1..];
        }
    }

    /// <summary>
    /// Escapes for a JSON string (RFC 8259, section 7): UTF-8 characters stay, except control characters; an invalid byte becomes U+FFFD.
    /// </summary>
    public void AddJson(ReadOnlySpan<byte> text)
    {
        text = Cut(text);
        while (AddPlain(ref text))
        {
            OperationStatus status = Rune.DecodeFromUtf8(text, out Rune rune, out int bytes);
            if (status == OperationStatus.Done && rune.IsAscii && rune.Value >= ' ' && rune.Value != 0x7F)
            {
                // A quote or a backslash: all other printable ASCII is plain.
                Add((byte)'\\');
                Add((byte)rune.Value);
            }
            else if (status == OperationStatus.Done && !IsControl(rune))
            {
                Add(text[..bytes]);
            }
            else
            {
                AddEscaped(status == OperationStatus.Done ? rune.Value : Rune.ReplacementChar.Value);
            }

            text = text[bytes..];
        }
    }

    /// <summary>Adds bytes that need no escape. True if more follows.</summary>
    private bool AddPlain(ref ReadOnlySpan<byte> text)
    {
        int plain = text.IndexOfAnyExcept(PlainBytes);
        Add(plain < 0 ? text : text[..plain]);
        text = plain < 0 ? default : text[plain..];
        return !text.IsEmpty;
    }

    /// <summary>C0, DEL and C1, and separators that some readers treat as the end of a line.</summary>
    private static bool IsControl(Rune rune) => Rune.IsControl(rune) || rune.Value is 0x2028 or 0x2029;

    private void AddEscaped(int value)
    {
        Add("\\u"u8);
        AddHexadecimal((byte)(value >> 8));
        AddHexadecimal((byte)value);
    }

    private static ReadOnlySpan<byte> Cut(ReadOnlySpan<byte> text) => text.Length > TextBytesMax ? text[..TextBytesMax] : text;

    private Span<byte> Room(int bytes)
    {
        if (_bytes.Length - _written < bytes)
        {
            Array.Resize(ref _bytes, Math.Max(2 * _bytes.Length, _written + bytes));
        }

        return _bytes.AsSpan(_written);
    }
}
