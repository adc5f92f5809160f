using System.Globalization;
using Millrace.Engine.Listening;
using Millrace.Http;
using Millrace.Simulation.Tests.Runs;
using Millrace.Tests.Shared;

namespace Millrace.Simulation.Tests.Peers.Http2;

/// <content>Whether an end of a stream or of all of them had a reason.</content>
internal sealed partial class Http2Peer
{
    private void TakeReset(Frame frame)
    {
        if (frame.StreamId == RudeStreamId && PeerBehaviour == PeerBehaviour.StallsBody)
        {
            if (frame.Error is not (Http2Error.NoError or Http2Error.Cancel))
            {
                Fail($"The stream whose body does not come is reset with {frame.Error}.");
            }

            return;
        }

        int index = (frame.StreamId - 1) / 2;
        if (frame.Error == Http2Error.NoError && index < _streams.Count && _streams[index] is { IsOver: true, HasRequestContent: true })
        {
            // The response is whole, and the server did not wait longer for the rest of the request (RFC 9113, section 8.1).
            _streams[index].WasReset = true;
            return;
        }

        if (frame.Error == Http2Error.Cancel && index < _streams.Count && _streams[index] is { IsOver: true, IsTunnel: true, WasReset: false } half
            && (half.Tunnel!.IsIdle || half.Exchange.Proxied!.MayBeCut))
        {
            // The upstream had ended its direction; what came of the other one meanwhile, or did not, ended the rest.
            half.WasReset = true;
            return;
        }

        if (Find(frame) is not { } stream)
        {
            return;
        }

        bool isStalled = frame.Error == Http2Error.Cancel && IsTooSlow(stream.Credit, stream.BeganAtMs);
        bool isOfFile = frame.Error == Http2Error.InternalError
            && (World.Disk.ShrunkSizes.Count > 0
                || World.Disk.HasFailedSince(stream.BeganAtMs)
                || World.Disk.HasRefusedSince(stream.BeganAtMs));
        bool isOfUpstream = frame.Error == Http2Error.InternalError && stream.Exchange.Proxied is { MayBeCut: true };
        isOfUpstream |= frame.Error == Http2Error.Cancel && stream.Tunnel is { } tunnel && (stream.Exchange.Proxied!.MayBeCut || tunnel.IsIdle);
        bool isLate = frame.Error == Http2Error.Cancel && stream is { HasRequestContent: true, Tunnel: null } && IsBehindFor(World.Shape.HttpLimits.ReceiveStall);
        if (!isStalled && !isOfFile && !isOfUpstream && !isLate && !(frame.Error == Http2Error.Cancel && IsBehindFlood) && !Socket.MayBreak)
        {
            FailStream(stream, $"is reset with {frame.Error}, and nothing gave a reason: {stream.Tunnel}");
        }

        stream.IsOver = stream.WasReset = true;
    }

    protected override string DescribeOwed() => string.Concat(_streams.Where(static stream => !stream.IsOver).Select(stream => string.Create(
        CultureInfo.InvariantCulture,
        $"\n  stream {stream.StreamId} of {_streams.Count}, since {stream.BeganAtMs}: {stream.ContentBytes} bytes, window {stream.Window} of {_window}, {stream.Exchange.Proxied?.Describe()} {stream.Tunnel}")));

    private void TakeGoAway(Frame frame)
    {
        // One that says no number yet only asks for no more streams (section 6.8).
        bool isNotice = frame.Number == int.MaxValue && frame.Error == Http2Error.NoError;
        if (isNotice)
        {
            return;
        }

        _goAway = frame.Error;
        _lastStreamId = frame.Number;
        if (WhyNot(frame.Error) is { } wrong && !Socket.MayBreak && !World.IsStopping)
        {
            Fail($"The connection is ended with {frame.Error}, {wrong}.");
        }
    }

    /// <summary>
    /// What the server may take of frames that ask for nothing: its allowance, what comes back with time, and what answers have earned.
    /// </summary>
    private long IdleFramesMost
    {
        get
        {
            HttpServer.Http2Limits limits = World.Shape.HttpLimits.Http2;
            long elapsedMs = World.NowMs - _streams[0].BeganAtMs + World.Shape.SlackMs;
            return limits.OverheadFramesMax + (limits.OverheadFramesPerSecond * elapsedMs / 1_000) + (4 * _count) + (2 * _dataFrames);
        }
    }

    /// <summary>What is wrong with an end; null where there is a reason for it.</summary>
    private string? WhyNot(Http2Error error)
    {
        bool isRefused = Socket.Admission == AdmissionResult.Refused;
        switch (error)
        {
            case Http2Error.NoError when isRefused:
                return null;
            case Http2Error.NoError when _floods && HasSentAll && FloodFrames > IdleFramesMost:
                return "and a flood was taken";
            case Http2Error.NoError:
                return _streams.TrueForAll(stream => stream.IsOver || CameLate(stream)) ? null : "though streams were open";
            case Http2Error.EnhanceYourCalm when _floods && _hasRudeEnd:
            case Http2Error.EnhanceYourCalm when PeerBehaviour == PeerBehaviour.Trickles && _hasRudeEnd:
            case Http2Error.EnhanceYourCalm when _streams.Count > 0 && IsTooSlow(_credit, _streams[0].BeganAtMs):
            case Http2Error.SettingsTimeout when IsBehindFor(World.Shape.HttpLimits.Http2.SettingsAck):
            case Http2Error.SettingsTimeout when !IsEager || _floods || (PeerBehaviour == PeerBehaviour.Trickles && _hasRudeEnd):
                return null;
            default:
                return "and nothing gave a reason";
        }
    }

    /// <summary>
    /// Whether a window was used up for longer than the server has to wait, or less was taken than it may ask for, whether for windows that
    /// stay closed or for bytes that are read slowly. The time counts from before the server's does, and is judged with a factor for that.
    /// </summary>
    private bool IsTooSlow(WindowCredit credit, long sinceMs)
    {
        Engine.Limits limits = World.Shape.Limits;
        long elapsedMs = World.NowMs - sinceMs;
        return credit.IsSpent || (elapsedMs >= limits.WriteStall.TotalMilliseconds
            && (_stalls || !IsEager || credit.TakenBytes * 1_000 < 2 * limits.WriteBytesPerSecond * elapsedMs));
    }

    /// <summary>
    /// Whether it sends so little at a time that what it says now waits behind the rest for longer than this: a part of a request's body, or
    /// the acknowledgement of SETTINGS.
    /// </summary>
    private bool IsBehindFor(TimeSpan most) => !Outgoing.IsEmpty && World.NowMs - _outSinceMs >= most.TotalMilliseconds;

    /// <summary>A window that the peer opens after its own flood stays closed to the server for as long as the flood takes.</summary>
    private bool IsBehindFlood =>
        _floods && _hasRudeEnd && World.NowMs - _rudeEndAtMs >= World.Shape.Limits.WriteStall.TotalMilliseconds;

    /// <summary>
    /// Whether a stream has met an end that was due: one that the server does not count, opened by who took as long over the answers
    /// to those before as a connection may rest.
    /// </summary>
    private bool CameLate(Http2Exchange stream) =>
        _lastStreamId > 0 && stream.StreamId > _lastStreamId
        && stream.BeganAtMs - _streams[(_lastStreamId - 1) / 2].BeganAtMs
            >= (long)World.Shape.HttpLimits.KeepAlive.TotalMilliseconds - World.Shape.SlackMs;
}
