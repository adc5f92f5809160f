using System.Buffers;
using System.Text;

namespace Millrace.Server.AccessLog.Formats;

/// <summary>
/// Writes texts of clients so that they stay texts: nobody can end a quoted string, begin a line of his own, or have a terminal do
/// anything. They are cut at a length that no honest one has.
/// </summary>
internal static class LineText
{
    /// <summary>A target is no longer (it is the limit of a request line), and of other fields more than this is nobody's name.</summary>
    public const int BytesMax = 8 * 1024;

    /// <summary>What a byte may become: <c>\u00XX</c>.</summary>
    public const int EscapedBytesMax = 6;

    private static readonly SearchValues<byte> PlainBytes = SearchValues.Create(
        [
            .. Enumerable.Range(' ', '~' - ' ' + 1)
                .Select(static value => (byte)value)
                .Where(static value => value is not ((byte)'"' or (byte)'\\')),
        ]);

    /// <summary>As nginx writes it, which all readers of the NCSA formats know: what is not plain ASCII is <c>\xXX</c>.</summary>
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
    /// As the inside of a JSON string (RFC 8259, section 7): characters of UTF-8 are kept, but for control characters; a byte that is none
    /// becomes U+FFFD.
    /// </summary>
    public static void AddJson(LineBuffer line, ReadOnlySpan<byte> text)
    {
        text = Cut(text);
        while (AddPlain(line, ref text))
        {
            OperationStatus status = Rune.DecodeFromUtf8(text, out Rune rune, out int bytes);
            if (status == OperationStatus.Done && rune.IsAscii && rune.Value >= ' ' && rune.Value != 0x7F)
            {
                // A quote or a backslash: the others are plain.
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

    /// <summary>Adds what needs no escape; whether there is more.</summary>
    private static bool AddPlain(LineBuffer line, ref ReadOnlySpan<byte> text)
    {
        int plain = text.IndexOfAnyExcept(PlainBytes);
        line.Add(plain < 0 ? text : text[..plain]);
        text = plain < 0 ? default : text[plain..];
        return !text.IsEmpty;
    }

    /// <summary>C0, DEL and C1, and the separators that some readers take for the end of a line.</summary>
    private static bool IsControl(Rune rune) => Rune.IsControl(rune) || rune.Value is 0x2028 or 0x2029;

    private static void AddEscaped(LineBuffer line, int value)
    {
        line.Add("\\u"u8);
        line.AddHexadecimal((byte)(value >> 8));
        line.AddHexadecimal((byte)value);
    }

    private static ReadOnlySpan<byte> Cut(ReadOnlySpan<byte> text) => text.Length > BytesMax ? text[..BytesMax] : text;
}
