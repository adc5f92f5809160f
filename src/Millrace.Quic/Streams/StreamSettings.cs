namespace Millrace.Quic.Streams;

/// <summary>
/// This end's limits on the streams of a connection. The first five are its transport parameters (RFC 9000, section 18.2).
/// </summary>
internal sealed record StreamSettings
{
    public static StreamSettings Default { get; } = new();

    /// <summary>initial_max_data.</summary>
    public long ConnectionWindowBytes { get; init; } = 256 * 1024;

    /// <summary>
    /// initial_max_stream_data_bidi_local, initial_max_stream_data_bidi_remote and initial_max_stream_data_uni.
    /// </summary>
    public long StreamWindowBytes { get; init; } = 64 * 1024;

    /// <summary>initial_max_streams_bidi: bidirectional streams of the peer that may be open at a time.</summary>
    public long BidirectionalStreamsMax { get; init; } = 100;

    /// <summary>initial_max_streams_uni.</summary>
    public long UnidirectionalStreamsMax { get; init; } = 10;

    /// <summary>Limit of the connection's window, and so of the memory that the peer's data occupies.</summary>
    public long ConnectionWindowBytesMax { get; init; } = 1536 * 1024;

    public long StreamWindowBytesMax { get; init; } = 1024 * 1024;

    /// <summary>Bytes that a stream's writer may be ahead of what is sent.</summary>
    public long UnsentBytesMax { get; init; } = 64 * 1024;

    /// <summary>Memory for what the streams of a connection have written and the peer has not acknowledged.</summary>
    public long SendBufferBytesMax { get; init; } = 4 * 1024 * 1024;
}

/// <summary>The peer's limits, from its transport parameters; its names of sides are from its view. All zero before they arrive.</summary>
internal readonly record struct PeerStreamLimits(
    long MaxData, long MaxStreamDataBidiLocal, long MaxStreamDataBidiRemote, long MaxStreamDataUni, long MaxStreamsBidi,
    long MaxStreamsUni);
