using Millrace.Simulation.Tests.Upstreams;

namespace Millrace.Simulation.Tests.Peers.Http2;

/// <content>Streams that become WebSockets (RFC 8441).</content>
internal sealed partial class Http2Peer
{
    private void BeginTunnel(Http2Exchange stream, SimulatedTunnel tunnel)
    {
        tunnel.ClientMayBreak = () => IsDone || Socket.MayBreak || !IsReading || HasEnded || _goAway is not null || !Outgoing.IsEmpty
            || _floods || Socket.IsClosed || Socket.DownlinkEnded
            || stream is { IsCancelled: true } or { Treatment: not StreamTreatment.Fair };
        if (World.Random.Chance(200))
        {
            // Without waiting for the answer.
            SayTunnel(stream, tunnel, early: true);
        }
    }

    /// <summary>Sends what is left to send through a tunnel: all of it, as it is small; and the end, at once or after the other's.</summary>
    private void SayTunnel(Http2Exchange stream, SimulatedTunnel tunnel, bool early = false)
    {
        bool isTunnel = early || stream.IsTunnel;
        bool ends = tunnel.ClientEndsFirst || stream.IsOver;
        bool isDue = tunnel.ClientSent < tunnel.Up.Length || (ends && !tunnel.ClientHasEnded);
        if (isTunnel && isDue && !tunnel.ClientHasEnded && !stream.IsCancelled && !stream.WasReset)
        {
            Say(stream.ToTunnelFrames(World.Random, tunnel, ends));
        }
    }
}
