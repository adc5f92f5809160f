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

    /// <summary>The maximum number of fields in a head.</summary>
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

    /// <summary>The limits that are specific to HTTP/2.</summary>
    public Http2Limits Http2 { get; init; } = new();

    /// <summary>The parser's limits. A request line has its full maximum length only if the head has room for it.</summary>
    public HeadLimits ToHeadLimits() =>
        new(Math.Min(HeadLimits.Default.RequestLineBytesMax, HeadBytesMax), HeadBytesMax, FieldsMax);
}
