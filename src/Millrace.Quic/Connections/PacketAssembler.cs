using System.Buffers.Binary;
using Millrace.Quic.Frames;
using Millrace.Quic.Packets;
using Millrace.Quic.Parameters;
using Millrace.Quic.Protection;
using Millrace.Quic.Recovery;

namespace Millrace.Quic.Connections;

/// <summary>
/// Writes the packets of one datagram: chooses frames for each number space, pads, seals, and reports what was sent to recovery. Whether
/// and where to send is <see cref="DatagramSender"/>'s decision.
/// </summary>
internal sealed class PacketAssembler(QuicConnection connection)
{
    /// <summary>Who only acknowledges asks for an acknowledgement after so many packets (RFC 9000, section 13.2.4).</summary>
    private const int AcksPerPing = 20;

    private SentFrameList _frames = new();
    private SentFrameList _heldFrames = new();

    /// <summary>
    /// Whether a packet of the space is to be sent now. <paramref name="mayCarryData"/>: the window and the pacer allow it.
    /// </summary>
    public bool IsDue(NumberSpace space, bool mayCarryData, long now) => HasKeys(space)
        && (space.Received.IsAckDue(now)
            || connection.Recovery.ProbesPending(space.Id) > 0
            || (mayCarryData && HasFrames(space)));

    /// <summary>Frames wait that count against the window.</summary>
    public bool HasFrames(NumberSpace space)
    {
        if (space.Id != PacketSpace.Application)
        {
            return space.Crypto.HasFrames && HasKeys(space);
        }

        return HasKeys(space) && connection.Handshake.IsComplete
            && (space.Crypto.HasFrames || connection.Pending.HasAny || connection.LocalIds.HasPending || connection.PeerIds.HasPending
                || connection.Streams.HasFrames);
    }

    /// <summary>Writes one datagram with what is due, coalesced. Returns its length; 0: nothing is due, or it does not fit.</summary>
    public int WriteDatagram(Span<byte> buffer, NetworkPath path, bool mayCarryData, EcnMark ecn, long now)
    {
        OpenPacket held = default;
        int offset = 0;
        bool isPadded = false;
        foreach (NumberSpace space in connection.Spaces)
        {
            // What the window holds back may be what the peer needs to acknowledge what fills it: a lost ServerHello or Finished. With
            // nothing in flight in its space, no probe timeout would send it.
            bool mayCarry = mayCarryData || (space.Id != PacketSpace.Application && connection.Recovery[space.Id].AckElicitingCount == 0);
            if (!IsDue(space, mayCarry, now))
            {
                continue;
            }

            if (space.Id == PacketSpace.Initial && buffer.Length < PathMtu.BaseSize)
            {
                // It could not be padded (RFC 9000, section 14.1): the path has to be validated before.
                continue;
            }

            // The packet before is sealed when the next one has begun, since the last one takes the padding.
            int start = offset + held.Length;
            _frames.Clear();
            if (!TryWrite(space, buffer[start..], path, mayCarry, now, out OpenPacket packet))
            {
                continue;
            }

            isPadded |= space.Id == PacketSpace.Initial && (!connection.IsServer || packet.IsAckEliciting);
            if (held.Space is not null)
            {
                offset += Seal(held, _heldFrames, path, 0, ecn, now);
            }

            held = packet;
            (_frames, _heldFrames) = (_heldFrames, _frames);
        }

        return held.Space is null ? offset : offset + Seal(held, _heldFrames, path, isPadded ? buffer.Length - offset : 0, ecn, now);
    }

    /// <summary>A datagram that validates a path, and answers the peer's challenge on it (RFC 9000, section 8.2).</summary>
    public int WritePathProbe(Span<byte> buffer, NetworkPath path, long now)
    {
        NumberSpace space = connection.SpaceOf(PacketKind.OneRtt);
        if (!TryBegin(space, buffer, path, out PacketWriter writer))
        {
            return 0;
        }

        var frames = new FrameWriter(writer.Frames);
        Span<byte> data = stackalloc byte[sizeof(ulong)];
        bool isExpanded = buffer.Length >= PathMtu.BaseSize;
        if (path.Challenges.HasResponse)
        {
            BinaryPrimitives.WriteUInt64BigEndian(data, path.Challenges.FirstResponse);
            if (frames.TryWritePathResponse(data))
            {
                path.Challenges.RemoveResponse();
            }
        }

        if (path.Challenges.IsChallengeDue(now))
        {
            connection.Context.Cryptography.FillRandom(data);
            if (frames.TryWritePathChallenge(data))
            {
                path.Challenges.OnChallengeSent(BinaryPrimitives.ReadUInt64BigEndian(data), isExpanded, now);
            }
        }

        OpenPacket packet = new() { Space = space, Writer = writer, FramesLength = frames.Length, IsAckEliciting = true };
        _frames.Clear();
        return frames.Length == 0 ? 0 : Seal(packet, _frames, path, isExpanded ? PathMtu.BaseSize : 0, EcnMark.NotEct, now);
    }

    /// <summary>
    /// A datagram of <paramref name="buffer"/>'s length that finds out whether the path carries it (RFC 9000, section 14.4).
    /// </summary>
    public int WriteMtuProbe(Span<byte> buffer, NetworkPath path, EcnMark ecn, long now)
    {
        NumberSpace space = connection.SpaceOf(PacketKind.OneRtt);
        if (!TryBegin(space, buffer, path, out PacketWriter writer))
        {
            return 0;
        }

        var frames = new FrameWriter(writer.Frames);
        frames.TryWritePing();
        _frames.Clear();
        OpenPacket packet = new() { Space = space, Writer = writer, FramesLength = frames.Length, IsAckEliciting = true };
        packet.IsMtuProbe = true;
        return Seal(packet, _frames, path, buffer.Length, ecn, now);
    }

    /// <summary>CONNECTION_CLOSE in a packet of each level that the peer may be able to open (RFC 9000, section 10.2.3).</summary>
    public int WriteClose(Span<byte> buffer, NetworkPath path, QuicError error, long now)
    {
        int offset = 0;
        foreach (NumberSpace space in connection.Spaces)
        {
            if (!HasKeys(space) || !TryBegin(space, buffer[offset..], path, out PacketWriter writer))
            {
                continue;
            }

            var frames = new FrameWriter(writer.Frames);
            if (frames.TryWriteConnectionClose(error, space.Kind))
            {
                _frames.Clear();
                OpenPacket packet = new() { Space = space, Writer = writer, FramesLength = frames.Length };
                bool isLast = space.Id == PacketSpace.Application || !HasKeysAfter(space);
                bool isPadded = isLast && !connection.IsServer && !connection.SpaceOf(PacketKind.Initial).IsDiscarded;
                offset += Seal(packet, _frames, path, isPadded ? buffer.Length - offset : 0, EcnMark.NotEct, now);
            }
        }

        return offset;
    }

    private bool HasKeysAfter(NumberSpace space)
    {
        bool hasKeys = false;
        foreach (NumberSpace other in connection.Spaces)
        {
            hasKeys |= other.Id > space.Id && HasKeys(other);
        }

        return hasKeys;
    }

    private bool HasKeys(NumberSpace space) => space.Id == PacketSpace.Application ? connection.Keys.CanSend : space.Sending is not null;

    private bool TryWrite(
        NumberSpace space, Span<byte> buffer, NetworkPath path, bool mayCarryData, long now, out OpenPacket packet)
    {
        packet = default;
        if (!TryBegin(space, buffer, path, out PacketWriter writer))
        {
            return false;
        }

        var frames = new FrameWriter(writer.Frames);
        if (space.Received.HasUnreported)
        {
            WriteAck(space, ref frames, now);
        }

        int before = frames.Length;
        bool isProbe = connection.Recovery.ProbesPending(space.Id) > 0;
        if (mayCarryData || isProbe)
        {
            WriteControl(space, ref frames, path, now);
            space.Crypto.WriteFrames(ref frames, _frames);
            if (space.Id == PacketSpace.Application)
            {
                connection.Streams.WriteFrames(ref frames, _frames, now);
            }
        }

        bool wantsPing = isProbe || (mayCarryData && connection.Recovery[space.Id].NotElicitingSince >= AcksPerPing);
        if (frames.Length == before && wantsPing)
        {
            frames.TryWritePing();
        }

        packet = new OpenPacket { Space = space, Writer = writer, FramesLength = frames.Length, IsAckEliciting = frames.Length > before };
        return frames.Length > 0;
    }

    private void WriteAck(NumberSpace space, ref FrameWriter frames, long now)
    {
        ReceivedPackets received = space.Received;
        long delay = space.Id == PacketSpace.Application
            ? (received.AckDelay(now) / QuicClock.Microsecond) >> TransportParameters.DefaultAckDelayExponent
            : 0;
        EcnCounts ecn = received.Ecn;
        if (frames.TryWriteAck(received.Ranges, delay, ecn))
        {
            received.OnAckSent();
            _frames.Add(SentFrame.Ack(space.Id, received.Largest));
        }
    }

    private void WriteControl(NumberSpace space, ref FrameWriter frames, NetworkPath path, long now)
    {
        if (space.Id != PacketSpace.Application)
        {
            return;
        }

        PendingFrames pending = connection.Pending;
        if (pending.HandshakeDone && frames.TryWriteHandshakeDone())
        {
            pending.HandshakeDone = false;
            _frames.Add(SentFrame.Control(SentFrameKind.HandshakeDone));
        }

        if (pending.NewToken)
        {
            Span<byte> token = stackalloc byte[AddressTokens.MaximumLength];
            int length = connection.Context.Tokens.WriteNewToken(path.Remote, now, token);
            if (frames.TryWriteNewToken(token[..length]))
            {
                pending.NewToken = false;
                _frames.Add(SentFrame.Control(SentFrameKind.NewToken));
            }
        }

        WriteConnectionIds(ref frames);
        if (pending.Ping && frames.TryWritePing())
        {
            pending.Ping = false;
        }
    }

    private void WriteConnectionIds(ref FrameWriter frames)
    {
        Span<byte> reset = stackalloc byte[StatelessReset.TokenLength];
        while (connection.LocalIds.TryTakePending(out long sequence, out ConnectionId id, out UInt128 token))
        {
            BinaryPrimitives.WriteUInt128BigEndian(reset, token);
            if (!frames.TryWriteNewConnectionId(sequence, 0, id, reset))
            {
                connection.LocalIds.OnLost(sequence);
                break;
            }

            _frames.Add(SentFrame.Control(SentFrameKind.NewConnectionId, sequence));
        }

        while (connection.PeerIds.TryTakePending(out long sequence))
        {
            if (!frames.TryWriteRetireConnectionId(sequence))
            {
                connection.PeerIds.OnRetireLost(sequence);
                break;
            }

            _frames.Add(SentFrame.Control(SentFrameKind.RetireConnectionId, sequence));
        }
    }

    private bool TryBegin(NumberSpace space, Span<byte> buffer, NetworkPath path, out PacketWriter writer)
    {
        writer = default;
        SentPackets sent = connection.Recovery[space.Id];
        long number = sent.NextNumber;
        int numberLength = PacketNumbers.Length(number, sent.LargestAcknowledged);
        if (!connection.PeerIds.TryGet(path.PeerIdSequence, out ConnectionId destination))
        {
            return false;
        }

        if (space.Id == PacketSpace.Application)
        {
            return PacketWriter.TryBeginShort(
                buffer, destination, spin: false, connection.Keys.Phase, number, numberLength, out writer);
        }

        ReadOnlySpan<byte> token = space.Id == PacketSpace.Initial ? connection.Token : default;
        ConnectionId source = connection.LocalIds.First;
        return PacketWriter.TryBeginLong(
            buffer, space.Kind, connection.Version, destination, source, token, number, numberLength, out writer);
    }

    private int Seal(in OpenPacket packet, SentFrameList frames, NetworkPath path, int padTo, EcnMark ecn, long now)
    {
        NumberSpace space = packet.Space!;
        PacketProtector protector = space.Id == PacketSpace.Application ? connection.Keys.Sending : space.Sending!;
        if (space.Id == PacketSpace.Application)
        {
            connection.Keys.OnSending(packet.Writer.Number);
        }

        if (connection.Trace is { } trace)
        {
            frames.Pieces.CopyTo(packet.Writer.Frames);
            frames.Pieces.Clear();
            trace.OnPacketSent(
                space.Kind, packet.Writer.Number, Math.Max(padTo, packet.Length), packet.Writer.Frames[..packet.FramesLength], now);
        }

        int size = packet.Writer.Finish(protector, packet.FramesLength, padTo, frames.Pieces);
        bool isInFlight = packet.IsAckEliciting || padTo > packet.Length;
        SentPacket sent = new()
        {
            Number = packet.Writer.Number,
            TimeSent = now,
            Size = size,
            Traits = (packet.IsAckEliciting ? SentPacketTraits.AckEliciting : SentPacketTraits.None)
                | (isInFlight ? SentPacketTraits.InFlight : SentPacketTraits.None)
                | (packet.IsMtuProbe ? SentPacketTraits.MtuProbe : SentPacketTraits.None),
            Ecn = ecn,
            Path = path.Id,
        };
        connection.Recovery.OnPacketSent(space.Id, sent, frames);
        if (packet.IsAckEliciting)
        {
            connection.Idle.OnAckElicitingSent(now);
        }

        return size;
    }

    /// <summary>A packet whose frames are written and that is not sealed yet.</summary>
    private ref struct OpenPacket
    {
        public NumberSpace? Space { get; set; }

        public PacketWriter Writer { get; set; }

        public int FramesLength { get; set; }

        public bool IsAckEliciting { get; set; }

        public bool IsMtuProbe { get; set; }

        /// <summary>Of the packet without padding.</summary>
        public readonly int Length => Space is null ? 0 : Writer.LengthOf(FramesLength);
    }
}

/// <summary>Frames of a kind and nothing more that wait to be sent.</summary>
internal sealed class PendingFrames
{
    public bool HandshakeDone { get; set; }

    public bool NewToken { get; set; }

    public bool Ping { get; set; }

    public bool HasAny => HandshakeDone || NewToken || Ping;
}
