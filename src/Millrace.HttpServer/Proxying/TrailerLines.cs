using System.Text;

namespace Millrace.HttpServer.Proxying;

/// <summary>
/// The trailer fields of a message that passes, as lines of HTTP/1.1 that a parser has accepted. Those that frame, route, control or
/// authenticate a message, say how to read its content, or claim something about the client, are left out: a recipient that merges trailers
/// into the head would be deceived (RFC 9110, section 6.5.1).
/// </summary>
internal ref struct TrailerLines(ReadOnlySpan<byte> lines)
{
    /// <summary>By the list of RFC 7230, section 4.1.2, which RFC 9110 only describes.</summary>
    private static readonly byte[][] HeadOnly =
    [
        .. ((string[])[
            "host", "expect", "max-forwards", "pragma", "range", "if-match", "if-none-match", "if-modified-since", "if-unmodified-since",
            "if-range", "authorization", "www-authenticate", "cookie", "set-cookie", "age", "cache-control", "date", "expires", "location",
            "retry-after", "vary", "warning", "trailer",
        ]).Select(Encoding.ASCII.GetBytes),
    ];

    private ReadOnlySpan<byte> _rest = lines;

    public ReadOnlySpan<byte> Name { get; private set; }

    public ReadOnlySpan<byte> Value { get; private set; }

    private static ReadOnlySpan<byte> Content => "content-"u8;

    /// <summary>Moves to the next field that may pass.</summary>
    public bool MoveNext()
    {
        while (!_rest.IsEmpty)
        {
            int end = _rest.IndexOf("\r\n"u8);
            ReadOnlySpan<byte> line = end < 0 ? _rest : _rest[..end];
            _rest = end < 0 ? default : _rest[(end + 2)..];
            int colon = line.IndexOf((byte)':');
            if (colon > 0 && MayPass(line[..colon]))
            {
                Name = line[..colon];
                Value = line[(colon + 1)..].Trim(" \t"u8);
                return true;
            }
        }

        return false;
    }

    private static bool MayPass(ReadOnlySpan<byte> name) =>
        !HopByHopFields.IsKnown(name)
        && !ForwardedClient.IsClaim(name)
        && !CopiedFieldNames.Contains(HeadOnly, name)
        && (!IsAboutContent(name) || IsDigest(name));

    private static bool IsAboutContent(ReadOnlySpan<byte> name) =>
        name.Length > Content.Length && Ascii.EqualsIgnoreCase(name[..Content.Length], Content);

    /// <summary>RFC 9530, section 2, allows it, as it is known only after the content.</summary>
    private static bool IsDigest(ReadOnlySpan<byte> name) =>
        Ascii.EqualsIgnoreCase(name, "content-digest"u8) || Ascii.EqualsIgnoreCase(name, "content-md5"u8);
}
