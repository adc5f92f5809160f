using System.Globalization;
using System.Text;
using Millrace.Simulation.Tests.Runs;
using Millrace.Simulation.Tests.Upstreams;

namespace Millrace.Simulation.Tests.Peers;

/// <summary>What a request has to be answered with: status, a line of the head that is its own, and every byte of the body.</summary>
internal sealed record Response(int Status)
{
    private static readonly byte[] Boundary = "boundary="u8.ToArray();

    /// <summary>A line that must be in the head; empty for none.</summary>
    public byte[] Line { get; init; } = [];

    /// <summary>The content, in pieces.</summary>
    public IReadOnlyList<ReadOnlyMemory<byte>> Content { get; init; } = [];

    /// <summary>For several ranges, which the content is made of once the boundary is known.</summary>
    public IReadOnlyList<(int First, int Last)> Parts { get; init; } = [];

    /// <summary>Whose parts these are.</summary>
    public SiteFile? File { get; init; }

    /// <summary>Not for HEAD and 304, which only speak of it.</summary>
    public bool BringsContent { get; init; } = true;

    /// <summary>A 304 names no length.</summary>
    public bool NamesLength { get; init; } = true;

    /// <summary>Whether the connection ends after it.</summary>
    public bool Ends { get; init; }

    /// <summary>Whether it may.</summary>
    public bool MayEnd { get; init; }

    /// <summary>It is an upstream's, and not the server's own.</summary>
    public bool IsOfUpstream { get; init; }

    public long ContentBytes => Content.Sum(static piece => (long)piece.Length);

    /// <summary>The same file cut off, for a head without validators, which were another's.</summary>
    public static Response Shrunk(byte[] content, int bytes, bool bringsContent) => new(200)
    {
        Content = [content.AsMemory(0, bytes)],
        BringsContent = bringsContent,
    };

    /// <summary>Checks a head, the empty line included, and says what is wrong with it; null for nothing.</summary>
    /// <param name="head">As it was received.</param>
    /// <param name="response">This, with its content complete.</param>
    public string? Check(ReadOnlySpan<byte> head, out Response response)
    {
        response = this;
        if (!head.StartsWith(Encoding.ASCII.GetBytes($"HTTP/1.1 {Status} ")))
        {
            return $"is not a {Status}";
        }

        if (Line.Length > 0 && head.IndexOf(Line) < 0)
        {
            return $"lacks the line {Encoding.Latin1.GetString(Line)}";
        }

        // An error of the server's may lack it (RFC 9110, section 6.6.1).
        if (Status < 500 && head.IndexOf("\r\nDate: "u8) < 0)
        {
            return "has no date";
        }

        response = Parts.Count == 0 ? this : WithParts(head);
        string length = string.Create(CultureInfo.InvariantCulture, $"\r\nContent-Length: {response.ContentBytes}\r\n");
        return NamesLength && head.IndexOf(Encoding.ASCII.GetBytes(length)) < 0 ? $"lacks the line {length.Trim()}" : null;
    }

    private Response WithParts(ReadOnlySpan<byte> head)
    {
        int start = head.IndexOf(Boundary) + Boundary.Length;
        ReadOnlySpan<byte> boundary = start < Boundary.Length ? default : head[start..(start + head[start..].IndexOf((byte)'\r'))];
        string text = Encoding.ASCII.GetString(boundary);
        var content = new List<ReadOnlyMemory<byte>>();
        foreach ((int first, int last) in Parts)
        {
            string partHead = $"\r\n--{text}\r\nContent-Type: {SiteFile.ContentType}\r\nContent-Range: bytes {first}-{last}/{File!.Content.Length}\r\n\r\n";
            content.Add(Encoding.ASCII.GetBytes(partHead));
            content.Add(File.Content.AsMemory(first, last + 1 - first));
        }

        content.Add(Encoding.ASCII.GetBytes($"\r\n--{text}--\r\n"));
        return this with { Content = content };
    }
}

/// <summary>One request and what has to come back for it.</summary>
/// <param name="Request">As it is sent.</param>
/// <param name="Response">As it should be.</param>
/// <param name="Content">Of the file that it is answered from, which may be lost, or lose its end; null for none.</param>
internal sealed record Exchange(byte[] Request, Response Response, byte[]? Content = null)
{
    /// <summary>The answer from each release of a site that is deployed; empty for what is not of one.</summary>
    public IReadOnlyList<Response> OfReleases { get; init; } = [];

    /// <summary>What an upstream answers; null where the sites do.</summary>
    public ProxiedExchange? Proxied { get; init; }
}
