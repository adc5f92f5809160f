using System.Buffers.Binary;
using Millrace.Quic.Frames;
using Millrace.Quic.Packets;
using Millrace.Quic.Recovery;

namespace Millrace.Quic.Connections;

/// <summary>
/// Takes the frames of opened packets to the members that they concern. Errors close the connection; what costs this end more than the peer
/// is counted against its budget.
/// </summary>
internal sealed class FrameReceiver(QuicConnection connection, ControlFrameBudget budget)
{
    /// <summary>Frames that make this end send something back, or change a table.</summary>
    private const int CostOfWork = 4;

    /// <summary>ACK ranges that a frame may have without being counted.</summary>
    private const int FreeRanges = 64;

    /// <summary>False: the connection is over.</summary>
    public bool TryReceive(NumberSpace space, ReadOnlySpan<byte> payload, in ReceivedDatagram received, out PacketTraits traits)
    {
        var reader = new FrameReader(payload, space.Kind, connection.IsServer);
        bool isAckEliciting = false;
        bool isProbing = true;
        int acks = 0;
        QuicError? error;
        while (reader.TryRead(out Frame frame, out error))
        {
            isAckEliciting |= frame.IsAckEliciting;
            isProbing &= frame.IsProbing;
            error = Receive(space, frame, received);
            if (error is null && !budget.TryTake(CostOf(frame) + (frame.Type == FrameType.Ack && acks++ > 0 ? 1 : 0), received.Now))
            {
                error = new QuicError(TransportErrorCode.ProtocolViolation, "Too many frames without data", (FrameType)frame.EncodedType);
            }

            if (error is not null)
            {
                connection.Fail(error, received.Now);
            }

            if (!connection.CanReceive)
            {
                traits = default;
                return false;
            }
        }

        if (error is not null)
        {
            connection.Fail(error, received.Now);
        }

        traits = new PacketTraits(isAckEliciting, isProbing);
        return connection.CanReceive;
    }

    private QuicError? Receive(NumberSpace space, in Frame frame, in ReceivedDatagram received)
    {
        switch (frame.Type)
        {
            case FrameType.Padding or FrameType.Ping:
                return null;
            case FrameType.Ack:
                return ReceiveAck(space, frame, received.Now);
            case FrameType.Crypto:
                return connection.Handshake.OnCrypto(space, frame.Offset, frame.Data, received.Now);
            case FrameType.NewToken:
                connection.OnNewToken(frame.Data);
                return null;
            case FrameType.NewConnectionId:
                return ReceiveNewConnectionId(frame);
            case FrameType.RetireConnectionId:
                return connection.LocalIds.TryRetire(frame.SequenceNumber, received.DestinationSequence)
                    ? null
                    : new QuicError(TransportErrorCode.ProtocolViolation, "A connection id cannot be retired", frame.Type);
            case FrameType.PathChallenge:
                received.Path!.Challenges.AddResponse(BinaryPrimitives.ReadUInt64BigEndian(frame.Data));
                return null;
            case FrameType.PathResponse:
                connection.OnPathResponse(BinaryPrimitives.ReadUInt64BigEndian(frame.Data), received.Now);
                return null;
            case FrameType.ConnectionClose or FrameType.ConnectionCloseApplication:
                connection.OnPeerClosed(frame, received.Now);
                return null;
            case FrameType.HandshakeDone:
                connection.Handshake.Confirm(received.Now);
                return null;
            default:
                return ReceiveOfStreams(frame);
        }
    }

    private QuicError? ReceiveOfStreams(in Frame frame)
    {
        switch (frame.Type)
        {
            case FrameType.Stream:
                return connection.Streams.OnStream(frame.StreamId, frame.Offset, frame.Data, frame.Fin);
            case FrameType.ResetStream:
                return connection.Streams.OnResetStream(frame.StreamId, frame.ErrorCode, frame.FinalSize);
            case FrameType.StopSending:
                return connection.Streams.OnStopSending(frame.StreamId, frame.ErrorCode);
            case FrameType.MaxData:
                connection.Streams.OnMaxData(frame.Maximum);
                return null;
            case FrameType.MaxStreamData:
                return connection.Streams.OnMaxStreamData(frame.StreamId, frame.Maximum);
            case FrameType.MaxStreamsBidirectional or FrameType.MaxStreamsUnidirectional:
                connection.Streams.OnMaxStreams(frame.IsBidirectional, frame.Maximum);
                return null;
            case FrameType.StreamDataBlocked:
                return connection.Streams.OnStreamDataBlocked(frame.StreamId);
            default:
                // DATA_BLOCKED and STREAMS_BLOCKED ask for nothing: limits rise as data is consumed and streams end.
                return null;
        }
    }

    private QuicError? ReceiveAck(NumberSpace space, in Frame frame, long now)
    {
        AckFrameRanges ranges = new(frame.AckRanges);
        EcnCounts? counts = frame.Ecn;
        int exponent = connection.Handshake.PeerParameters?.AckDelayExponent ?? 3;
        long delay = frame.AckDelay > (long.MaxValue >> 42) ? long.MaxValue >> 10 : (frame.AckDelay << exponent) * QuicClock.Microsecond;
        AckResult result = connection.Recovery.OnAckReceived(
            space.Id, frame.AckRanges.LargestAcknowledged, ref ranges, delay, counts, now);
        if (result != AckResult.Valid)
        {
            return new QuicError(TransportErrorCode.ProtocolViolation, "A packet is acknowledged that was not sent", FrameType.Ack);
        }

        connection.OnAcknowledged(space.Id);
        return null;
    }

    private QuicError? ReceiveNewConnectionId(in Frame frame)
    {
        UInt128 token = BinaryPrimitives.ReadUInt128BigEndian(frame.ResetToken);
        return connection.PeerIds.OnNewConnectionId(frame.SequenceNumber, frame.RetirePriorTo, new ConnectionId(frame.Data), token) switch
        {
            PeerIdResult.Accepted => null,
            PeerIdResult.Contradiction => new QuicError(
                TransportErrorCode.ProtocolViolation, "A connection id contradicts an earlier one", FrameType.NewConnectionId),
            _ => new QuicError(TransportErrorCode.ConnectionIdLimitError, "Too many connection ids", FrameType.NewConnectionId),
        };
    }

    private static int CostOf(in Frame frame) => frame.Type switch
    {
        FrameType.Padding or FrameType.HandshakeDone or FrameType.ConnectionClose or FrameType.ConnectionCloseApplication => 0,
        FrameType.Crypto => frame.Data.IsEmpty ? 1 : 0,
        FrameType.Stream => frame.Data.IsEmpty && !frame.Fin ? 1 : 0,
        FrameType.Ack => (int)Math.Min(frame.AckRanges.Count / FreeRanges, ControlFrameBudget.Capacity),
        FrameType.PathChallenge or FrameType.NewConnectionId or FrameType.RetireConnectionId => CostOfWork,
        _ => 1,
    };

    /// <summary>The ranges of a frame, as recovery reads them.</summary>
    private ref struct AckFrameRanges(AckRanges ranges) : IAckRanges
    {
        private AckRanges.Enumerator _enumerator = ranges.GetEnumerator();

        public bool TryRead(out PacketRange range)
        {
            bool isThere = _enumerator.MoveNext();
            range = isThere ? new PacketRange(_enumerator.Current.Smallest, _enumerator.Current.Largest) : default;
            return isThere;
        }
    }
}
