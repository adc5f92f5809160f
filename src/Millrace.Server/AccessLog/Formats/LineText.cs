using System.Buffers;
using System.Text;

namespace Millrace.Server.AccessLog.Formats;

/// <summary>
/// Escapes clients' texts: they cannot end a quoted string, begin a new line, or control a terminal. Long texts are truncated.
/// </summary>
internal static class LineText
{
    /// <summary>The limit of a request line, and far above any real value of other fields.</summary>
    public const int BytesMax = 8 * 1024;

    /// <summary>The longest escape of a byte: <c>\u00XX</c>.</summary>
    public const int EscapedBytesMax = 6;

    private static readonly SearchValues<byte> PlainBytes = SearchValues.Create(
        [
            .. Enumerable.Range(' ', '~' - ' ' + 1)
                .Select(static value => (byte)value)
                .Where(static value => value is not ((byte)'"' or (byte)'\\')),
        ]);

    /// <summary>
    /// Escapes as nginx does, which all readers of NCSA formats understand: bytes outside printable ASCII become <c>\xXX</c>.
    /// </summary>
    public static void AddNcsa(LineBuffer line, ReadOnlySpan<byte> text)
    {
        text = Cut(text);
        while (AddPlain(line, ref text))
        {
            line.Add("\\x"u8);
            line.AddHexadecimal(text[0]);
            text = text[1..];
        }
    }

    /// <summary>
    /// Escapes for a JSON string (RFC 8259, section 7): UTF-8 characters stay, except control characters; an invalid byte becomes U+FFFD.
    /// </summary>
    public static void AddJson(LineBuffer line, ReadOnlySpan<byte> text)
    {
        text = Cut(text);
        while (AddPlain(line, ref text))
        {
            OperationStatus status = Rune.DecodeFromUtf8(text, out Rune rune, out int bytes);
            if (status == OperationStatus.Done && rune.IsAscii && rune.Value >= ' ' && rune.Value != 0x7F)
            {
                // A quote or a backslash: all other printable ASCII is plain.
                line.Add((byte)'\\');
                line.Add((byte)rune.Value);
            }
            else if (status == OperationStatus.Done && !IsControl(rune))
            {
                line.Add(text[..bytes]);
            }
            else
            {
                AddEscaped(line, status == OperationStatus.Done ? rune.Value : Rune.ReplacementChar.Value);
            }

            text = text[bytes..];
        }
    }

    /// <summary>Adds bytes that need no escape. True if more follows.</summary>
    private static bool AddPlain(LineBuffer line, ref ReadOnlySpan<byte> text)
    {
        int plain = text.IndexOfAnyExcept(PlainBytes);
        line.Add(plain < 0 ? text : text[..plain]);
        text = plain < 0 ? default : text[plain..];
        return !text.IsEmpty;
    }

    /// <summary>C0, DEL and C1, and separators that some readers treat as the end of a line.</summary>
    private static bool IsControl(Rune rune) => Rune.IsControl(rune) || rune.Value is 0x2028 or 0x2029;

    private static void AddEscaped(LineBuffer line, int value)
    {
        line.Add("\\u"u8);
        line.AddHexadecimal((byte)(value >> 8));
        line.AddHexadecimal((byte)value);
    }

    private static ReadOnlySpan<byte> Cut(ReadOnlySpan<byte> text) => text.Length > BytesMax ? text[..BytesMax] : text;
}
