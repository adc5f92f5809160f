using Millrace.Engine;
using Millrace.Tls.OpenSsl;

namespace Millrace.Tls.Records;

/// <summary>
/// Limits records without data from a peer: key updates, alerts, renegotiation attempts, empty records. Each costs the peer some 25
/// bytes and this side as many microseconds of cryptography, and OpenSSL limits only some kinds, and only in a row. The caller
/// passes the clock.
/// </summary>
internal struct EmptyRecordLimiter
{
    /// <summary>The burst. A client updates its keys after gigabytes, and sends one close_notify.</summary>
    public const int Most = 100;

    public const int PerSecond = 10;

    private TokenBucket? _records;

    /// <summary>Why records of an established connection are refused; null if they are not.</summary>
    /// <param name="ssl">The connection, after it has read them.</param>
    /// <param name="withoutData">How many had no data.</param>
    /// <param name="wasEstablished">Whether it was established before them: the records of the handshake are not counted.</param>
    /// <param name="nowMs">The clock.</param>
    public string? RefusalOf(SslConnection ssl, int withoutData, bool wasEstablished, long nowMs)
    {
        // One record may hold thousands of messages, each of which gets a response (RFC 5246, section 6.2.1).
        int count = Math.Max(withoutData, wasEstablished ? ssl.Responses : 0);
        if (wasEstablished && count > 0 && !(_records ??= new TokenBucket(Most, PerSecond)).TrySpend(count, nowMs))
        {
            return "the peer sent more records without data than it needs";
        }

        // A server may split a large ticket. A client's key update is five bytes, which none splits; but a message that starts a
        // renegotiation (RFC 5246, section 7.4.1.2) may announce 128 KiB: OpenSSL allocates all of it, and responds only when it is
        // complete.
        return count > 0 && !ssl.IsClient && ssl.IsInMessage ? "the client sent part of a handshake message after the handshake" : null;
    }
}
