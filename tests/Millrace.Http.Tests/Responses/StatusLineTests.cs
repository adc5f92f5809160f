using System.Net;
using System.Text.RegularExpressions;

namespace Millrace.Http.Tests;

public class StatusLineTests
{
    // RFC 9110 section 15 without 306 and 418, which it reserves, and RFC 6585.
    private static readonly int[] Statuses =
    [
        100, 101, .. Enumerable.Range(200, 7), 300, 301, 302, 303, 304, 305, 307, 308, .. Enumerable.Range(400, 18), 421, 422, 426,
        428, 429, 431, .. Enumerable.Range(500, 6), 511,
    ];

    [Fact]
    public void Every_status_of_the_rfcs_has_a_line_and_no_other_has()
    {
        for (int status = 0; status < 1000; status++)
        {
            if (Statuses.Contains(status))
            {
                Assert.Matches($@"\AHTTP/1\.1 {status} [A-Z][A-Za-z -]+\r\n\z", Latin1.Text(StatusLine.Of(status)));
            }
            else
            {
                Assert.Throws<ArgumentOutOfRangeException>(() => StatusLine.Of(status).Length);
            }
        }
    }

    [Fact]
    public void A_reason_is_what_the_runtime_calls_the_status_but_for_names_newer_than_it()
    {
        Dictionary<int, string> renamed = new()
        {
            [413] = "ContentTooLarge",
            [414] = "UriTooLong",
            [416] = "RangeNotSatisfiable",
            [422] = "UnprocessableContent",
        };
        foreach (int status in Statuses)
        {
            string reason = Regex.Replace(Latin1.Text(StatusLine.Of(status))[13..].TrimEnd(), "[ -]", "");
            string[] names = [.. Enum.GetNames<HttpStatusCode>().Where(name => (int)Enum.Parse<HttpStatusCode>(name) == status)];
            Assert.Contains(reason, names.Append(renamed.GetValueOrDefault(status)), StringComparer.OrdinalIgnoreCase!);
        }
    }

    [Fact]
    public void Every_refusal_of_a_head_can_be_answered()
    {
        foreach (HeadRefusal refusal in Enum.GetValues<HeadRefusal>().Skip(1))
        {
            Assert.False(StatusLine.Of(HeadRefusals.StatusOf(refusal)).IsEmpty);
        }
    }
}
