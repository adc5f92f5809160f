using System.Globalization;
using System.Security.Cryptography;
using System.Text;
using Millrace.Simulation.Tests.Runs;

namespace Millrace.Simulation.Tests.Upstreams;

/// <summary>How an upstream has ended its direction of a tunnel.</summary>
internal enum TunnelEnd
{
    None,
    InOrder,

    /// <summary>By a reset, or by the network's.</summary>
    Reset,
}

/// <summary>
/// A WebSocket that a client asks for: the bytes of both directions, and how far each is. What a direction's reader has is a prefix of what
/// its writer has sent, and all of it where the direction ended in order. Shared by the client and the upstream.
/// </summary>
internal sealed class SimulatedTunnel(World world, ProxiedExchange exchange, bool isHttp2, UpstreamShape shape)
{
    private const string Guid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

    /// <summary>Of one client at a time, as it obeys no window of the server.</summary>
    private const int UpBytesMax = 3_000;

    private long _movedAtMs = world.NowMs;

    /// <summary>What the client sends.</summary>
    public ReadOnlyMemory<byte> Up { get; } = Marker.Of(exchange.Id)[..world.Random.Below(world.Random.Pick<int>(1, 50, UpBytesMax))];

    /// <summary>What the upstream sends: the exchange's content.</summary>
    public ReadOnlyMemory<byte> Down => exchange.Content;

    public bool IsHttp2 => isHttp2;

    /// <summary>Whether the client ends its direction as soon as all is sent; else as it sees the other's end.</summary>
    public bool ClientEndsFirst { get; } = world.Random.Chance(500);

    public int ClientSent { get; private set; }

    /// <summary>In order.</summary>
    public bool ClientHasEnded { get; set; }

    /// <summary>Whether the client, or what it does, may have broken its connection or its stream; null before it has begun.</summary>
    public Func<bool>? ClientMayBreak { get; set; }

    /// <summary>What the client has got.</summary>
    public int ClientReceived { get; set; }

    /// <summary>The connection of the upstream that switched; null before.</summary>
    public UpstreamAttempt? Attempt => exchange.Attempts is [.., { HasSwitched: true } last] ? last : null;

    /// <summary>Whether the server may have given it up, as nothing was moved for long.</summary>
    public bool IsIdle => world.WithJumps(world.NowMs) - _movedAtMs + world.Shape.SlackMs >= shape.TunnelIdleMs;

    /// <summary>Whether the server has what it needs to send something to the client, or to the upstream.</summary>
    public bool IsOwed => Attempt is { } attempt
        && (attempt.TunnelSent > ClientReceived
            || attempt.TunnelEnd == TunnelEnd.InOrder
            || (ClientSent > attempt.TunnelReceived && attempt.ReadsTunnel));

    public void OnClientSent(int count)
    {
        ClientSent += count;
        if (!isHttp2)
        {
            // Over HTTP/2 they may be behind others for long.
            NoteMoved();
        }
    }

    public override string ToString() => string.Create(
        CultureInfo.InvariantCulture,
        $"tunnel {exchange.Id}: up {ClientSent} of {Up.Length}{(ClientHasEnded ? ", ended" : "")}, {Attempt?.TunnelReceived} read; down {Attempt?.TunnelSent} of {Down.Length}, {Attempt?.TunnelEnd}, {ClientReceived} read; moved {world.NowMs - _movedAtMs} ms ago, may be idle for {shape.TunnelIdleMs} ms, attempts: {string.Join(", ", exchange.Attempts)}");

    /// <summary>Bytes are on their way to the server, for which they count later.</summary>
    public void NoteMoved() => _movedAtMs = world.NowMs;

    /// <summary>What is wrong with an end in order of what the client gets, here; null for nothing.</summary>
    public string? WhyNoEnd() => Attempt switch
    {
        null => "ends in order before it was one",
        { TunnelEnd: TunnelEnd.None } => "ends in order, and its upstream has not ended it",
        { TunnelEnd: TunnelEnd.InOrder } attempt when attempt.TunnelSent != ClientReceived =>
            string.Create(CultureInfo.InvariantCulture, $"ends in order after {ClientReceived} of {attempt.TunnelSent} bytes"),
        { TunnelEnd: TunnelEnd.Reset, TunnelWasEnded: false } when ClientReceived == 0 => "ends in order, and its upstream has reset it before a byte",
        _ => null,
    };

    /// <summary>What is wrong with an end in order of what the upstream gets, here; null for nothing.</summary>
    public string? WhyNoUpstreamEnd(UpstreamAttempt attempt) =>
        !ClientHasEnded ? "was ended towards its upstream, and its client has not ended it"
        : attempt.TunnelReceived != ClientSent
            ? string.Create(CultureInfo.InvariantCulture, $"was ended towards its upstream after {attempt.TunnelReceived} of {ClientSent} bytes")
        : null;

    /// <summary>Whether nothing explains that the server resets the upstream's connection, which has not got all.</summary>
    public bool IsLost(UpstreamAttempt attempt) =>
        ClientHasEnded && ClientMayBreak?.Invoke() == false && attempt is { Fault: null, Hangs: false, ReadsTunnel: true }
        && attempt.TunnelReceived < ClientSent && !IsIdle && !world.IsStopping;

    /// <summary>The head by which an upstream switches.</summary>
    public static string SwitchFor(ProxiedExchange exchange, string key) => string.Create(
        CultureInfo.InvariantCulture,
        $"HTTP/1.1 101 Switching Protocols\r\n{exchange.Mark}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: {AcceptOf(key)}\r\n\r\n");

#pragma warning disable CA5350 // The protocol's (RFC 6455, section 4.2.2).
    private static string AcceptOf(string key) => Convert.ToBase64String(SHA1.HashData(Encoding.ASCII.GetBytes(key + Guid)));
#pragma warning restore CA5350
}
