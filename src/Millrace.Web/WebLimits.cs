namespace Millrace.Web;

/// <summary>The bounds of HTTP sessions, with the reason for each default.</summary>
internal sealed record WebLimits
{
    /// <summary>How long a connection may wait for its next request. Browsers keep theirs for minutes; nginx gives them 75 s.</summary>
    public TimeSpan KeepAlive { get; init; } = TimeSpan.FromSeconds(75);

    /// <summary>From the first byte of a head to its last. Ends those who send a byte at a time.</summary>
    public TimeSpan Head { get; init; } = TimeSpan.FromSeconds(15);

    /// <summary>For the whole of a body that is skipped.</summary>
    public TimeSpan Body { get; init; } = TimeSpan.FromSeconds(30);

    /// <summary>
    /// Bytes of a request's body that are read only to be dropped, so that the connection can serve the next request. A larger
    /// one costs the connection: closing is cheaper than receiving what nobody wants.
    /// </summary>
    public long SkippedBodyBytesMax { get; init; } = 64 * 1024;

    /// <summary>
    /// Answers of pipelined requests that may be unsent before the next one is read: a peer that only sends is stopped here.
    /// </summary>
    public long UnsentBytesMax { get; init; } = 128 * 1024;
}
