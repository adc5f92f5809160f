using Millrace.Http;

namespace Millrace.HttpServer.Upstreams;

/// <summary>A request to an upstream; it is copied when the exchange begins.</summary>
internal readonly ref struct UpstreamRequest
{
    /// <summary>The request line of HTTP/1.1 with its CRLF.</summary>
    public required ReadOnlySpan<byte> Line { get; init; }

    /// <summary>The Host field's value; empty for the upstream's own authority.</summary>
    public required ReadOnlySpan<byte> Host { get; init; }

    /// <summary>All other field lines, the framing's among them (Content-Length or Transfer-Encoding), without the empty line.</summary>
    public required ReadOnlySpan<byte> Fields { get; init; }

    public required Method Method { get; init; }

    /// <summary>How the body is framed towards the upstream; chunks are written by the exchange.</summary>
    public required BodyFraming Body { get; init; }

    /// <summary>The length that the fields announce, with <see cref="BodyFraming.Length"/>.</summary>
    public long BodyBytes { get; init; }

    /// <summary>
    /// Whether it is not known yet if a body follows: nothing is sent before <see cref="UpstreamExchange.Decide"/>.
    /// </summary>
    public bool IsHeld { get; init; }

    /// <summary>Whether the fields ask for another protocol (Upgrade), so that 101 is allowed.</summary>
    public bool IsUpgrade { get; init; }
}

/// <summary>Why an exchange failed.</summary>
/// <param name="Status">The status for the client if nothing was sent to it: 502, 503 or 504.</param>
/// <param name="Reason">For the log, in a few words: "connection refused", "the response's head is malformed: …".</param>
internal readonly record struct UpstreamFailure(int Status, string Reason);

/// <summary>How far an exchange with an upstream is.</summary>
internal enum UpstreamPhase : byte
{
    /// <summary>It waits for a connection, or for the response's head. The request's body may be written.</summary>
    Waiting,

    /// <summary>A 1xx response other than 101 is there.</summary>
    Informational,

    /// <summary>The response's head is there.</summary>
    Head,

    /// <summary>The body follows, perhaps none.</summary>
    Body,

    /// <summary>After 101: bytes go both ways until both ends have ended.</summary>
    Tunnel,

    /// <summary>The response is complete, and all of it was taken.</summary>
    Complete,

    /// <summary>There is no response, or its rest is lost.</summary>
    Failed,

    /// <summary>The exchange is over, and its object may be reused.</summary>
    Released,
}
