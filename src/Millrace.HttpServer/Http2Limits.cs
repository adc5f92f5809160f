namespace Millrace.HttpServer;

/// <summary>
/// The limits of a client on one HTTP/2 connection, with the reason for each default. For frames that the other limits do not cover, a
/// client earns tokens by receiving responses: see <see cref="Http2.TokenBucket"/>.
/// </summary>
internal sealed record Http2Limits
{
    /// <summary>
    /// The maximum number of concurrent requests on one connection; requests beyond it are refused, and the client may send them again. RFC
    /// 9113, section 6.5.2, recommends at least 100; browsers send no more.
    /// </summary>
    public int StreamsMax { get; init; } = 100;

    /// <summary>
    /// CONTINUATION frames after one HEADERS frame. A head of the usual maximum size needs two; a larger head limit allows as many as such
    /// a head can fill. A flood of them, even of empty ones, ends the connection before the head is complete (CVE-2024-27316 and similar).
    /// </summary>
    public int ContinuationsMax { get; init; } = 8;

    /// <summary>
    /// The total by which the field blocks of one connection may exceed <see cref="HttpServerLimits.HeadBytesMax"/>, counted in heads of
    /// that size. References to an entry of 4 KB expand a block within the limit to megabytes, and each block is decoded to maintain the
    /// table.
    /// </summary>
    public int OversizedHeadsMax { get; init; } = 4;

    /// <summary>
    /// Requests in one burst that end before they are answered, by the client's RST_STREAM or for its errors: a browser cancels all
    /// requests of a page at once. Without a limit a client could start thousands of responses for nothing (rapid reset, CVE-2023-44487).
    /// </summary>
    public int ResetsMax { get; init; } = 200;

    /// <summary>How many more resets are allowed each second; each complete response allows one more, too.</summary>
    public int ResetsPerSecond { get; init; } = 10;

    /// <summary>
    /// Frames in one burst that neither request nor carry anything: SETTINGS, PING, PRIORITY, PRIORITY_UPDATE, WINDOW_UPDATE, empty DATA,
    /// unknown types (CVE-2019-9511 to 9518).
    /// </summary>
    public int OverheadFramesMax { get; init; } = 1_000;

    /// <summary>How many more of these frames are allowed each second. Each response and each DATA frame allows some, too.</summary>
    public int OverheadFramesPerSecond { get; init; } = 50;

    /// <summary>How long a client may take to acknowledge the server's SETTINGS (RFC 9113, section 6.5.3).</summary>
    public TimeSpan SettingsAck { get; init; } = TimeSpan.FromSeconds(15);

    /// <summary>
    /// When the server stops: how long requests in transit may arrive after the client was notified, unless the client acknowledges the
    /// notice earlier. It equals the time that a new HTTP/1.1 connection then has for its first request.
    /// </summary>
    public TimeSpan DrainNotice { get; init; } = TimeSpan.FromMilliseconds(500);
}
