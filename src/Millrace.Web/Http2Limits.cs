namespace Millrace.Web;

/// <summary>
/// What a client of HTTP/2 may do on one connection, with the reason for each default. What none of the others ask for, a client has to
/// earn by being answered: see <see cref="Http2.Allowance"/>.
/// </summary>
internal sealed record Http2Limits
{
    /// <summary>
    /// Requests of one connection that are being answered; those beyond it are refused, and may be sent again. RFC 9113 section 6.5.2
    /// asks for 100 at least; browsers send no more.
    /// </summary>
    public int StreamsMax { get; init; } = 100;

    /// <summary>
    /// CONTINUATION frames behind one HEADERS frame. A head of the usual largest size needs two, one of a larger limit as many as it may
    /// fill; who sends a flood of them, empty even, is ended before the head is whole (CVE-2024-27316 and its kin).
    /// </summary>
    public int ContinuationsMax { get; init; } = 8;

    /// <summary>
    /// Requests given up before they were answered (by the client's RST_STREAM, or for its mistakes), in one burst: a browser gives up all
    /// of a page at once. Without a limit a client has thousands of answers begun for nothing (rapid reset, CVE-2023-44487).
    /// </summary>
    public int ResetsMax { get; init; } = 200;

    /// <summary>How many more it may each second; each answer that is taken whole allows one, too.</summary>
    public int ResetsPerSecond { get; init; } = 10;

    /// <summary>
    /// Frames in one burst that ask for nothing and bring nothing: SETTINGS, PING, PRIORITY and its successor, WINDOW_UPDATE, empty DATA,
    /// unknown ones (CVE-2019-9511 to 9518).
    /// </summary>
    public int IdleFramesMax { get; init; } = 1_000;

    /// <summary>How many more it may each second. Each answer and each frame of data allows some, too.</summary>
    public int IdleFramesPerSecond { get; init; } = 50;

    /// <summary>How long a client may take to acknowledge our SETTINGS (RFC 9113, section 6.5.3).</summary>
    public TimeSpan SettingsAck { get; init; } = TimeSpan.FromSeconds(15);

    /// <summary>
    /// When the server stops: how long a client that was told has for requests that are under way to it, unless it says earlier that it
    /// has heard. As long as a new connection of HTTP/1.1 has for its first request then.
    /// </summary>
    public TimeSpan DrainNotice { get; init; } = TimeSpan.FromMilliseconds(500);
}
