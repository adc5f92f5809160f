using Millrace.Http;

namespace Millrace.HttpServer;

/// <summary>
/// The limits of HTTP sessions, with the reason for each default. <see cref="Engine.Limits"/> has the limits on connections and on slow
/// readers.
/// </summary>
internal sealed record HttpServerLimits
{
    /// <summary>How long a connection may wait for its next request. Browsers keep connections for minutes; nginx allows 75 s.</summary>
    public TimeSpan KeepAlive { get; init; } = TimeSpan.FromSeconds(75);

    /// <summary>
    /// From the first byte of a head to its last. Browsers send a head in one packet; a client that sends it byte by byte is disconnected.
    /// </summary>
    public TimeSpan Head { get; init; } = TimeSpan.FromSeconds(15);

    /// <summary>
    /// For the whole of a body that is skipped. <see cref="SkippedBodyBytesMax"/> keeps it small: a client slower than this limit falls
    /// below <see cref="ReceiveBytesPerSecond"/> first.
    /// </summary>
    public TimeSpan Body { get; init; } = TimeSpan.FromMinutes(5);

    /// <summary>How long a client may be silent within a head or a body: longer than a phone needs to change cells.</summary>
    public TimeSpan ReceiveStall { get; init; } = TimeSpan.FromSeconds(10);

    /// <summary>
    /// How long a GET of HTTP/2 or HTTP/3 (or a HEAD, OPTIONS, DELETE) whose head is not the end of its stream waits for a body's
    /// first byte or the end, before an upstream gets it with a body of chunks: longer than a lost packet's repetition usually takes.
    /// </summary>
    public TimeSpan UndecidedBody { get; init; } = TimeSpan.FromSeconds(1);

    /// <summary>
    /// The average rate at which a head or a body must arrive; a lower rate uses up <see cref="ReceiveStall"/> gradually. This is Kestrel's
    /// default: every link reaches it, and no client can hold a connection for minutes with a few hundred bytes.
    /// </summary>
    public int ReceiveBytesPerSecond { get; init; } = 240;

    /// <summary>
    /// How long a connection beyond a limit has to send the head that is then answered with 503. A well-behaved client sends it at once;
    /// until then each of these connections occupies a slot.
    /// </summary>
    public TimeSpan RefusedHead { get; init; } = TimeSpan.FromSeconds(2);

    /// <summary>The maximum size of a head, its request line included; <see cref="HeadLimits"/> gives the reason.</summary>
    public int HeadBytesMax { get; init; } = HeadLimits.Default.HeadBytesMax;

    public int FieldsMax { get; init; } = HeadLimits.Default.FieldsMax;

    /// <summary>
    /// Bytes of a request body that are read and dropped so that the connection can serve the next request. A larger body closes the
    /// connection: closing is cheaper than receiving data that is not used.
    /// </summary>
    public long SkippedBodyBytesMax { get; init; } = 64 * 1024;

    /// <summary>
    /// Unsent bytes of responses beyond which no further pipelined request is read: a client that only sends is stopped here.
    /// </summary>
    public long UnsentBytesMax { get; init; } = 128 * 1024;

    /// <summary>
    /// The maximum number of pipelined requests served before the other connections of the reactor continue. It is fewer if connections
    /// wait and the iteration has no time left (<see cref="Engine.Loop.IterationBudget"/>).
    /// </summary>
    public int ResponsesPerIteration { get; init; } = 64;

    public Http2Limits Http2 { get; init; } = new();

    public Http3Limits Http3 { get; init; } = new();

    /// <summary>The parser's limits. A request line has its full maximum length only if the head has room for it.</summary>
    public HeadLimits ToHeadLimits() =>
        new(Math.Min(HeadLimits.Default.RequestLineBytesMax, HeadBytesMax), HeadBytesMax, FieldsMax);
}

/// <summary>
/// The limits of a client on one HTTP/2 connection, with the reason for each default. For frames that the other limits do not cover, a
/// client earns tokens by receiving responses: see <see cref="Millrace.Engine.TokenBucket"/>.
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

/// <summary>
/// The limits of a client on one HTTP/3 connection, with the reason for each default. The transport has those on streams, windows and
/// packets; for what costs work and is no request, a client earns tokens by receiving responses, as over HTTP/2.
/// </summary>
internal sealed record Http3Limits
{
    /// <summary>
    /// The table for fields that a client repeats (RFC 9204, section 3.2.3): as large as HPACK's. A larger one saves browsers little, and
    /// each connection may hold it.
    /// </summary>
    public int TableBytesMax { get; init; } = 4096;

    /// <summary>
    /// Requests that may wait for entries that are in transit (RFC 9204, section 2.1.2): what a browser sends in one burst at the
    /// beginning. Each holds its field section meanwhile.
    /// </summary>
    public int BlockedStreamsMax { get; init; } = 16;

    /// <summary>As <see cref="Http2Limits.OversizedHeadsMax"/>.</summary>
    public int OversizedHeadsMax { get; init; } = 4;

    /// <summary>As <see cref="Http2Limits.ResetsMax"/>: rapid reset is as cheap over QUIC.</summary>
    public int ResetsMax { get; init; } = 200;

    /// <summary>How many more resets are allowed each second; each complete response allows one more, too.</summary>
    public int ResetsPerSecond { get; init; } = 10;

    /// <summary>
    /// Frames and streams in one burst that neither request nor carry anything: unknown types, PRIORITY_UPDATE, MAX_PUSH_ID, DATA of a few
    /// bytes, streams of unknown types, instructions for the table.
    /// </summary>
    public int OverheadFramesMax { get; init; } = 1_000;

    /// <summary>How many more of these are allowed each second. Each response allows some, too.</summary>
    public int OverheadFramesPerSecond { get; init; } = 50;

    /// <summary>As <see cref="Http2Limits.DrainNotice"/>; no frame can acknowledge the notice, so it lasts its whole time.</summary>
    public TimeSpan DrainNotice { get; init; } = TimeSpan.FromMilliseconds(500);

    /// <summary>
    /// When the server stops: how long a client may take to close the connection after its last response, unless it does so at once. The
    /// end of a QUIC connection takes away what has arrived and was not read.
    /// </summary>
    public TimeSpan DrainLinger { get; init; } = TimeSpan.FromSeconds(1);
}
