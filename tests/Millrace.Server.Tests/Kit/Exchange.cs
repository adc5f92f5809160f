using System.Text.RegularExpressions;

namespace Millrace.Server.Tests.Kit;

/// <summary>A request's head and its answer's, as they were on the wire.</summary>
internal sealed record Exchange(string Request, string Response)
{
    public string Method => Request[..Request.IndexOf(' ', StringComparison.Ordinal)];

    public string Target => Request.Split(' ')[1];

    public int Status => int.Parse(Response.Split(' ')[1]);

    /// <summary>A field of the request, null where it has none.</summary>
    public string? Asked(string name) => Field(Request, name);

    /// <summary>A field of the answer, null where it has none.</summary>
    public string? Reported(string name) => Field(Response, name);

    /// <summary>Bytes of the answer's body: an answer to HEAD, and some statuses, have none whatever they say.</summary>
    public long BodyBytes => Method == "HEAD" || Status is < 200 or 204 or 304 ? 0 : long.Parse(Reported("Content-Length") ?? "0");

    public static string? Field(string head, string name) =>
        Regex.Match(head, $@"^{Regex.Escape(name)}:[ \t]*(?<value>.*?)[ \t]*\r$", RegexOptions.IgnoreCase | RegexOptions.Multiline)
            is { Success: true } match ? match.Groups["value"].Value : null;
}
