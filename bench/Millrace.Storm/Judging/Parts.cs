using System.Globalization;
using System.Text;
using System.Text.RegularExpressions;
using Millrace.Storm.Wire;

namespace Millrace.Storm.Judging;

/// <summary>Some of a file's bytes.</summary>
internal sealed record Part(long First, long Total, ReadOnlyMemory<byte> Bytes);

/// <summary>The parts of a 206: one, or a multipart/byteranges.</summary>
internal static partial class Parts
{
    public static List<Part> Of(Response response) =>
        response.Field("Content-Range") is string range ? [PartOf(range, response.Body)] : OfMultipart(response);

    private static List<Part> OfMultipart(Response response)
    {
        List<Part> parts = [];
        byte[] boundary = Encoding.ASCII.GetBytes("--" + response.Field("Content-Type")!.Split("boundary=")[1].Trim('"'));
        ReadOnlyMemory<byte> rest = response.Body;
        while (true)
        {
            rest = rest[(Find(rest, boundary) + boundary.Length)..];
            if (rest.Span.StartsWith("--"u8))
            {
                return parts.Count > 0 ? parts : throw new InvalidDataException("A multipart without parts.");
            }

            int end = Find(rest, "\r\n\r\n"u8);
            string range = ContentRange().Match(Encoding.ASCII.GetString(rest[..end].Span)).Groups["range"].Value;
            // The length is the range's: the body itself may hold anything.
            Part part = PartOf(range, rest[(end + 4)..]);
            parts.Add(part);
            rest = rest[(end + 4 + part.Bytes.Length)..];
        }
    }

    private static Part PartOf(string range, ReadOnlyMemory<byte> bytes)
    {
        long[] numbers = [.. Numbers().Matches(range).Select(static match => long.Parse(match.Value, CultureInfo.InvariantCulture))];
        long length = numbers[1] - numbers[0] + 1;
        return length <= bytes.Length
            ? new Part(numbers[0], numbers[2], bytes[..(int)length])
            : throw new InvalidDataException($"{range} with {bytes.Length} bytes.");
    }

    private static int Find(ReadOnlyMemory<byte> bytes, ReadOnlySpan<byte> wanted) =>
        bytes.Span.IndexOf(wanted) is var at and >= 0 ? at : throw new InvalidDataException("A multipart without its end.");

    [GeneratedRegex(@"^Content-Range:\s*(?<range>bytes [0-9]+-[0-9]+/[0-9]+)\s*$", RegexOptions.IgnoreCase | RegexOptions.Multiline)]
    private static partial Regex ContentRange();

    [GeneratedRegex("[0-9]+")]
    private static partial Regex Numbers();
}
