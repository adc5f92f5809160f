using Millrace.Quic.Recovery;

namespace Millrace.Quic.Frames;

/// <summary>
/// One frame as <see cref="FrameReader"/> has read and checked it. <see cref="Type"/> says which of the other members it has. Its spans are
/// views of the packet's payload.
/// </summary>
internal ref struct Frame
{
    /// <summary>Without flags: Stream for 0x08 to 0x0f, Ack for 0x02 and 0x03.</summary>
    public FrameType Type { get; set; }

    /// <summary>Of ResetStream, StopSending, Stream, MaxStreamData, StreamDataBlocked.</summary>
    public long StreamId { get; set; }

    /// <summary>Where <see cref="Data"/> begins in the stream; of Stream, Crypto. It and the end of the data are within 62 bits.</summary>
    public long Offset { get; set; }

    /// <summary>Whether a Stream frame ends its stream.</summary>
    public bool Fin { get; set; }

    /// <summary>Of ResetStream, StopSending, ConnectionClose, ConnectionCloseApplication.</summary>
    public long ErrorCode { get; set; }

    /// <summary>Of ResetStream.</summary>
    public long FinalSize { get; set; }

    /// <summary>The limit; of MaxData, MaxStreamData, MaxStreams…, DataBlocked, StreamDataBlocked, StreamsBlocked….</summary>
    public long Maximum { get; set; }

    /// <summary>Of NewConnectionId, RetireConnectionId.</summary>
    public long SequenceNumber { get; set; }

    /// <summary>Of NewConnectionId; not above <see cref="SequenceNumber"/>.</summary>
    public long RetirePriorTo { get; set; }

    /// <summary>The type that caused a ConnectionClose, as the peer says.</summary>
    public long CauseFrameType { get; set; }

    /// <summary>
    /// Data of Stream and Crypto; the token of NewToken; the id of NewConnectionId, 1 to 20 bytes; the 8 bytes of PathChallenge and
    /// PathResponse; the reason of ConnectionClose….
    /// </summary>
    public ReadOnlySpan<byte> Data { get; set; }

    /// <summary>The 16 bytes of a NewConnectionId frame.</summary>
    public ReadOnlySpan<byte> ResetToken { get; set; }

    /// <summary>The acknowledged ranges of an Ack frame, from the largest number down.</summary>
    public AckRanges AckRanges { get; set; }

    /// <summary>Of Ack, as encoded: microseconds are this value times 2 to the peer's ack_delay_exponent.</summary>
    public long AckDelay { get; set; }

    /// <summary>Of Ack; null: the frame has no counts.</summary>
    public EcnCounts? Ecn { get; set; }

    /// <summary>The type as it was encoded, with its flags.</summary>
    public long EncodedType { get; set; }

    /// <summary>Bytes of a run of Padding frames, which are read as one.</summary>
    public int PaddingLength { get; set; }

    public readonly bool IsAckEliciting => FrameTypes.IsAckEliciting(Type);

    public readonly bool IsProbing => FrameTypes.IsProbing(Type);

    /// <summary>Whether a frame about a limit of streams is about bidirectional ones.</summary>
    public readonly bool IsBidirectional => Type is FrameType.MaxStreamsBidirectional or FrameType.StreamsBlockedBidirectional;
}
