using Millrace.Http;

namespace Millrace.Web;

/// <summary>
/// The bounds of HTTP sessions, with the reason for each default. What a client takes, and how many there may be, is bounded by
/// <see cref="Engine.Limits"/>.
/// </summary>
internal sealed record WebLimits
{
    /// <summary>How long a connection may wait for its next request. Browsers keep theirs for minutes; nginx gives them 75 s.</summary>
    public TimeSpan KeepAlive { get; init; } = TimeSpan.FromSeconds(75);

    /// <summary>From the first byte of a head to its last. Browsers send it in one packet; who sends a byte at a time is ended.</summary>
    public TimeSpan Head { get; init; } = TimeSpan.FromSeconds(15);

    /// <summary>
    /// For the whole of a body that is skipped, which <see cref="SkippedBodyBytesMax"/> keeps small: what is slower than that falls below
    /// <see cref="ReceiveBytesPerSecond"/> first.
    /// </summary>
    public TimeSpan Body { get; init; } = TimeSpan.FromMinutes(5);

    /// <summary>How long a client may be silent within a head or a body. Longer than a phone needs to change cells.</summary>
    public TimeSpan ReceiveStall { get; init; } = TimeSpan.FromSeconds(10);

    /// <summary>
    /// What must come of a head or a body, on average; with less <see cref="ReceiveStall"/> is used up little by little. Kestrel's
    /// default: any link carries it, and nobody can hold a connection for minutes with some hundred bytes.
    /// </summary>
    public int ReceiveBytesPerSecond { get; init; } = 240;

    /// <summary>
    /// How long a connection beyond a limit has for the head that is then answered 503: clients that mean well send it at once, and each
    /// is one that holds a place until then.
    /// </summary>
    public TimeSpan RefusedHead { get; init; } = TimeSpan.FromSeconds(2);

    /// <summary>How large a head may be, its request line included; <see cref="HeadLimits"/> says why.</summary>
    public int HeadBytesMax { get; init; } = HeadLimits.Default.HeadBytesMax;

    /// <summary>How many fields it may have.</summary>
    public int FieldsMax { get; init; } = HeadLimits.Default.FieldsMax;

    /// <summary>
    /// Bytes of a request's body that are read only to be dropped, so that the connection can serve the next request. A larger
    /// one costs the connection: closing is cheaper than receiving what nobody wants.
    /// </summary>
    public long SkippedBodyBytesMax { get; init; } = 64 * 1024;

    /// <summary>
    /// Answers of pipelined requests that may be unsent before the next one is read: a peer that only sends is stopped here.
    /// </summary>
    public long UnsentBytesMax { get; init; } = 128 * 1024;

    /// <summary>
    /// Pipelined requests answered before the other connections of the reactor have their turn: at 2 us each they are not kept waiting
    /// for longer than a large send keeps them.
    /// </summary>
    public int AnswersPerTurn { get; init; } = 64;

    /// <summary>What is peculiar to HTTP/2.</summary>
    public Http2Limits Http2 { get; init; } = new();

    /// <summary>As the parser takes them. A request line is as long as it may be only in a head that has room for it.</summary>
    public HeadLimits ToHeadLimits() =>
        new(Math.Min(HeadLimits.Default.RequestLineBytesMax, HeadBytesMax), HeadBytesMax, FieldsMax);
}
