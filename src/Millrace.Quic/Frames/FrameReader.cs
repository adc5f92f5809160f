using Millrace.Quic.Packets;
using Millrace.Quic.Recovery;

namespace Millrace.Quic.Frames;

/// <summary>
/// Reads the frames of one packet's plain payload, one at a time, with all checks that need no state of the connection (RFC 9000, sections
/// 12.4, 12.5 and 19). An error closes the connection; nothing can be read after it.
/// </summary>
internal ref struct FrameReader
{
    private const long StreamsMaximum = 1L << 60;
    private const int PathDataLength = 8;

    private readonly ReadOnlySpan<byte> _payload;
    private readonly PacketKind _kind;
    private readonly bool _isServer;
    private int _offset;

    /// <param name="payload">What was opened; valid as long as the frames are used.</param>
    /// <param name="kind">The kind of the packet.</param>
    /// <param name="isServer">Whether this end is the server: some frames only servers send.</param>
    public FrameReader(ReadOnlySpan<byte> payload, PacketKind kind, bool isServer)
    {
        _payload = payload;
        _kind = kind;
        _isServer = isServer;
    }

    private readonly ReadOnlySpan<byte> Rest => _payload[_offset..];

    /// <summary>The next frame. False at the end of the payload, and with an error.</summary>
    public bool TryRead(out Frame frame, out QuicError? error)
    {
        frame = default;
        error = null;
        if (_payload.IsEmpty)
        {
            error = new QuicError(TransportErrorCode.ProtocolViolation, "A packet without frames");
            return false;
        }

        if (_offset == _payload.Length)
        {
            return false;
        }

        Frame read = default;
        error = ReadType(ref read);
        if (error is null && !TryReadFields(ref read))
        {
            error = new QuicError(TransportErrorCode.FrameEncodingError, "A field is not valid, or missing", (FrameType)read.EncodedType);
        }

        if (error is not null)
        {
            _offset = _payload.Length;
            return false;
        }

        frame = read;
        return true;
    }

    private QuicError? ReadType(ref Frame frame)
    {
        if (!VariableLengthInteger.TryRead(Rest, out long type, out int count))
        {
            return new QuicError(TransportErrorCode.FrameEncodingError, "The payload ends within a frame type");
        }

        frame.EncodedType = type;
        frame.Type = type switch
        {
            >= (long)FrameType.Stream and <= FrameTypes.StreamLast => FrameType.Stream,
            (long)FrameType.AckEcn => FrameType.Ack,
            _ => (FrameType)type,
        };
        _offset += count;
        if (type > (long)FrameType.HandshakeDone)
        {
            return new QuicError(TransportErrorCode.FrameEncodingError, "An unknown frame type", (FrameType)type);
        }

        if (count != 1)
        {
            return new QuicError(TransportErrorCode.ProtocolViolation, "A frame type is not in its shortest form", (FrameType)type);
        }

        if (!FrameTypes.IsAllowed(frame.Type, _kind))
        {
            return new QuicError(TransportErrorCode.ProtocolViolation, "The packet may not have this frame", (FrameType)type);
        }

        return _isServer && frame.Type is FrameType.NewToken or FrameType.HandshakeDone
            ? new QuicError(TransportErrorCode.ProtocolViolation, "A client may not send this frame", (FrameType)type)
            : null;
    }

    private bool TryReadFields(ref Frame frame)
    {
        switch (frame.Type)
        {
            case FrameType.Padding:
                return ReadPadding(ref frame);
            case FrameType.Ping or FrameType.HandshakeDone:
                return true;
            case FrameType.Ack:
                return TryReadAck(ref frame);
            case FrameType.Crypto:
                return TryReadCrypto(ref frame);
            case FrameType.NewToken:
                return TryReadPrefixed(ref frame) && !frame.Data.IsEmpty;
            case FrameType.Stream:
                return TryReadStream(ref frame);
            case FrameType.NewConnectionId:
                return TryReadNewConnectionId(ref frame);
            case FrameType.PathChallenge or FrameType.PathResponse:
                return TryReadBytes(PathDataLength, out ReadOnlySpan<byte> data) && Set(ref frame, data);
            case FrameType.ConnectionClose or FrameType.ConnectionCloseApplication:
                return TryReadClose(ref frame);
            default:
                return TryReadNumbers(ref frame);
        }
    }

    /// <summary>The frames that consist of integers only.</summary>
    private bool TryReadNumbers(ref Frame frame)
    {
        long value;
        switch (frame.Type)
        {
            case FrameType.ResetStream or FrameType.StopSending:
                if (!TryReadNumber(out value) || !TryReadNumber(out long errorCode))
                {
                    return false;
                }

                frame.StreamId = value;
                frame.ErrorCode = errorCode;
                if (frame.Type == FrameType.StopSending)
                {
                    return true;
                }

                bool hasSize = TryReadNumber(out long finalSize);
                frame.FinalSize = finalSize;
                return hasSize;
            case FrameType.MaxStreamData or FrameType.StreamDataBlocked:
                if (!TryReadNumber(out value))
                {
                    return false;
                }

                frame.StreamId = value;
                break;
            case FrameType.RetireConnectionId:
                bool hasNumber = TryReadNumber(out value);
                frame.SequenceNumber = value;
                return hasNumber;
        }

        bool hasMaximum = TryReadNumber(out value);
        frame.Maximum = value;
        bool isOfStreams = frame.Type is FrameType.MaxStreamsBidirectional or FrameType.MaxStreamsUnidirectional
            or FrameType.StreamsBlockedBidirectional or FrameType.StreamsBlockedUnidirectional;
        return hasMaximum && (!isOfStreams || value <= StreamsMaximum);
    }

    private bool ReadPadding(ref Frame frame)
    {
        int others = Rest.IndexOfAnyExcept((byte)0);
        int length = others < 0 ? Rest.Length : others;
        _offset += length;
        frame.PaddingLength = length + 1;
        return true;
    }

    private bool TryReadAck(ref Frame frame)
    {
        if (!TryReadNumber(out long largest)
            || !TryReadNumber(out long delay)
            || !AckRanges.TryRead(Rest, largest, out AckRanges ranges, out int length))
        {
            return false;
        }

        _offset += length;
        frame.AckDelay = delay;
        frame.AckRanges = ranges;
        if (frame.EncodedType != (long)FrameType.AckEcn)
        {
            return true;
        }

        if (!TryReadNumber(out long ect0) || !TryReadNumber(out long ect1) || !TryReadNumber(out long ce))
        {
            return false;
        }

        frame.Ecn = new EcnCounts(ect0, ect1, ce);
        return true;
    }

    private bool TryReadCrypto(ref Frame frame)
    {
        if (!TryReadNumber(out long offset) || !TryReadPrefixed(ref frame))
        {
            return false;
        }

        frame.Offset = offset;
        return offset <= VariableLengthInteger.Max - frame.Data.Length;
    }

    private bool TryReadStream(ref Frame frame)
    {
        const long FinBit = 0x01;
        const long LengthBit = 0x02;
        const long OffsetBit = 0x04;
        long offset = 0;
        if (!TryReadNumber(out long streamId) || ((frame.EncodedType & OffsetBit) != 0 && !TryReadNumber(out offset)))
        {
            return false;
        }

        frame.StreamId = streamId;
        frame.Offset = offset;
        frame.Fin = (frame.EncodedType & FinBit) != 0;
        if ((frame.EncodedType & LengthBit) != 0)
        {
            if (!TryReadPrefixed(ref frame))
            {
                return false;
            }
        }
        else
        {
            frame.Data = Rest;
            _offset = _payload.Length;
        }

        return offset <= VariableLengthInteger.Max - frame.Data.Length;
    }

    private bool TryReadNewConnectionId(ref Frame frame)
    {
        if (!TryReadNumber(out long sequenceNumber) || !TryReadNumber(out long retirePriorTo) || retirePriorTo > sequenceNumber)
        {
            return false;
        }

        frame.SequenceNumber = sequenceNumber;
        frame.RetirePriorTo = retirePriorTo;
        if (!TryReadBytes(1, out ReadOnlySpan<byte> length)
            || length[0] is 0 or > ConnectionId.MaximumLength
            || !TryReadBytes(length[0], out ReadOnlySpan<byte> id)
            || !TryReadBytes(StatelessReset.TokenLength, out ReadOnlySpan<byte> token))
        {
            return false;
        }

        frame.Data = id;
        frame.ResetToken = token;
        return true;
    }

    private bool TryReadClose(ref Frame frame)
    {
        long cause = 0;
        if (!TryReadNumber(out long errorCode) || (frame.Type == FrameType.ConnectionClose && !TryReadNumber(out cause)))
        {
            return false;
        }

        frame.ErrorCode = errorCode;
        frame.CauseFrameType = cause;
        return TryReadPrefixed(ref frame);
    }

    /// <summary>A length and as many bytes.</summary>
    private bool TryReadPrefixed(ref Frame frame)
        => TryReadNumber(out long length) && TryReadBytes(length, out ReadOnlySpan<byte> data) && Set(ref frame, data);

    private static bool Set(ref Frame frame, ReadOnlySpan<byte> data)
    {
        frame.Data = data;
        return true;
    }

    private bool TryReadNumber(out long value)
    {
        bool isThere = VariableLengthInteger.TryRead(Rest, out value, out int count);
        _offset += count;
        return isThere;
    }

    private bool TryReadBytes(long length, out ReadOnlySpan<byte> bytes)
    {
        if (length > _payload.Length - _offset)
        {
            bytes = default;
            return false;
        }

        bytes = _payload.Slice(_offset, (int)length);
        _offset += (int)length;
        return true;
    }
}
