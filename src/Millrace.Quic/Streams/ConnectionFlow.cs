namespace Millrace.Quic.Streams;

/// <summary>Frames of the connection as a whole that are to be sent.</summary>
[Flags]
internal enum ConnectionControls : byte
{
    None = 0,
    MaxData = 1,
    DataBlocked = 2,
    MaxStreamsBidirectional = 4,
    MaxStreamsUnidirectional = 8,
    StreamsBlockedBidirectional = 16,
    StreamsBlockedUnidirectional = 32,
}

/// <summary>
/// The connection's windows in both directions (RFC 9000, section 4.1), and which of its limits are to be sent. One thread.
/// </summary>
internal sealed class ConnectionFlow(StreamSettings settings)
{
    /// <summary>What all streams together may send.</summary>
    public SendWindow Send;

    /// <summary>What all streams of the peer together may bring.</summary>
    public ReceiveWindow Receive = new(settings.ConnectionWindowBytes, settings.ConnectionWindowBytesMax);

    public ConnectionControls Pending { get; set; }

    /// <summary>For the windows' sizes; nanoseconds.</summary>
    public long SmoothedRtt { get; set; }
}
