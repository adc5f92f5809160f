using System.Text.RegularExpressions;

namespace Millrace.Conformance.Tests.Kit;

/// <summary>One part of a multipart/byteranges body.</summary>
internal sealed record Part(long First, long Last, long Size, string? ContentType, byte[] Body);

/// <summary>Reads multipart/byteranges (RFC 9110 14.6, RFC 2046 5.1) to the byte.</summary>
internal static partial class Multipart
{
    public static IReadOnlyList<Part> Parse(Response response)
    {
        response.Is(206).Lacks("Content-Range");
        Match type = ContentType().Match(response["Content-Type"] ?? "");
        Expect.That(type.Success, $"206 of type {response["Content-Type"]}");
        byte[] delimiter = Fixture.Utf8($"--{type.Groups["boundary"].Value}");
        List<Part> parts = [];
        ReadOnlySpan<byte> rest = response.Body;
        if (rest.StartsWith("\r\n"u8))
        {
            // A preamble that is empty but for the delimiter's own CRLF.
            rest = rest[2..];
        }

        Expect.That(rest.StartsWith(delimiter), "no delimiter at the start");
        rest = rest[delimiter.Length..];
        while (rest.StartsWith("\r\n"u8))
        {
            rest = rest[2..];
            rest = ReadPart(rest, delimiter, parts);
        }

        Expect.That(rest.StartsWith("--"u8), "no closing delimiter");
        Expect.That(rest[2..].Length == 0 || rest[2..].SequenceEqual("\r\n"u8), $"{rest.Length - 2} bytes behind the closing delimiter");
        return parts;
    }

    private static ReadOnlySpan<byte> ReadPart(ReadOnlySpan<byte> rest, byte[] delimiter, List<Part> parts)
    {
        int end = rest.IndexOf("\r\n\r\n"u8);
        Expect.That(end >= 0, "a part without a head");
        string head = System.Text.Encoding.Latin1.GetString(rest[..end]);
        rest = rest[(end + 4)..];
        Match range = ContentRange().Match(head);
        Expect.That(range.Success, "a part without Content-Range");
        long first = long.Parse(range.Groups["first"].Value);
        long last = long.Parse(range.Groups["last"].Value);
        int length = checked((int)(last - first + 1));
        bool isLong = rest.Length >= length + 2 + delimiter.Length;
        bool isExact = isLong && rest[length..].StartsWith("\r\n"u8) && rest[(length + 2)..].StartsWith(delimiter);
        Expect.That(isExact, $"the part of {first}-{last} is not {length} bytes long");
        Match type = PartType().Match(head);
        long size = long.Parse(range.Groups["size"].Value);
        parts.Add(new Part(first, last, size, type.Success ? type.Groups["type"].Value : null, rest[..length].ToArray()));
        return rest[(length + 2 + delimiter.Length)..];
    }

    [GeneratedRegex(
        """\Amultipart/byteranges;\s*boundary=(?:"(?<boundary>[^"]{1,70})"|(?<boundary>[^"\s;]{1,70}))\z""",
        RegexOptions.IgnoreCase)]
    private static partial Regex ContentType();

    [GeneratedRegex(@"^content-range: bytes (?<first>\d+)-(?<last>\d+)/(?<size>\d+)\r?$", RegexOptions.IgnoreCase | RegexOptions.Multiline)]
    private static partial Regex ContentRange();

    [GeneratedRegex(@"^content-type: (?<type>[^\r\n]+)\r?$", RegexOptions.IgnoreCase | RegexOptions.Multiline)]
    private static partial Regex PartType();
}
