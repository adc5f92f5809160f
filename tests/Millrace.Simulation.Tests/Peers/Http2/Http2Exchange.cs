using System.Globalization;
using System.Text;
using Millrace.Http;
using Millrace.Simulation.Tests.Runs;
using Millrace.Simulation.Tests.Upstreams;
using Millrace.Tests.Shared;

namespace Millrace.Simulation.Tests.Peers.Http2;

/// <summary>What the peer does to a stream.</summary>
internal enum StreamTreatment
{
    /// <summary>Opens its window as it reads.</summary>
    Fair,

    /// <summary>Resets it, at once or later.</summary>
    Cancelled,

    /// <summary>Opens no window any more.</summary>
    Stalled,
}

/// <summary>One stream of a peer: what it asks for, what came of the answer so far, and how it may end.</summary>
internal sealed class Http2Exchange(World world, Exchange exchange, int streamId, StreamTreatment treatment, long window)
{
    private Response? _response;
    private int _piece;
    private int _pieceBytes;

    public Exchange Exchange => exchange;

    public int StreamId => streamId;

    public StreamTreatment Treatment => treatment;

    public long BeganAtMs { get; } = world.NowMs;

    /// <summary>When the server has used its window up for good; <see cref="long.MaxValue"/> before.</summary>
    public long StalledAtMs { get; private set; } = long.MaxValue;

    /// <summary>What the server may send now.</summary>
    public long Window { get; private set; } = window;

    /// <summary>The same, as far as the server can know.</summary>
    public long KnownWindow { get; private set; } = window;

    public WindowCredit Credit { get; } = new(world);

    /// <summary>Taken, and not given back to the window.</summary>
    public int UnopenedBytes { get; set; }

    /// <summary>Bytes of the answer that came.</summary>
    public long ContentBytes { get; private set; }

    /// <summary>Nothing more has to come.</summary>
    public bool IsOver { get; set; }

    /// <summary>It has been reset by the peer: what still comes crossed that.</summary>
    public bool IsCancelled { get; set; }

    /// <summary>What the stream is if it was asked for and granted; null for no tunnel.</summary>
    public SimulatedTunnel? Tunnel => exchange.Proxied?.Tunnel;

    /// <summary>Whether it is one now.</summary>
    public bool IsTunnel => Tunnel is not null && _response is { IsOfUpstream: true };

    /// <summary>Whether the server has reset it.</summary>
    public bool WasReset { get; set; }

    /// <summary>Whether more of the request may follow its answer.</summary>
    public bool HasRequestContent => exchange.Proxied is { IsUpgrade: true } || IsPost;

    private bool IsPost => exchange.Request.AsSpan().StartsWith("POST "u8) || exchange.Request.AsSpan().StartsWith("PUT "u8);

    public bool HasHead => _response is not null;

    /// <summary>More is to come, and there is room for it.</summary>
    public bool IsOwed => !IsOver && (!HasHead || (_response!.IsOfUpstream && Tunnel is { } tunnel ? IsTunnelOwed(tunnel) : Window > 0));

    private bool IsWhole => !_response!.BringsContent || _piece == _response.Content.Count;

    /// <summary>Without a window nothing comes but what goes to the upstream.</summary>
    private bool IsTunnelOwed(SimulatedTunnel tunnel) =>
        tunnel.IsOwed
        && (Window > 0
            || tunnel.Attempt!.TunnelSent == tunnel.ClientReceived
            || (tunnel.Attempt.ReadsTunnel && tunnel.Attempt.TunnelReceived < tunnel.ClientSent));

    /// <summary>What the client sends through the tunnel, and the end of it if that is due. They are on their way from now on.</summary>
    public byte[] ToTunnelFrames(SeededRandom random, SimulatedTunnel tunnel, bool ends)
    {
        byte[] up = tunnel.Up.Span[tunnel.ClientSent..].ToArray();
        tunnel.OnClientSent(up.Length);
        tunnel.ClientHasEnded |= ends;
        List<byte> frames = BodyFrames(random, up, ends);
        if (ends && up.Length == 0)
        {
            frames.AddRange(Frame.Data(streamId, default, FrameFlags.EndStream));
        }

        return [.. frames];
    }

    /// <summary>Its request in frames, a body in several.</summary>
    public byte[] ToFrames(SeededRandom random, string scheme)
    {
        string text = Encoding.Latin1.GetString(exchange.Request);
        int end = text.IndexOf("\r\n\r\n", StringComparison.Ordinal);
        string[] lines = text[..end].Split("\r\n");
        string[] words = lines[0].Split(' ');
        bool isUpgrade = exchange.Proxied is { IsUpgrade: true };
        var fields = new List<(string, string)> { (":method", isUpgrade ? "CONNECT" : words[0]), (":scheme", scheme), (":path", words[1]) };
        if (isUpgrade)
        {
            fields.Insert(1, (":protocol", "websocket"));
        }

        foreach (string line in lines[1..])
        {
            int colon = line.IndexOf(':', StringComparison.Ordinal);
            string name = line[..colon].ToLowerInvariant();
            if (name is "transfer-encoding" or "connection" or "upgrade" or "sec-websocket-key")
            {
                continue;
            }

            fields.Insert(name == "host" ? (isUpgrade ? 4 : 3) : fields.Count, (name == "host" ? ":authority" : name, line[(colon + 2)..]));
        }

        byte[] body = exchange.Proxied?.RequestBody.ToArray() ?? exchange.Request[(end + 4)..];
        return [.. HeadFrames(random, Block.Of([.. fields]), isLast: body.Length == 0 && !isUpgrade), .. BodyFrames(random, body, ends: true)];
    }

    /// <summary>Takes a head. Says what is wrong; null for nothing.</summary>
    public string? TakeHead(Response expected, byte[] head, bool isLast)
    {
        string? wrong = HasHead ? "has two heads" : expected.Check(head, out _);
        if (wrong is not null)
        {
            return wrong;
        }

        _ = expected.Check(head, out _response);
        SkipEmpty();
        return isLast ? End() : null;
    }

    /// <summary>Takes the fields after the content. Says what is wrong; null for nothing.</summary>
    public string? TakeTrailers(bool isLast) =>
        !isLast ? "has trailers in its middle" : exchange.Proxied is { HasTrailers: true } ? End() : "has trailers that nobody sent";

    /// <summary>Takes data. Says what is wrong; null for nothing.</summary>
    public string? TakeData(ReadOnlySpan<byte> data, bool isLast)
    {
        if ((Window -= data.Length) < 0)
        {
            return "gets more than its window lets through";
        }

        while (data.Length > 0)
        {
            if (!HasHead || IsWhole || (_response!.IsOfUpstream && Tunnel is { } tunnel && tunnel.ClientReceived + data.Length > tunnel.Attempt?.TunnelSent))
            {
                return string.Create(CultureInfo.InvariantCulture, $"has {data.Length} bytes more than it should, behind {ContentBytes}");
            }

            ReadOnlySpan<byte> expected = _response!.Content[_piece].Span[_pieceBytes..];
            int count = Math.Min(data.Length, expected.Length);
            int same = data[..count].CommonPrefixLength(expected);
            if (same < count)
            {
                return string.Create(CultureInfo.InvariantCulture, $"has a foreign byte at {ContentBytes + same}");
            }

            _pieceBytes += count;
            ContentBytes += count;
            Tunnel?.ClientReceived += _response.IsOfUpstream ? count : 0;
            data = data[count..];
            SkipEmpty();
        }

        if (treatment == StreamTreatment.Stalled && Window == 0 && StalledAtMs == long.MaxValue)
        {
            StalledAtMs = world.NowMs;
        }

        return isLast ? End() : null;
    }

    public void OpenWindow(int bytes) => Window += bytes;

    public void OpenKnownWindow(int bytes) => KnownWindow += bytes;

    public void TakeFromKnownWindow(int bytes)
    {
        KnownWindow -= bytes;
        Credit.Take(bytes);
    }

    /// <summary>It waits for its own window, or for the connection's.</summary>
    public void SetCredit(bool isConnectionUsedUp) => Credit.Set(HasHead && !IsOver && (isConnectionUsedUp || KnownWindow <= 0));

    private string? End()
    {
        if (_response!.IsOfUpstream && Tunnel is { } tunnel)
        {
            IsOver = true;
            return tunnel.WhyNoEnd();
        }

        // Of a file that changes while it is read nothing is said but where it ends.
        bool mayEndHere = IsWhole || (!_response!.NamesLength && world.Disk.ShrunkSizes.Contains(ContentBytes));
        if (!mayEndHere)
        {
            return string.Create(CultureInfo.InvariantCulture, $"is said to be whole after {ContentBytes} of {_response!.ContentBytes} bytes");
        }

        IsOver = true;
        return _response!.IsOfUpstream && !exchange.Proxied!.Attempts.Exists(static attempt => attempt.IsWhole)
            ? "looks whole, and its upstream has not ended it"
            : null;
    }

    private void SkipEmpty()
    {
        while (!IsWhole && _pieceBytes == _response!.Content[_piece].Length)
        {
            _piece++;
            _pieceBytes = 0;
        }
    }

    private byte[] HeadFrames(SeededRandom random, byte[] block, bool isLast)
    {
        FrameFlags end = isLast ? FrameFlags.EndStream : FrameFlags.None;
        if (!random.Chance(200))
        {
            return Frame.Headers(streamId, block, end | FrameFlags.EndHeaders);
        }

        int at = random.Below(block.Length + 1);
        return [.. Frame.Headers(streamId, block.AsSpan(0, at), end), .. Frame.Continuation(streamId, block.AsSpan(at))];
    }

    private List<byte> BodyFrames(SeededRandom random, byte[] body, bool ends)
    {
        var frames = new List<byte>();
        for (int at = 0; at < body.Length;)
        {
            // Small ones count as idle, of which there may be a thousand.
            int count = Math.Min(body.Length - at, random.Between(64, 300));
            at += count;
            frames.AddRange(Frame.Data(streamId, body.AsSpan(at - count, count), ends && at == body.Length ? FrameFlags.EndStream : FrameFlags.None));
        }

        return frames;
    }
}
