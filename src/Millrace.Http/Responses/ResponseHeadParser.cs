using System.Diagnostics;

namespace Millrace.Http;

/// <summary>
/// Parses the head of an HTTP/1.x response (RFC 9112 sections 2 to 6), as strictly as <see cref="RequestHeadParser"/> parses requests: only
/// CRLF ends a line, and nothing may precede the status line. It starts again from the first byte when more have arrived and keeps no
/// state, so the result does not depend on how the bytes were split.
/// </summary>
internal static class ResponseHeadParser
{
    /// <summary>"HTTP/1.1 200".</summary>
    private const int StatusEnd = 12;

    /// <summary>
    /// Reads into <paramref name="head"/>, whose ranges then refer to <paramref name="bytes"/>, which start with the response. The request
    /// line's limit applies to the status line.
    /// </summary>
    /// <param name="bytes">The bytes so far.</param>
    /// <param name="head">The head to fill.</param>
    /// <param name="isForHead">Whether the request's method was HEAD, so that no body follows.</param>
    /// <param name="limits">The limits.</param>
    public static HeadResult Parse(ReadOnlySpan<byte> bytes, ResponseHead head, bool isForHead, in HeadLimits limits)
    {
        Debug.Assert(limits.FieldsMax <= head.FieldsMax);
        if (bytes.Length >= ByteBlock.Bytes)
        {
            return ParseHead(bytes, bytes.Length, head, isForHead, limits);
        }

        // Blocks need 32 bytes. The zeros after a copy stop any line without being a valid end.
        Span<byte> padded = stackalloc byte[ByteBlock.Bytes];
        padded.Clear();
        bytes.CopyTo(padded);
        return ParseHead(padded, bytes.Length, head, isForHead, limits);
    }

    /// <inheritdoc cref="RequestHeadParser.MayBeDecided"/>
    public static bool MayBeDecided(ReadOnlySpan<byte> bytes, int alreadyScanned, in HeadLimits limits) =>
        bytes[alreadyScanned..].Contains((byte)'\n')
        || Passes(limits.RequestLineBytesMax, alreadyScanned, bytes.Length)
        || Passes(limits.HeadBytesMax, alreadyScanned, bytes.Length);

    private static bool Passes(int limit, int from, int to) => from < limit && limit <= to;

    /// <summary>Reads <paramref name="text"/>, of which the first <paramref name="length"/> bytes were received.</summary>
    private static HeadResult ParseHead(ReadOnlySpan<byte> text, int length, ResponseHead head, bool isForHead, in HeadLimits limits)
    {
        head.Reset();
        if (limits.HeadBytesMax < length)
        {
            // Bytes beyond the limit are not read, so the result does not depend on how many have arrived when it is exceeded.
            text = text[..limits.HeadBytesMax];
            length = limits.HeadBytesMax;
        }

        HeadResult result = ReadStatusLine(text, length, head, limits.RequestLineBytesMax);
        if (result.IsComplete)
        {
            result = ReadFields(text, length, result.Consumed, head, isForHead, limits.FieldsMax);
        }

        return result.IsIncomplete && length == limits.HeadBytesMax ? HeadResult.Refused(HeadRefusal.HeadTooLarge) : result;
    }

    /// <summary>
    /// HTTP-version SP status-code [ SP [ reason-phrase ] ] CRLF. RFC 9112 section 4 requires the second space; several servers leave it
    /// out, and no recipient reads the line differently for that.
    /// </summary>
    private static HeadResult ReadStatusLine(ReadOnlySpan<byte> text, int length, ResponseHead head, int bytesMax)
    {
        ReadOnlySpan<byte> line = text[..Math.Min(length, bytesMax)];
        ReadOnlySpan<byte> pattern = "HTTP/0.0 000"u8;
        int matched = DigitPattern.PrefixLength(line, pattern);
        if (matched > 5 && line[5] != '1')
        {
            return HeadResult.Refused(HeadRefusal.VersionNotSupported);
        }

        if (matched < StatusEnd)
        {
            return matched == line.Length ? HeadResult.Incomplete : HeadResult.Refused(OfByte(line[matched], HeadRefusal.BadStatusLine));
        }

        if (line[9] == '0')
        {
            return HeadResult.Refused(HeadRefusal.BadStatusLine);
        }

        int end = StatusEnd;
        if (end < line.Length && line[end] == ' ')
        {
            int reason = line[end..].IndexOfAnyExcept(ByteClasses.FieldValue);
            end = reason < 0 ? line.Length : end + reason;
        }

        if (end + 1 >= line.Length && (end == line.Length || line[end] == '\r'))
        {
            return line.Length == bytesMax ? HeadResult.Refused(HeadRefusal.HeadTooLarge) : HeadResult.Incomplete;
        }

        if (line[end] != '\r')
        {
            return HeadResult.Refused(OfByte(line[end], HeadRefusal.BadStatusLine));
        }

        if (line[end + 1] != '\n')
        {
            return HeadResult.Refused(HeadRefusal.BareCr);
        }

        head.Version = line[7] == '0' ? HttpVersion.Http10 : HttpVersion.Http11;
        head.Status = ((line[9] - '0') * 100) + ((line[10] - '0') * 10) + (line[11] - '0');
        head.Reason = TextRange.Between(Math.Min(StatusEnd + 1, end), end);
        return HeadResult.Complete(end + 2);
    }

    private static HeadResult ReadFields(
        ReadOnlySpan<byte> text, int length, int at, ResponseHead head, bool isForHead, int fieldsMax)
    {
        int first = at;
        while (true)
        {
            if (text[at..].StartsWith("\r\n"u8))
            {
                HeadRefusal conclusion = head.Conclude(isForHead);
                return conclusion == HeadRefusal.None ? HeadResult.Complete(at + 2) : HeadResult.Refused(conclusion);
            }

            if (head.Fields.Length == fieldsMax && at < length && text[at] is not ((byte)'\r' or (byte)'\n'))
            {
                return HeadResult.Refused(HeadRefusal.TooManyFields);
            }

            int next = FieldLineReader.Read(text, at, out FieldName name, out TextRange nameText, out TextRange value);
            HeadRefusal refusal = next < 0
                ? LineDiagnosis.OfFieldLine(text[at..length], isFirst: at == first)
                : head.Add(text, name, nameText, value);
            if (refusal != HeadRefusal.None)
            {
                return HeadResult.Refused(refusal);
            }

            if (next < 0)
            {
                return HeadResult.Incomplete;
            }

            at = next;
        }
    }

    private static HeadRefusal OfByte(byte wrong, HeadRefusal refusal) => wrong == '\n' ? HeadRefusal.BareLf : refusal;
}
