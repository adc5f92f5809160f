using System.Globalization;
using Millrace.Engine.Listening;
using Millrace.Interop;
using Millrace.Interop.Sockets;
using Millrace.Simulation.Tests.Faults;
using Millrace.Simulation.Tests.Runs;

namespace Millrace.Simulation.Tests.Kernel;

/// <content>
/// How long the server has to wait for this peer, and how long it may: who takes enough is never given up, who takes too little is, in time.
/// </content>
internal sealed partial class SimulatedSocket
{
    /// <summary>What the server's arithmetic in whole milliseconds may be off, look by look.</summary>
    private const int RoundingMs = 50;

    /// <summary>Exactly by the limits, one for all that the connection is sent: the server's is never below it.</summary>
    private readonly Credit _credit;

    /// <summary>With all that the server does not see between its looks: its own is never above.</summary>
    private readonly Credit _mostCredit;
    private bool _stallIsWatched;
    private long _acknowledgedBytes;

    /// <summary>Its connections are counted together.</summary>
    public int Client => _peer.Client;

    /// <summary>For whom the server counts the connection, as far as it was told.</summary>
    public int? CountedClient { get; private set; }

    /// <summary>How it came in; turned away until somebody serves or refuses it.</summary>
    public AdmissionResult Admission { get; set; }

    /// <summary>Whether its listener tells those whom it turns away.</summary>
    public bool MayBeRefused { get; init; }

    /// <summary>Sent, and not read by the peer.</summary>
    public long UnacknowledgedBytes => SentBytes - _acknowledgedBytes;

    public long AcknowledgedBytes => _acknowledgedBytes;

    /// <summary>Fills in an address of the client's: the same, a mapped one, or another of the same network.</summary>
    public int WriteAddress(Span<byte> address)
    {
        if (IsDead && _world.Strikes(FaultKind.NoPeerAddress, Number))
        {
            return -Errno.ENOTCONN;
        }

        CountedClient = Client;
        address.Clear();
        bool isIPv4 = Client % 2 == 0;
        bool isMapped = isIPv4 && _world.Random.Chance(500);
        BitConverter.TryWriteBytes(address, (ushort)(isIPv4 && !isMapped ? AddressFamilyNumber.InterNetwork : AddressFamilyNumber.InterNetworkV6));
        BitConverter.TryWriteBytes(address[2..], (ushort)_world.Random.Below(65_536));
        Span<byte> ip = address[8..24];
        if (isIPv4)
        {
            ip = isMapped ? ip : address[4..8];
            if (isMapped)
            {
                ip[10] = ip[11] = 0xFF;
            }

            (ip[^4], ip[^1]) = (10, (byte)Client);
        }
        else
        {
            (ip[0], ip[1], ip[7]) = (0x20, 0x01, (byte)Client);
            BitConverter.TryWriteBytes(ip[8..], _world.Random.Next());
        }

        return isIPv4 && !isMapped ? 16 : 28;
    }

    /// <summary>The server resets the connection, or lets go of a send: what it may do to one that took too little.</summary>
    public void OnGivenUp()
    {
        _world.Trace.Note(Number, TraceEvent.GivesUp, (long)_credit.LeftMs(_world.NowMs), _acknowledgedBytes);
        bool isTooSlow = _credit.LeftMs(_world.NowMs) <= RoundingMs;
        bool isRefused = Admission == AdmissionResult.Refused
            && _world.NowMs >= _admittedAtMs + (long)_world.Shape.HttpLimits.RefusedHead.TotalMilliseconds;
        if (isTooSlow || isRefused)
        {
            Excuse();
        }
    }

    /// <summary>
    /// Deadlines may have passed on the way. A leap that lies before the server's first look, or in a send that ends before its next, costs
    /// the peer nothing.
    /// </summary>
    public void OnClockJump()
    {
        _mostCredit.Renew(_world.NowMs, UnseenMs);
        Excuse();
    }

    /// <summary>The server has seen the end of a send.</summary>
    public void OnSendReturned(Operation send)
    {
        if (send.Transferred == send.Bytes && !send.AwaitsRoom)
        {
            OnSendEnded();
        }
    }

    private void OnSendEnded()
    {
        _credit.Pause(_world.NowMs);
        _mostCredit.Pause(_world.NowMs);
    }

    private void OnSendSubmitted()
    {
        _credit.Run(_world.NowMs);
        _mostCredit.Run(_world.NowMs, UnseenMs);
        if (!_stallIsWatched)
        {
            _stallIsWatched = true;
            _world.EventQueue.In(SilenceMs + 1, this, StallEvent);
        }
    }

    private void Acknowledge(int count)
    {
        _acknowledgedBytes += count;
        _credit.Take(_world.NowMs, count);

        // What follows in the same millisecond is sent without a pause, and what was taken between the two counts.
        _mostCredit.Take(_world.NowMs, count, inPauseOfNoTime: true);
    }

    /// <summary>Neither the time before the server's first look is counted, a quarter of the window, nor that after its last.</summary>
    private double UnseenMs => _mostCredit.WindowMs / 2;

    /// <summary>An upstream needs no rate.</summary>
    private Credit NewCredit() => new(_world.Shape.Limits.WriteStall, IsOutbound ? 0 : _world.Shape.Limits.WriteBytesPerSecond);

    /// <summary>Five quarters of the limit, and a tick.</summary>
    private long SilenceMs => (5 * (long)_world.Shape.Limits.WriteStall.TotalMilliseconds / 4) + _world.Shape.SlackMs;

    private void CheckStall()
    {
        _stallIsWatched = _mostCredit.IsRunning && !IsDead && !IsClosed;
        if (!_stallIsWatched)
        {
            return;
        }

        long nowMs = _world.NowMs;
        long silentMs = nowMs - _mostCredit.MovedAtMs;

        // Its looks are a quarter of the window apart: what a peer gains beyond the window in between is its own.
        double leftMs = _mostCredit.LeftMs(nowMs) + (_mostCredit.WindowMs / 4) + (_mostCredit.WindowMs / 8) + _world.Shape.SlackMs;
        if (nowMs <= _world.JumpedAtMs + (2 * SilenceMs))
        {
            // Looks that the clock has leapt over were none.
        }
        else if (silentMs > SilenceMs)
        {
            _world.Fail(Number, string.Create(CultureInfo.InvariantCulture, $"No byte was taken for {silentMs} ms, at {_acknowledgedBytes}, and the connection is still there."));
        }
        else if (leftMs < 0)
        {
            _world.Fail(Number, string.Create(CultureInfo.InvariantCulture, $"Too little is taken, at {_acknowledgedBytes}, and the connection is still there."));
        }

        long nextMs = Math.Min(SilenceMs - silentMs, (long)_mostCredit.WindowMs / 4);
        _world.EventQueue.In(Math.Max(1, nextMs + 1), this, StallEvent);
    }
}
