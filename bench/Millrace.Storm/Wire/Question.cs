using System.Text;
using Millrace.Storm.Judging;

namespace Millrace.Storm.Wire;

/// <summary>A request, and when it was sent (ticks of Stopwatch).</summary>
internal sealed record Question(string Path)
{
    public string? AcceptEncoding { get; init; }

    public string? IfNoneMatch { get; init; }

    public string? IfRange { get; init; }

    public string? Range { get; init; }

    /// <summary>What the client has under the tag it names.</summary>
    public Content? Held { get; init; }

    public long SentAt { get; set; }

    public void AppendTo(StringBuilder text)
    {
        text.Append(null, $"GET /{Path} HTTP/1.1\r\nHost: storm\r\n");
        Append(text, "Accept-Encoding", AcceptEncoding);
        Append(text, "If-None-Match", IfNoneMatch);
        Append(text, "If-Range", IfRange);
        Append(text, "Range", Range);
        text.Append("\r\n");
    }

    public override string ToString() =>
        string.Concat($"/{Path}", Named("coding", AcceptEncoding), Named("unless", IfNoneMatch), Named("if", IfRange), Named("range", Range));

    private static string Named(string name, string? value) => value is null ? "" : $" {name} {value}";

    private static void Append(StringBuilder text, string name, string? value)
    {
        if (value is not null)
        {
            text.Append(null, $"{name}: {value}\r\n");
        }
    }
}
