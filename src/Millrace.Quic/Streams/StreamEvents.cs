namespace Millrace.Quic.Streams;

/// <summary>What the layer above a stream has not been informed of.</summary>
[Flags]
internal enum StreamEvents : byte
{
    None = 0,

    /// <summary>The peer opened the stream.</summary>
    Opened = 1,

    /// <summary>There are bytes to read that were not there at the last read, or the end.</summary>
    Readable = 2,

    /// <summary>There is room again, after a write that found too little.</summary>
    Writable = 4,

    /// <summary>The peer ended its side with RESET_STREAM: <see cref="ReceiveStream.ResetCode"/>. What was not read is lost.</summary>
    Reset = 8,

    /// <summary>
    /// The peer will not read the stream: <see cref="SendStream.StopSendingCode"/>. This end has reset it with the same code.
    /// </summary>
    StopSending = 16,

    /// <summary>Both sides have ended, and the peer knows. The object is used again after the next event is taken.</summary>
    Closed = 32,
}

/// <summary>Frames of a stream, other than STREAM, that are to be sent.</summary>
[Flags]
internal enum StreamControls : byte
{
    None = 0,
    ResetStream = 1,
    StopSending = 2,
    MaxStreamData = 4,
    StreamDataBlocked = 8,
}
