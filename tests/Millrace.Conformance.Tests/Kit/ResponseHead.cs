using System.Globalization;
using System.Text;
using System.Text.RegularExpressions;

namespace Millrace.Conformance.Tests.Kit;

/// <summary>Reads a head as strictly as RFC 9112 writes it: CRLF everywhere, names that are tokens, no control characters.</summary>
internal static partial class ResponseHead
{
    /// <param name="head">With its empty line.</param>
    /// <param name="method">Of the request: what answers HEAD has no body.</param>
    public static Response Parse(ReadOnlySpan<byte> head, string method)
    {
        string[] lines = Encoding.Latin1.GetString(head[..^4]).Split("\r\n");
        Match status = StatusLine().Match(lines[0]);
        Expect.That(status.Success, $"the status line '{Expect.Printable(lines[0])}'");
        (string, string)[] fields = [.. lines.Skip(1).Select(FieldOf)];
        var response = new Response(lines[0], int.Parse(status.Groups["status"].Value, CultureInfo.InvariantCulture), fields, Framing.None, []);
        foreach (string once in (string[])["Content-Length", "Content-Type", "Content-Range", "Date", "ETag", "Last-Modified", "Location"])
        {
            Expect.That(response.Values(once).Count() <= 1, $"{once} twice");
        }

        return response with { Framing = FramingOf(response, method) };
    }

    private static (string Name, string Value) FieldOf(string line)
    {
        Match field = FieldLine().Match(line);
        Expect.That(field.Success, $"the field line '{Expect.Printable(line)}'");
        return (field.Groups["name"].Value, field.Groups["value"].Value.Trim(' ', '\t'));
    }

    private static Framing FramingOf(Response response, string method)
    {
        if (method == "HEAD" || response.Status is < 200 or 204 or 304)
        {
            return Framing.None;
        }

        string? coding = response["Transfer-Encoding"];
        Expect.That(coding is null || response["Content-Length"] is null, "Content-Length and Transfer-Encoding in one answer");
        Expect.That(coding is null || string.Equals(coding, "chunked", StringComparison.OrdinalIgnoreCase), $"Transfer-Encoding: {coding}");
        return coding is not null ? Framing.Chunked : response["Content-Length"] is not null ? Framing.Length : Framing.Close;
    }

    [GeneratedRegex(@"\AHTTP/1\.[01] (?<status>[1-5]\d\d) [\t -~\x80-\xff]*\z")]
    private static partial Regex StatusLine();

    [GeneratedRegex(@"\A(?<name>[!#$%&'*+\-.^_`|~0-9A-Za-z]+):(?<value>[\t -~\x80-\xff]*)\z")]
    private static partial Regex FieldLine();
}
