using System.Globalization;
using System.Text;
using Millrace.Simulation.Tests.Faults;
using Millrace.Simulation.Tests.Runs;

namespace Millrace.Simulation.Tests.Upstreams;

/// <summary>How the end of an upstream's answer is found.</summary>
internal enum AnswerFraming
{
    Length,
    Chunked,
    Close,
}

/// <summary>
/// A request that an upstream answers: what it has to get, what it answers, and what became of that. Shared by the client that asks and
/// the upstream connections that the request reaches.
/// </summary>
internal sealed class ProxiedExchange
{
    private const int OwnerBits = 8;

    private static readonly string[] Methods = ["GET", "GET", "GET", "HEAD", "POST", "POST", "PUT", "DELETE"];
    private static readonly int[] RefusalStatuses = [403, 404, 500];
    private static readonly int[] Statuses = [200, 200, 200, 200, 201, 404, 204, 304, 500];

    public ProxiedExchange(World world, int owner, int number)
    {
        SeededRandom random = world.Random;
        Id = (owner << OwnerBits) | number;
        Method = random.Pick<string>(Methods);
        if (Method is "POST" or "PUT")
        {
            RequestBody = Marker.Of(Id)[..random.Below(random.Pick<int>(2, 300, 4_000))];
            IsRequestChunked = random.Chance(400);
        }

        Status = random.Pick<int>(Statuses);
        Framing = random.Pick<AnswerFraming>(AnswerFraming.Length, AnswerFraming.Length, AnswerFraming.Chunked, AnswerFraming.Close);
        int bytesMax = Math.Min(world.Shape.ResponseBytesMax, random.Pick<int>(1, 200, 200, 2_000, 2_000, 20_000, 100_000));
        Content = Marker.Of(~Id)[..random.Below(bytesMax + 1)];
        Interims = random.Chance(100) ? random.Between(1, 3) : 0;
        HasTrailers = Framing == AnswerFraming.Chunked && random.Chance(200);
    }

    /// <summary>A request for a WebSocket: the upstream switches, or refuses.</summary>
    public ProxiedExchange(World world, int owner, int number, bool isHttp2, UpstreamShape shape)
        : this(world, owner, number)
    {
        Method = "GET";
        RequestBody = default;
        IsRequestChunked = false;
        if (world.Random.Chance(150))
        {
            Status = world.Random.Pick<int>(RefusalStatuses);
            IsRefusedUpgrade = true;
        }
        else
        {
            Tunnel = new SimulatedTunnel(world, this, isHttp2, shape);
            Status = isHttp2 ? 200 : 101;
            Interims = 0;
            HasTrailers = false;
        }
    }

    /// <summary>What follows the switch to another protocol; null where there is none.</summary>
    public SimulatedTunnel? Tunnel { get; }

    /// <summary>A WebSocket was asked for, and is not available.</summary>
    public bool IsRefusedUpgrade { get; }

    public bool IsUpgrade => Tunnel is not null || IsRefusedUpgrade;

    public int Id { get; }

    public string Method { get; }

    public ReadOnlyMemory<byte> RequestBody { get; }

    public bool IsRequestChunked { get; }

    /// <summary>How often its client sends it: a flood consists of one request, again and again.</summary>
    public int Sends { get; set; } = 1;

    public int Status { get; }

    public AnswerFraming Framing { get; }

    public ReadOnlyMemory<byte> Content { get; }

    /// <summary>How many 1xx responses come first.</summary>
    public int Interims { get; }

    public bool HasTrailers { get; }

    /// <summary>One for each upstream connection on which the request's head arrived.</summary>
    public List<UpstreamAttempt> Attempts { get; } = [];

    public bool HasContent => Method != "HEAD" && Status is not (204 or 304);

    /// <summary>Whether it may be sent again (RFC 9110, section 9.2.2).</summary>
    public bool IsIdempotent => Method != "POST";

    public string Target => string.Create(CultureInfo.InvariantCulture, $"/api/{Id}");

    /// <summary>The field by which an answer is known.</summary>
    public string Mark => string.Create(CultureInfo.InvariantCulture, $"X-Answer: {Id}");

    /// <summary>Whether the upstream that it is with moves no more.</summary>
    public bool Hangs => Attempts is [.., { Hangs: true }];

    /// <summary>Whether the answer's end may be missing: an upstream ended, stopped or garbled it.</summary>
    public bool MayBeCut => Attempts.Exists(static attempt => attempt.Fault is not null);

    public string Describe() => string.Create(
        CultureInfo.InvariantCulture, $"{Method} {Id}, {RequestBody.Length} bytes, for {Status} {Framing} {Content.Length} bytes; attempts: {string.Join(", ", Attempts)}");

    /// <summary>As a client of HTTP/1.1 sends it.</summary>
    public byte[] ToRequest(string host, SeededRandom random)
    {
        var head = new StringBuilder($"{Method} {Target} HTTP/1.1\r\nHost: {host}\r\nX-Owner: {Id}\r\n");
        if (IsUpgrade)
        {
            head.Append("Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n");
        }

        if (Method is not ("POST" or "PUT"))
        {
            return Encoding.ASCII.GetBytes(head.Append("\r\n").ToString());
        }

        if (!IsRequestChunked)
        {
            head.Append(CultureInfo.InvariantCulture, $"Content-Length: {RequestBody.Length}\r\n\r\n");
            return [.. Encoding.ASCII.GetBytes(head.ToString()), .. RequestBody.Span];
        }

        head.Append("Transfer-Encoding: chunked\r\n\r\n");
        return [.. Encoding.ASCII.GetBytes(head.ToString()), .. Chunks.Of(RequestBody.Span, random), .. "0\r\n\r\n"u8];
    }

    /// <summary>The answer as its upstream sends it, all of it right.</summary>
    public byte[] ToAnswer(SeededRandom random)
    {
        var head = new StringBuilder();
        for (int i = 0; i < Interims; i++)
        {
            head.Append("HTTP/1.1 103 Early Hints\r\nLink: </x.css>; rel=preload\r\n\r\n");
        }

        head.Append(CultureInfo.InvariantCulture, $"HTTP/1.1 {Status} Answer\r\n{Mark}\r\nConnection: X-Hop\r\nX-Hop: 1\r\n");
        bool hasLength = Framing == AnswerFraming.Length && Status != 204;
        bool isChunked = Framing == AnswerFraming.Chunked && Status != 204;
        head.Append(hasLength ? $"Content-Length: {Content.Length}\r\n\r\n" : isChunked ? "Transfer-Encoding: chunked\r\n\r\n" : "\r\n");
        byte[] bytes = Encoding.ASCII.GetBytes(head.ToString());
        if (!HasContent)
        {
            return bytes;
        }

        return isChunked
            ? [.. bytes, .. Chunks.Of(Content.Span, random), .. "0\r\n"u8, .. HasTrailers ? "X-Trailer: t\r\n"u8 : [], .. "\r\n"u8]
            : [.. bytes, .. Content.Span];
    }
}

/// <summary>A request's arrival at an upstream, and what that did with it.</summary>
internal sealed class UpstreamAttempt
{
    /// <summary>Why the answer does not come whole from here; null if it does, or may.</summary>
    public FaultKind? Fault { get; set; }

    /// <summary>It stays where it is, in the request or in the answer, until the server gives it up. Another fault may be the one that is named.</summary>
    public bool Hangs { get; set; }

    /// <summary>Every byte of the answer is on its way, and the end where that is its end.</summary>
    public bool IsWhole { get; set; }

    /// <summary>All of the head that switches to a tunnel is sent.</summary>
    public bool HasSwitched { get; set; }

    /// <summary>Bytes of the tunnel that the upstream has sent.</summary>
    public int TunnelSent { get; set; }

    /// <summary>Bytes of the tunnel that it has got.</summary>
    public int TunnelReceived { get; set; }

    public TunnelEnd TunnelEnd { get; set; }

    /// <summary>Whether its direction ended in order, whatever came after it.</summary>
    public bool TunnelWasEnded { get; set; }

    /// <summary>Whether the upstream reads what comes through the tunnel.</summary>
    public bool ReadsTunnel { get; set; } = true;

    public override string ToString() => $"{Fault?.ToString() ?? "in order"}{(Hangs ? ", hangs" : "")}{(IsWhole ? ", whole" : "")}";
}

/// <summary>The chunked coding, in chunks of any size.</summary>
internal static class Chunks
{
    /// <summary>Without the last chunk.</summary>
    public static byte[] Of(ReadOnlySpan<byte> content, SeededRandom random)
    {
        var bytes = new List<byte>();
        int chunkBytesMax = Math.Max(content.Length / 50, random.Pick<int>(10, 1_000, 100_000));
        while (content.Length > 0)
        {
            int count = random.Between(1, Math.Min(content.Length, chunkBytesMax));
            string extension = random.Chance(50) ? ";x=\"y\"" : "";
            bytes.AddRange(Encoding.ASCII.GetBytes(string.Create(CultureInfo.InvariantCulture, $"{count:x}{extension}\r\n")));
            bytes.AddRange(content[..count]);
            bytes.AddRange("\r\n"u8);
            content = content[count..];
        }

        return [.. bytes];
    }
}
