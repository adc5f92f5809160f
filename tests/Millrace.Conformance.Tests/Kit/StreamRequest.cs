using System.Globalization;
using System.Runtime.InteropServices;
using System.Text;
using Millrace.Http;
using Millrace.Tests.Shared;

namespace Millrace.Conformance.Tests.Kit;

/// <summary>A request of HTTP/1.1, as HTTP/2 and HTTP/3 have it (RFC 9113, section 8.3; RFC 9114, section 4.3).</summary>
internal sealed record StreamRequest(string Method, IReadOnlyList<(string Name, string Value)> Fields, byte[] Body, bool IsLast)
{
    /// <summary>The scheme of an absolute target; null for that of the connection.</summary>
    private string? Scheme { get; init; }

    /// <summary>Takes the first whole request from what was written; null where there is none yet.</summary>
    public static StreamRequest? TryTake(List<byte> written)
    {
        int head = CollectionsMarshal.AsSpan(written).IndexOf("\r\n\r\n"u8);
        if (head < 0)
        {
            return null;
        }

        string[] lines = Encoding.Latin1.GetString([.. written[..head]]).Split("\r\n");
        (string Name, string Value)[] fields = [.. lines.Skip(1).Select(FieldOf)];
        int body = fields.Where(static field => field.Name == "content-length")
            .Select(static field => int.Parse(field.Value, CultureInfo.InvariantCulture))
            .SingleOrDefault();
        if (written.Count < head + 4 + body)
        {
            return null;
        }

        byte[] bytes = [.. written[(head + 4)..(head + 4 + body)]];
        written.RemoveRange(0, head + 4 + body);
        return Of(lines[0].Split(' '), fields, bytes);
    }

    public byte[] ToHttp2Frames(int streamId, string scheme)
    {
        FrameFlags end = Body.Length == 0 ? FrameFlags.EndStream : FrameFlags.None;
        var frames = new List<byte>();
        byte[] block = Block.Of([.. FieldsFor(scheme)]);
        byte[][] pieces = block.Chunk(FrameHeader.DefaultLengthMax).ToArray();
        frames.AddRange(Frame.Headers(streamId, pieces[0], end | (pieces.Length == 1 ? FrameFlags.EndHeaders : FrameFlags.None)));
        for (int i = 1; i < pieces.Length; i++)
        {
            FrameFlags last = i + 1 == pieces.Length ? FrameFlags.EndHeaders : FrameFlags.None;
            frames.AddRange(Frame.Continuation(streamId, pieces[i], last));
        }

        if (Body.Length > 0)
        {
            frames.AddRange(Frame.Data(streamId, Body));
        }

        return [.. frames];
    }

    public byte[] ToHttp3Frames() =>
        [.. Http3Bytes.Headers([.. FieldsFor("https")]), .. Body.Length > 0 ? Http3Bytes.Data(Body) : []];

    private static StreamRequest Of(string[] line, (string Name, string Value)[] fields, byte[] body)
    {
        string target = line[1];
        string? authority = fields.Where(static field => field.Name == "host").Select(static field => field.Value).FirstOrDefault();
        int scheme = target.StartsWith('/') ? -1 : target.IndexOf("://", StringComparison.Ordinal);
        bool isHttps = scheme > 0 && target[..scheme] == "https";
        if (scheme > 0)
        {
            int begin = scheme + "://".Length;
            int path = target.IndexOf('/', begin);
            authority = path < 0 ? target[begin..] : target[begin..path];
            target = path < 0 ? "/" : target[path..];
        }

        List<(string, string)> all = [(":method", line[0]), (":path", target)];
        if (authority is not null)
        {
            all.Add((":authority", authority));
        }

        all.AddRange(fields.Where(static field => field.Name is not ("host" or "connection" or "keep-alive")));
        bool isLast = fields.Any(static field => field is { Name: "connection", Value: "close" });
        return new StreamRequest(line[0], all, body, isLast) { Scheme = isHttps ? "https" : null };
    }

    private IEnumerable<(string Name, string Value)> FieldsFor(string scheme) => [Fields[0], (":scheme", Scheme ?? scheme), .. Fields.Skip(1)];

    private static (string Name, string Value) FieldOf(string line)
    {
        int colon = line.IndexOf(':', StringComparison.Ordinal);
        return (line[..colon].ToLowerInvariant(), line[(colon + 1)..].Trim(' ', '\t'));
    }
}
