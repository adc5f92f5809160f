namespace Millrace.Http;

/// <summary>
/// Finds why <see cref="RequestHeadParser"/> could not take a line: the reason is the first wrong byte from the left, so it does not depend
/// on how the bytes were split. None means that nothing is wrong yet and the line is not complete.
/// </summary>
internal static class LineDiagnosis
{
    private const int VersionBytes = 8;

    public static HeadRefusal OfRequestLine(ReadOnlySpan<byte> line)
    {
        int methodEnd = line.IndexOfAnyExcept(ByteClasses.Token);
        if (methodEnd < 0)
        {
            return HeadRefusal.None;
        }

        if (line[methodEnd] != ' ' || methodEnd == 0)
        {
            return Or(HeadRefusal.BadMethod, line[methodEnd]);
        }

        ReadOnlySpan<byte> target = line[(methodEnd + 1)..];
        int targetEnd = target.IndexOfAnyExcept(ByteClasses.Target);
        if (targetEnd < 0)
        {
            return HeadRefusal.None;
        }

        if (targetEnd > 0 && target[targetEnd] == '\r')
        {
            return HeadRefusal.MissingVersion;
        }

        return targetEnd > 0 && target[targetEnd] == ' '
            ? OfVersion(target[(targetEnd + 1)..])
            : Or(HeadRefusal.BadTarget, target[targetEnd]);
    }

    public static HeadRefusal OfFieldLine(ReadOnlySpan<byte> line, bool isFirst)
    {
        if (line.IsEmpty)
        {
            return HeadRefusal.None;
        }

        switch (line[0])
        {
            case (byte)'\r':
                return line.Length == 1 || line[1] == '\n' ? HeadRefusal.None : HeadRefusal.BareCr;
            case (byte)' ' or (byte)'\t':
                return isFirst ? HeadRefusal.WhitespaceBeforeFirstField : HeadRefusal.ObsFold;
            case (byte)':':
                return HeadRefusal.EmptyFieldName;
        }

        int nameEnd = line.IndexOfAnyExcept(ByteClasses.Token);
        if (nameEnd < 0)
        {
            return HeadRefusal.None;
        }

        return line[nameEnd] switch
        {
            (byte)':' => OfFieldValue(line[(nameEnd + 1)..]),
            (byte)' ' or (byte)'\t' => HeadRefusal.SpaceBeforeColon,
            (byte)'\r' => HeadRefusal.MissingColon,
            var other => Or(HeadRefusal.BadFieldName, other),
        };
    }

    private static HeadRefusal OfVersion(ReadOnlySpan<byte> text)
    {
        ReadOnlySpan<byte> pattern = "HTTP/0.0\r\n"u8;
        int end = DigitPattern.PrefixLength(text, pattern);
        return end >= VersionBytes && text[5] != '1' ? HeadRefusal.VersionNotSupported
            : end == text.Length || end == pattern.Length ? HeadRefusal.None
            : end > VersionBytes ? HeadRefusal.BareCr
            : Or(HeadRefusal.BadVersion, text[end]);
    }

    private static HeadRefusal OfFieldValue(ReadOnlySpan<byte> text)
    {
        int end = text.IndexOfAnyExcept(ByteClasses.FieldValue);
        if (end < 0)
        {
            return HeadRefusal.None;
        }

        if (text[end] != '\r')
        {
            return Or(HeadRefusal.BadFieldValue, text[end]);
        }

        return end + 1 == text.Length || text[end + 1] == '\n' ? HeadRefusal.None : HeadRefusal.BareCr;
    }

    private static HeadRefusal Or(HeadRefusal refusal, byte wrong) => wrong == '\n' ? HeadRefusal.BareLf : refusal;
}
