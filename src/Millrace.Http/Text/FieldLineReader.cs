using System.Numerics;
using System.Runtime.CompilerServices;

namespace Millrace.Http;

/// <summary>
/// Reads one field line of a head (RFC 9112 section 5) at vector speed. It only accepts: a complete valid line, or nothing;
/// <see cref="LineDiagnosis"/> then tells what is wrong, if anything is.
/// </summary>
internal static class FieldLineReader
{
    /// <summary>
    /// field-name ":" OWS field-value OWS CRLF. Returns the start of the next line, or -1 if this is not a complete valid line. The text
    /// has at least 32 bytes (<see cref="ByteBlock"/>).
    /// </summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static int Read(ReadOnlySpan<byte> text, int at, out FieldName name, out TextRange nameText, out TextRange value)
    {
        name = FieldName.Unknown;
        nameText = value = default;
        if (at >= text.Length)
        {
            return -1;
        }

        var block = new ByteBlock(text, at);
        uint colons = block.EqualTo((byte)':');
        int nameBytes = colons != 0 ? BitOperations.TrailingZeroCount(colons) : text[at..].IndexOf((byte)':');
        if (nameBytes <= 0)
        {
            return -1;
        }

        name = FieldNames.Recognize(text.Slice(at, nameBytes));
        if (name == FieldName.Unknown && text.Slice(at, nameBytes).ContainsAnyExcept(ByteClasses.Token))
        {
            return -1;
        }

        // The name is a token, so the first control character of the line is after its colon.
        uint controls = block.Controls;
        int end = controls != 0 ? at + BitOperations.TrailingZeroCount(controls) : ByteBlock.FirstControl(text, at + block.Count);
        if (!text[end..].StartsWith("\r\n"u8))
        {
            return -1;
        }

        nameText = new TextRange(at, nameBytes);
        value = TrimWhitespace(text, nameText.End + 1, end);
        return end + 2;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static TextRange TrimWhitespace(ReadOnlySpan<byte> text, int start, int end)
    {
        while (start < end && text[start] is (byte)' ' or (byte)'\t')
        {
            start++;
        }

        while (start < end && text[end - 1] is (byte)' ' or (byte)'\t')
        {
            end--;
        }

        return TextRange.Between(start, end);
    }
}
