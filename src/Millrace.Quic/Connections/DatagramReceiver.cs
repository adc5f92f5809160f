using System.Buffers.Binary;
using Millrace.Quic.Packets;
using Millrace.Quic.Protection;
using Millrace.Quic.Recovery;

namespace Millrace.Quic.Connections;

/// <summary>
/// Takes the datagrams of one connection: splits them into packets, opens these, and has their frames processed (RFC 9000, sections 5.2 and
/// 12). What is not authentic is dropped without a trace, but for the counts of RFC 9001, section 6.6.
/// </summary>
internal sealed class DatagramReceiver(QuicConnection connection, FrameReceiver frames, ClientNegotiation? negotiation)
{
    private long _unopened;

    /// <summary>A packet of this connection was opened at some time.</summary>
    public bool HasOpened { get; private set; }

    public void Receive(Span<byte> datagram, in PathAddress remote, in PathAddress local, EcnMark ecn, long now)
    {
        NetworkPath? path = connection.Paths.Find(local, remote);
        if (path is null && !connection.IsServer)
        {
            // A client knows its own addresses and the server's (RFC 9000, section 9).
            return;
        }

        path?.OnReceived(datagram.Length, now);
        connection.UpdateAmplification();
        ReceivedDatagram received = new() { Remote = remote, Local = local, Ecn = ecn, Now = now, Length = datagram.Length, Path = path };
        bool isOpened = false;
        ConnectionId first = default;
        for (int offset = 0; offset < datagram.Length && connection.CanReceive;)
        {
            Span<byte> rest = datagram[offset..];
            if (!PacketHeader.TryParse(rest, connection.LocalIds.First.Length, out PacketHeader header)
                || header.DestinationId.Length > ConnectionId.MaximumLength)
            {
                break;
            }

            ConnectionId destination = new(header.DestinationId);
            if (offset == 0)
            {
                first = destination;
            }
            else if (destination != first)
            {
                break;
            }

            if (header.IsProtected)
            {
                isOpened |= TryProcess(rest, header, destination, ref received);
            }
            else if (offset == 0 && !HasOpened)
            {
                negotiation?.Receive(rest, header, now);
            }

            offset += header.PacketLength;
        }

        HasOpened |= isOpened;
        if (!isOpened && connection.CanReceive && IsStatelessReset(datagram))
        {
            connection.OnStatelessReset(now);
        }
    }

    /// <summary>Of a datagram that did not open: whether the peer has lost its state (RFC 9000, section 10.3.1).</summary>
    public bool IsStatelessReset(ReadOnlySpan<byte> datagram) => datagram.Length >= StatelessReset.MinimumLength
        && connection.PeerIds.IsResetToken(BinaryPrimitives.ReadUInt128BigEndian(datagram[^StatelessReset.TokenLength..]));

    /// <summary>True: the packet was authentic.</summary>
    private bool TryProcess(Span<byte> packet, in PacketHeader header, in ConnectionId destination, ref ReceivedDatagram received)
    {
        if (header.Kind == PacketKind.ZeroRtt || (header.IsLong && header.Version != connection.Version))
        {
            return false;
        }

        received.DestinationSequence = connection.LocalIds.Find(destination);
        bool isFirstId = connection.IsServer && header.Kind == PacketKind.Initial && destination == connection.InitialDestinationId;
        if ((received.DestinationSequence < 0 && !isFirstId) || !IsAcceptable(header, received))
        {
            return false;
        }

        // Before the handshake is complete 1-RTT packets are dropped, also if there are keys for them (RFC 9001, section 5.7).
        NumberSpace space = connection.SpaceOf(header.Kind);
        PacketProtector? protector = header.Kind == PacketKind.OneRtt
            ? (connection.Handshake.IsComplete && connection.Keys.CanReceive ? connection.Keys.Header : null)
            : space.Receiving;
        if (protector is null
            || !PacketOpener.TryUnprotect(packet, header, protector, space.Received.Largest, out PacketOpener opener))
        {
            return false;
        }

        KeyGeneration generation = KeyGeneration.Current;
        if (header.Kind == PacketKind.OneRtt)
        {
            generation = connection.Keys.Choose(opener.KeyPhase, opener.Number);
            protector = connection.Keys.Receiving(generation);
        }

        if (protector is null || !opener.TryOpen(protector, out ReadOnlySpan<byte> payload))
        {
            OnUnopened(protector, received.Now);
            return false;
        }

        // Only now: a packet that was received before takes as much time as another (RFC 9001, section 9.5).
        if (!space.Received.IsDuplicate(opener.Number))
        {
            OnOpened(space, header, opener, generation, payload, ref received);
        }

        return true;
    }

    /// <summary>Rules about a packet that its header and its datagram decide.</summary>
    private bool IsAcceptable(in PacketHeader header, in ReceivedDatagram received)
    {
        if (connection.IsServer)
        {
            // A small datagram could be meant to have this end send more than it receives (RFC 9000, section 14.1).
            return (header.Kind != PacketKind.Initial || received.Length >= PathMtu.BaseSize)
                && (!header.IsLong || connection.PeerFirstId == new ConnectionId(header.SourceId))
                && (received.Path is not null || (header.Kind == PacketKind.OneRtt && connection.Handshake.IsConfirmed));
        }

        if (header.Kind == PacketKind.Initial && !header.Token.IsEmpty)
        {
            // Tokens are the client's to send (RFC 9000, section 17.2.2).
            return false;
        }

        // After the server's first packet its id does not change (RFC 9000, section 7.2).
        return !header.IsLong || connection.PeerFirstId is not { } id || id == new ConnectionId(header.SourceId);
    }

    private void OnUnopened(PacketProtector? protector, long now)
    {
        if (protector is not null && ++_unopened >= protector.IntegrityLimit)
        {
            connection.Fail(new QuicError(TransportErrorCode.AeadLimitReached, "Too many packets could not be opened"), now);
        }
    }

    private void OnOpened(
        NumberSpace space, in PacketHeader header, in PacketOpener opener, KeyGeneration generation, ReadOnlySpan<byte> payload,
        ref ReceivedDatagram received)
    {
        if (opener.HasReservedBits)
        {
            connection.Fail(new QuicError(TransportErrorCode.ProtocolViolation, "Reserved bits are set"), received.Now);
            return;
        }

        if (header.Kind == PacketKind.OneRtt
            && !connection.Keys.TryAccept(generation, opener.Number, connection.ProbeTimeout, received.Now))
        {
            connection.Fail(new QuicError(TransportErrorCode.KeyUpdateError, "Keys were updated again too soon"), received.Now);
            return;
        }

        if (header.IsLong && connection.PeerFirstId is null)
        {
            connection.SetPeerId(new ConnectionId(header.SourceId));
        }

        if (header.Kind == PacketKind.Handshake && connection.IsServer)
        {
            // The client has read what was sent to its address (RFC 9000, section 8.1; RFC 9001, section 4.9.1).
            connection.OnAddressValidated(received.Now);
        }

        received.Path ??= connection.AddPath(received);
        if (received.Path is null)
        {
            return;
        }

        received.Path.LocalIdSequence = received.DestinationSequence;
        connection.Trace?.OnPacketReceived(header.Kind, opener.Number, header.PacketLength, payload, received.Now);
        bool isLargest = opener.Number > space.Received.Largest;
        connection.Idle.OnReceived(received.Now);
        if (!frames.TryReceive(space, payload, received, out PacketTraits traits))
        {
            return;
        }

        if (!space.IsDiscarded)
        {
            space.Received.OnReceived(opener.Number, traits.IsAckEliciting, received.Ecn, received.Now);
        }

        if (isLargest && !traits.IsProbing && received.Path != connection.Paths.Active && header.Kind == PacketKind.OneRtt)
        {
            connection.OnPeerMigrated(received.Path, received.Now);
        }
    }
}

/// <summary>One received datagram, as its packets see it.</summary>
internal struct ReceivedDatagram
{
    public PathAddress Remote;
    public PathAddress Local;
    public EcnMark Ecn;
    public long Now;
    public int Length;

    /// <summary>Null: from an address that is not known yet.</summary>
    public NetworkPath? Path;

    /// <summary>The sequence number of this end's id that the packet was sent to.</summary>
    public long DestinationSequence;
}

/// <summary>What the frames of a packet were, together.</summary>
internal readonly record struct PacketTraits(bool IsAckEliciting, bool IsProbing);
