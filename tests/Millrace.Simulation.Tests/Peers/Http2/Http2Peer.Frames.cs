using System.Globalization;
using System.Runtime.InteropServices;
using System.Text;
using Millrace.Http;
using Millrace.Simulation.Tests.Runs;
using Millrace.Tests.Shared;

namespace Millrace.Simulation.Tests.Peers.Http2;

/// <content>Frames as they come, each judged by what the peer has asked for and done.</content>
internal sealed partial class Http2Peer
{
    private const int FloodFrames = 4_000;

    private readonly List<byte> _input = [];
    private readonly List<byte> _block = [];
    private FrameFlags _blockFlags;
    private int _framesTaken;
    private long _dataFrames;

    /// <summary>The stream whose body does not come.</summary>
    private int RudeStreamId => 1 + (2 * _count);

    protected override void Take(ReadOnlySpan<byte> bytes)
    {
        _input.AddRange(bytes);
        if (_framesTaken == 0 && CollectionsMarshal.AsSpan(_input).StartsWith(Http1))
        {
            TakeUnrecognised();
            return;
        }

        int at = 0;
        while (!World.HasFailed && TryRead(ref at) is { } frame)
        {
            TakeFrame(frame);
            _framesTaken++;
        }

        _input.RemoveRange(0, at);
        OpenMore();
        EndRudely();
        ExpectDeadline();
    }

    protected override void Check()
    {
        long mostMs = (7 * (long)World.Shape.Limits.WriteStall.TotalMilliseconds / 4) + World.Shape.SlackMs;
        foreach (Http2Exchange stream in _streams)
        {
            bool isLate = stream.StalledAtMs != long.MaxValue && !stream.IsOver
                && World.NowMs > World.WithJumps(Math.Max(stream.StalledAtMs, SlowUntilMs) + mostMs);
            if (isLate && IsEager && _goAway is null && !Socket.MayBreak && !World.IsStopping)
            {
                Fail($"Stream {stream.StreamId}, whose window stays closed, is still there.");
            }
        }
    }

    private Frame? TryRead(ref int at)
    {
        ReadOnlySpan<byte> left = CollectionsMarshal.AsSpan(_input)[at..];
        if (left.Length < Frame.HeaderBytes)
        {
            return null;
        }

        FrameHeader header = FrameHeader.Read(left);
        if (header.Length > FrameHeader.DefaultLengthMax)
        {
            Fail($"A frame of {header.Length} bytes came.");
        }

        if (left.Length < Frame.HeaderBytes + header.Length)
        {
            return null;
        }

        at += Frame.HeaderBytes + header.Length;
        return new Frame(header.Type, header.Flags, header.StreamId, left.Slice(Frame.HeaderBytes, header.Length).ToArray());
    }

    private void TakeFrame(Frame frame)
    {
        switch (frame.Type)
        {
            case FrameType.Settings when !frame.IsAck:
                Say(Frame.SettingsAck());
                break;
            case FrameType.Ping when !frame.IsAck:
                Say(Frame.Ping(frame.Payload, FrameFlags.Ack));
                break;
            case FrameType.Headers:
                _blockFlags = frame.Flags;
                TakeBlock(frame);
                break;
            case FrameType.Continuation:
                TakeBlock(frame);
                break;
            case FrameType.Data:
                TakeData(frame);
                break;
            case FrameType.RstStream:
                TakeReset(frame);
                break;
            case FrameType.GoAway:
                TakeGoAway(frame);
                break;
            case FrameType.Settings or FrameType.Ping or FrameType.WindowUpdate when _framesTaken > 0:
                break;
            default:
                Fail($"{frame.Type} came as frame {_framesTaken}.");
                break;
        }
    }

    private void TakeBlock(Frame frame)
    {
        _block.AddRange(frame.Payload);
        if ((frame.Flags & FrameFlags.EndHeaders) == 0)
        {
            return;
        }

        string[] lines = _decoder.Decode([.. _block]).Split('\n');
        _block.Clear();
        if (lines[^2] == "Ok" && !lines[0].StartsWith(':'))
        {
            if (Find(frame) is { HasHead: true } trailed && trailed.TakeTrailers((_blockFlags & FrameFlags.EndStream) != 0) is { } bad)
            {
                FailStream(trailed, bad);
            }

            return;
        }

        if (lines[^2] != "Ok" || !lines[0].StartsWith(":status: ", StringComparison.Ordinal))
        {
            Fail($"A field block is {lines[^2]}: {string.Join('|', lines)}");
            return;
        }

        if (frame.StreamId == RudeStreamId || Find(frame) is not { } stream)
        {
            return;
        }

        if (lines[0].StartsWith(":status: 1", StringComparison.Ordinal) && stream.Exchange.Proxied is { Interims: > 0 })
        {
            return;
        }

        var head = new StringBuilder($"HTTP/1.1 {lines[0][":status: ".Length..]} \r\n");
        foreach (string line in lines[1..^2])
        {
            head.Append(AsHttp1(line)).Append("\r\n");
        }

        byte[] text = Encoding.Latin1.GetBytes(head.Append("\r\n").ToString());
        if (stream.TakeHead(Expected(stream, text), text, (_blockFlags & FrameFlags.EndStream) != 0) is { } wrong)
        {
            FailStream(stream, $"{wrong}: {head.Replace("\r\n", "|")}");
        }

        if (stream.Tunnel is { } tunnel)
        {
            SayTunnel(stream, tunnel);
        }

        SetCredits();
    }

    private Response Expected(Http2Exchange stream, byte[] head)
    {
        if (head.AsSpan().StartsWith("HTTP/1.1 500 "u8) && stream.Exchange.Proxied is null && (World.Disk.HasFailedSince(stream.BeganAtMs) || World.Disk.HasRefusedSince(stream.BeganAtMs)
            || World.Disk.ShrunkSizes.Count > 0 || Socket.MayBreak))
        {
            // The disk failed before anything of the answer had gone out.
            return ExchangeGenerator.Unreadable;
        }

        if (head.AsSpan().StartsWith("HTTP/1.1 408 "u8) && stream is { HasRequestContent: true, Tunnel: null } && IsBehindFor(World.Shape.HttpLimits.ReceiveStall))
        {
            // Its body waits behind the rest for too long.
            return ExchangeGenerator.Trickled().Response;
        }

        // A file of no known length is no file to take ranges of: all of it comes.
        bool isUncertain = World.Disk.ShrunkSizes.Count > 0 || World.Disk.HasRefusedSince(stream.BeganAtMs);
        if (isUncertain && stream.Exchange is { Content: { } content } && head.AsSpan().IndexOf("\r\nContent-Length: "u8) < 0
            && head.AsSpan().StartsWith("HTTP/1.1 200 "u8) && stream.Exchange.Response is { Status: 200 or 206, BringsContent: true })
        {
            return new Response(200) { Content = [content], NamesLength = false };
        }

        return _expectations.ResponseOf(stream.Exchange, stream.BeganAtMs, head);
    }

    private void TakeData(Frame frame)
    {
        bool isRude = frame.StreamId == RudeStreamId;
        Http2Exchange? stream = isRude ? null : Find(frame);
        TakeFromWindows(stream, frame.Payload.Length);
        _dataFrames++;
        if (_window < 0)
        {
            Fail("More data came than the window of the connection lets through.");
        }

        if (_stallsAll && _window == 0 && _windowClosedAtMs == long.MaxValue)
        {
            _windowClosedAtMs = World.NowMs;
            RunShape shape = World.Shape;
            TimeSpan all = shape.HttpLimits.KeepAlive + (2 * shape.Limits.WriteStall);
            ExpectEnd(all, "the window of the connection was closed", all);
        }

        if (stream?.TakeData(frame.Payload, frame.IsLast) is { } wrong)
        {
            FailStream(stream, wrong);
        }

        if (frame.Payload.Length > 0 && !_stallsAll)
        {
            OpenConnection(frame.Payload.Length);
        }

        if (stream is { IsOver: false })
        {
            Treat(stream, frame.Payload.Length);
        }
        else if (stream?.Tunnel is { } tunnel)
        {
            SayTunnel(stream, tunnel);
        }
    }

    /// <summary>What the peer does when a stream gets on.</summary>
    private void Treat(Http2Exchange stream, int bytes)
    {
        if (stream.Treatment == StreamTreatment.Cancelled && World.Random.Chance(200))
        {
            Cancel(stream);
        }
        else if (stream.Treatment == StreamTreatment.Stalled)
        {
            if (stream.StalledAtMs == World.NowMs)
            {
                KickIn((int)((2 * World.Shape.Limits.WriteStall.TotalMilliseconds) + World.Shape.SlackMs));
            }
        }
        else if (bytes > 0)
        {
            OpenStream(stream, bytes);
        }
    }

    private Http2Exchange? Find(Frame frame)
    {
        int index = (frame.StreamId - 1) / 2;
        Http2Exchange? stream = (frame.StreamId & 1) == 1 && index < _streams.Count ? _streams[index] : null;
        if (stream is null || (stream.IsOver && !stream.IsCancelled))
        {
            Fail($"{frame.Type} came for stream {frame.StreamId}, where nothing is to come.");
        }

        return stream is { IsCancelled: true } ? null : stream;
    }

    private void FailStream(Http2Exchange stream, string what) => Fail(string.Create(
        CultureInfo.InvariantCulture,
        $"Stream {stream.StreamId} {what}\n  to: {Encoding.Latin1.GetString(stream.Exchange.Request).ReplaceLineEndings("|")}"));

    /// <summary>Names as HTTP/1.1 has them here, for the lines that answers are known by.</summary>
    private static string AsHttp1(string line)
    {
        int colon = line.IndexOf(':', StringComparison.Ordinal);
        string[] words = line[..colon].Split('-');
        string name = string.Join('-', words.Select(static word => char.ToUpperInvariant(word[0]) + word[1..]));
        return (name == "Etag" ? "ETag" : name) + line[colon..];
    }
}
