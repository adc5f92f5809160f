using System.Globalization;
using Millrace.Simulation.Tests.Upstreams;

namespace Millrace.Simulation.Tests.Peers;

/// <content>A WebSocket after the last request, if the peer asks for one and gets it.</content>
internal sealed partial class HttpPeer
{
    private SimulatedTunnel? _tunnel;

    /// <summary>Whether the last request is for a WebSocket that is available.</summary>
    private bool EndsWithTunnel => AskedTunnel is not null;

    /// <summary>What it is to become, or is: the server may be in it before the peer has read so.</summary>
    private SimulatedTunnel? AskedTunnel => _exchanges[^1].Proxied?.Tunnel;

    /// <summary>Whether all is sent of a tunnel, or there is none.</summary>
    private bool HasSentTunnel =>
        !EndsWithTunnel || (_tunnel is { } tunnel ? tunnel.ClientSent == tunnel.Up.Length : _answered == _exchanges.Count);

    /// <summary>
    /// The server may give up a tunnel that is idle; and where its end closes the whole connection, as a seal has none of one direction, it
    /// may meet what the peer still sends.
    /// </summary>
    private bool MayBreakForTunnel => AskedTunnel is { Attempt: { } attempt } tunnel
        && (tunnel.IsIdle || (IsSealed && attempt.TunnelWasEnded && !tunnel.ClientHasEnded));

    public override bool MayBeHalfOpen => AskedTunnel is { Attempt: not null };

    protected override string? WhyNoEnd => _tunnel?.WhyNoEnd() is { } wrong ? $"The tunnel {wrong}." : null;

    protected override string DescribeOwed() => _tunnel is null ? "" : $"\n  {_tunnel}";

    protected override void OnEnding() => AskedTunnel?.ClientHasEnded = true;

    private void AddTunnels(ExchangeGenerator exchanges)
    {
        bool isRude = PeerBehaviour is PeerBehaviour.Trickles or PeerBehaviour.StallsBody or PeerBehaviour.Floods;
        if (exchanges.HasTunnels && !isRude && World.Random.Chance(700))
        {
            Exchange exchange = exchanges.DrawTunnel(Number, _exchanges.Count, isHttp2: false);
            _exchanges.Add(exchange);
            if (exchange.Proxied!.IsRefusedUpgrade)
            {
                // The connection goes on.
                _exchanges.Add(exchanges.Draw(Number, _exchanges.Count));
            }
        }
    }

    private void BeginTunnel(SimulatedTunnel tunnel)
    {
        _tunnel = tunnel;
        tunnel.ClientMayBreak = () => IsDone || Socket.MayBreak || MayBreakForTunnel || !IsReading || (IsSealed && tunnel.Attempt!.TunnelWasEnded);
        NoteProgress();
        if (HasSentTunnel)
        {
            EndTunnelIfSent(tunnel);
        }
    }

    private void OnTunnelSent(SimulatedTunnel tunnel, int count)
    {
        tunnel.OnClientSent(count);
        NoteProgress();
        EndTunnelIfSent(tunnel);
    }

    private void EndTunnelIfSent(SimulatedTunnel tunnel)
    {
        if (tunnel.ClientSent == tunnel.Up.Length && (tunnel.ClientEndsFirst || PeerBehaviour == PeerBehaviour.HalfCloses) && !tunnel.ClientHasEnded)
        {
            EndOutput();
        }
    }

    private ReadOnlySpan<byte> TakeTunnel(SimulatedTunnel tunnel, ReadOnlySpan<byte> bytes)
    {
        ReadOnlySpan<byte> expected = tunnel.Down.Span[tunnel.ClientReceived..tunnel.Attempt!.TunnelSent];
        if (!expected.StartsWith(bytes))
        {
            Fail(string.Create(CultureInfo.InvariantCulture, $"A foreign byte came through the tunnel, behind {tunnel.ClientReceived}."));
        }

        tunnel.ClientReceived += bytes.Length;
        return default;
    }
}
