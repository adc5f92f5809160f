using System.Diagnostics;
using System.Numerics;
using System.Runtime.CompilerServices;

namespace Millrace.Http;

/// <summary>
/// Parses the head of an HTTP/1.x request (RFC 9112 sections 2 to 5) in one pass from its first byte, and starts again when more bytes have
/// arrived. It keeps no state between calls, and the result does not depend on how the bytes were split.
/// </summary>
/// <remarks>
/// The readers of lines (<see cref="FieldLineReader"/> for fields) only accept: they take a complete valid line, at vector speed, or
/// nothing. <see cref="LineDiagnosis"/> checks all other lines byte by byte from the left. The meaning of a line is checked at its end, and
/// the combination of lines at the end of the head.
/// </remarks>
internal static class RequestHeadParser
{
    /// <summary>RFC 9112 section 2.2 requires to skip at least one empty line: old clients sent one after a body.</summary>
    public const int EmptyLinesMax = 4;

    /// <summary>" HTTP/1.1\r\n".</summary>
    private const int VersionAndEndBytes = 11;

    /// <summary>
    /// Reads into <paramref name="head"/>, whose ranges then refer to <paramref name="bytes"/>, which start with the request.
    /// </summary>
    public static HeadResult Parse(ReadOnlySpan<byte> bytes, RequestHead head, in HeadLimits limits)
    {
        Debug.Assert(limits.FieldsMax <= head.FieldsMax);
        return bytes.Length < ByteBlock.Bytes
            ? ParseShort(bytes, head, limits)
            : ParseHead(bytes, bytes.Length, head, limits);
    }

    /// <summary>
    /// Whether bytes after the first <paramref name="alreadyScanned"/>, which were incomplete, can complete the head or make it too large.
    /// If not, calling <see cref="Parse"/> again would only cost time; a refusal is then found at the next LF.
    /// </summary>
    public static bool MayBeDecided(ReadOnlySpan<byte> bytes, int alreadyScanned, in HeadLimits limits)
    {
        int start = bytes.IndexOfAnyExcept((byte)'\r', (byte)'\n');
        return bytes[alreadyScanned..].Contains((byte)'\n')
            || Passes(start + limits.RequestLineBytesMax, alreadyScanned, bytes.Length)
            || Passes(start + limits.HeadBytesMax, alreadyScanned, bytes.Length);
    }

    /// <summary>The number of empty lines if the bytes are nothing else, and no more than may precede a request; otherwise 0.</summary>
    public static int CountEmptyLines(ReadOnlySpan<byte> bytes)
    {
        // An odd byte is half of a line.
        bool areLines = (bytes.Length & 1) == 0 && SkipEmptyLines(bytes, out int end).IsIncomplete && end == bytes.Length;
        return areLines ? bytes.Length / 2 : 0;
    }

    private static bool Passes(int limit, int from, int to) => from < limit && limit <= to;

    /// <summary>
    /// Blocks need 32 bytes, so shorter heads are parsed from a copy. The zeros after it stop any line without being a valid end.
    /// </summary>
    private static HeadResult ParseShort(ReadOnlySpan<byte> bytes, RequestHead head, in HeadLimits limits)
    {
        Span<byte> padded = stackalloc byte[ByteBlock.Bytes];
        padded.Clear();
        bytes.CopyTo(padded);
        return ParseHead(padded, bytes.Length, head, limits);
    }

    /// <summary>Reads <paramref name="text"/>, of which the first <paramref name="length"/> bytes were received.</summary>
    private static HeadResult ParseHead(ReadOnlySpan<byte> text, int length, RequestHead head, in HeadLimits limits)
    {
        head.Reset();
        int start = 0;
        if (length == 0 || text[0] <= '\r')
        {
            HeadResult skipped = SkipEmptyLines(text[..length], out start);
            if (skipped.IsRefused || start == length)
            {
                return skipped;
            }
        }

        // Bytes beyond the limit are not read, so the result does not depend on how many have arrived when it is exceeded.
        int limit = start + limits.HeadBytesMax;
        if (limit < length)
        {
            text = text[..limit];
            length = limit;
        }

        HeadResult result = ReadRequestLine(text, length, start, head, limits.RequestLineBytesMax);
        if (result.IsComplete)
        {
            result = ReadFields(text, length, result.Consumed, head, limits.FieldsMax);
        }

        return result.IsIncomplete && length == limit ? HeadResult.Refused(HeadRefusal.HeadTooLarge) : result;
    }

    private static HeadResult SkipEmptyLines(ReadOnlySpan<byte> bytes, out int start)
    {
        for (start = 0; start < bytes.Length && bytes[start] is (byte)'\r' or (byte)'\n'; start += 2)
        {
            if (bytes[start] == '\n')
            {
                return HeadResult.Refused(HeadRefusal.BareLf);
            }

            if (start == 2 * EmptyLinesMax)
            {
                return HeadResult.Refused(HeadRefusal.TooManyEmptyLines);
            }

            if (start + 1 == bytes.Length)
            {
                start = bytes.Length;
                break;
            }

            if (bytes[start + 1] != '\n')
            {
                return HeadResult.Refused(HeadRefusal.BareCr);
            }
        }

        return HeadResult.Incomplete;
    }

    /// <summary>method SP request-target SP HTTP-version CRLF. Complete says where the field lines start.</summary>
    private static HeadResult ReadRequestLine(ReadOnlySpan<byte> text, int length, int start, RequestHead head, int bytesMax)
    {
        int limit = start + bytesMax;
        ReadOnlySpan<byte> line = limit < text.Length ? text[..limit] : text;

        int methodEnd = Methods.Read(line, start, out Method method);
        if (methodEnd > 0)
        {
            int target = methodEnd + 1;
            int targetEnd = FindTargetEnd(line, target, out int question);
            if (targetEnd > target && TryReadVersion(line, targetEnd, out HttpVersion version))
            {
                head.Method = method;
                head.MethodText = TextRange.Between(start, methodEnd);
                head.Version = version;
                bool isTarget = RequestTarget.TryRead(line, TextRange.Between(target, targetEnd), question, method, out RequestTarget read);
                head.Target = read;
                return isTarget ? HeadResult.Complete(targetEnd + VersionAndEndBytes) : HeadResult.Refused(HeadRefusal.BadTarget);
            }
        }

        int seen = Math.Min(length, line.Length);
        HeadRefusal refusal = LineDiagnosis.OfRequestLine(line[start..seen]);
        return refusal != HeadRefusal.None ? HeadResult.Refused(refusal)
            : seen == limit ? HeadResult.Refused(OfLongLine(line[start..seen]))
            : HeadResult.Incomplete;
    }

    /// <summary>
    /// RFC 9112 section 3: a method longer than any implemented one is 501, and only a target that is too long is 414. If the method alone
    /// fills the line, nothing is known of the target.
    /// </summary>
    private static HeadRefusal OfLongLine(ReadOnlySpan<byte> line) =>
        line.Contains((byte)' ') ? HeadRefusal.RequestLineTooLong : HeadRefusal.MethodTooLong;

    /// <summary>The index of the first byte that no target holds, and of the first '?' before it, or -1.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static int FindTargetEnd(ReadOnlySpan<byte> line, int at, out int question)
    {
        question = -1;
        while (at < line.Length)
        {
            var block = new ByteBlock(line, at);
            uint stops = block.TargetStops;
            uint questions = block.EqualTo((byte)'?');
            int end = BitOperations.TrailingZeroCount(stops);
            if (question < 0 && BitOperations.TrailingZeroCount(questions) < end)
            {
                question = at + BitOperations.TrailingZeroCount(questions);
            }

            if (stops != 0)
            {
                return at + end;
            }

            at += block.Count;
        }

        return -1;
    }

    /// <summary>Whether " HTTP/1.x" CRLF stands at <paramref name="at"/>.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static bool TryReadVersion(ReadOnlySpan<byte> line, int at, out HttpVersion version)
    {
        version = HttpVersion.Http11;
        if (line.Length - at < VersionAndEndBytes)
        {
            return false;
        }

        ReadOnlySpan<byte> text = line.Slice(at, VersionAndEndBytes);
        byte minor = text[8];
        version = minor == '0' ? HttpVersion.Http10 : HttpVersion.Http11;
        return text[..8].SequenceEqual(" HTTP/1."u8) && minor is >= (byte)'0' and <= (byte)'9' && text[9..].SequenceEqual("\r\n"u8);
    }

    private static HeadResult ReadFields(ReadOnlySpan<byte> text, int length, int at, RequestHead head, int fieldsMax)
    {
        int first = at;
        while (true)
        {
            if (text[at..].StartsWith("\r\n"u8))
            {
                HeadRefusal conclusion = head.Conclude();
                return conclusion == HeadRefusal.None ? HeadResult.Complete(at + 2) : HeadResult.Refused(conclusion);
            }

            if (head.Fields.Length == fieldsMax && at < length && text[at] is not ((byte)'\r' or (byte)'\n'))
            {
                return HeadResult.Refused(HeadRefusal.TooManyFields);
            }

            int next = FieldLineReader.Read(text, at, out FieldName name, out TextRange nameText, out TextRange value);
            HeadRefusal refusal;
            if (next < 0)
            {
                refusal = LineDiagnosis.OfFieldLine(text[at..length], isFirst: at == first);
                return refusal == HeadRefusal.None ? HeadResult.Incomplete : HeadResult.Refused(refusal);
            }

            refusal = head.Add(text, name, nameText, value);
            if (refusal != HeadRefusal.None)
            {
                return HeadResult.Refused(refusal);
            }

            at = next;
        }
    }
}

/// <summary>The limits on a request's head. Bytes count from the first one of the request line.</summary>
internal readonly struct HeadLimits
{
    /// <summary>Smaller values are mistakes, and the parser loads 32 bytes at a time.</summary>
    private const int BytesMin = 64;

    /// <summary>
    /// 414 from here on, including CRLF. RFC 9112 section 3 recommends at least 8000; nginx, Apache and Kestrel stop near 8 KiB, so what
    /// passes here passes there. 64 more are for method, version and CRLF around a target of 8 KiB.
    /// </summary>
    public int RequestLineBytesMax { get; }

    /// <summary>
    /// 431 from here on, including the empty line. 32 KiB hold what browsers send with all the cookies of one site; it is also the memory
    /// that one connection may hold while its head is incomplete.
    /// </summary>
    public int HeadBytesMax { get; }

    /// <summary>431 above. Browsers send about 15 and chains of proxies double that; Apache and Kestrel allow 100, too.</summary>
    public int FieldsMax { get; }

    public HeadLimits(int requestLineBytesMax, int headBytesMax, int fieldsMax)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(requestLineBytesMax, BytesMin);
        ArgumentOutOfRangeException.ThrowIfLessThan(headBytesMax, requestLineBytesMax);
        ArgumentOutOfRangeException.ThrowIfLessThan(fieldsMax, 1);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(fieldsMax, short.MaxValue);
        RequestLineBytesMax = requestLineBytesMax;
        HeadBytesMax = headBytesMax;
        FieldsMax = fieldsMax;
    }

    public static HeadLimits Default { get; } = new(requestLineBytesMax: (8 * 1024) + 64, headBytesMax: 32 * 1024, fieldsMax: 100);
}

/// <summary>The state of a head after the bytes so far: complete, incomplete, or refused.</summary>
internal readonly record struct HeadResult
{
    private HeadResult(int consumed, HeadRefusal refusal)
    {
        Consumed = consumed;
        Refusal = refusal;
    }

    /// <summary>The length of a complete head including the empty lines before it; the body or the next request starts there.</summary>
    public int Consumed { get; }

    public HeadRefusal Refusal { get; }

    public bool IsComplete => Consumed > 0;

    public bool IsRefused => Refusal != HeadRefusal.None;

    public bool IsIncomplete => !IsComplete && !IsRefused;

    public static HeadResult Incomplete => default;

    public static HeadResult Complete(int consumed) => new(consumed, HeadRefusal.None);

    public static HeadResult Refused(HeadRefusal refusal) => new(0, refusal);
}
