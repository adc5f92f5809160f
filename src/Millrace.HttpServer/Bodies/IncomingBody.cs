using Millrace.Http;

namespace Millrace.HttpServer.Bodies;

/// <summary>
/// The body of a request on a stream: its bytes are counted, and compared with the length that its head announced. Belongs to its stream.
/// </summary>
internal struct IncomingBody(RequestHead head, bool isComplete, long nowMs)
{
    /// <summary>The length that the head announced; -1 for none.</summary>
    private readonly long _announcedBytes =
        head.Body == BodyFraming.Length || head.Has(FieldName.ContentLength) ? head.ContentLength : -1;
    private readonly long _beganAtMs = nowMs;
    private long _receivedAtMs = nowMs;

    public bool IsComplete { get; private set; } = isComplete;

    /// <summary>Whether no more of it is taken or checked.</summary>
    public bool IsAbandoned { get; set; }

    public long Bytes { get; private set; }

    /// <summary>Counts bytes; false if there are more than the head announced.</summary>
    public bool TryTake(int bytes, long nowMs)
    {
        Bytes += bytes;
        _receivedAtMs = nowMs;
        return IsAbandoned || _announcedBytes < 0 || Bytes <= _announcedBytes;
    }

    /// <summary>Ends it; false if there were fewer bytes than the head announced.</summary>
    public bool TryEnd()
    {
        IsComplete = true;
        return IsAbandoned || _announcedBytes < 0 || Bytes == _announcedBytes;
    }

    /// <summary>Whether the client sends it too slowly.</summary>
    public readonly bool IsLate(long nowMs, HttpServerLimits limits) => !IsComplete
        && (nowMs - _receivedAtMs >= limits.ReceiveStall.TotalMilliseconds || nowMs - _beganAtMs >= limits.Body.TotalMilliseconds);
}
