using System.Diagnostics.Metrics;

namespace Millrace.Tls;

/// <summary>Counts the outcomes of handshakes, over all reactors. Any thread.</summary>
public sealed class TlsCounters
{
    private static readonly Meter Meter = new("Millrace");
    private static readonly Counter<long> HandshakeCounter =
        Meter.CreateCounter<long>("millrace.tls.handshakes", "{handshake}", "TLS handshakes by outcome and key exchange group.");

    private static readonly Counter<long> ClientHandshakeCounter = Meter.CreateCounter<long>(
        "millrace.tls.client_handshakes", "{handshake}", "TLS handshakes with upstreams by outcome and key exchange group.");

    private static readonly KeyValuePair<string, object?> FullTag = new("outcome", "full");
    private static readonly KeyValuePair<string, object?> ResumedTag = new("outcome", "resumed");
    private static readonly KeyValuePair<string, object?> FailedTag = new("outcome", "failed");

    private readonly Counter<long> _handshakes;
    private long _done;
    private long _resumed;
    private long _failed;
    private long _putOff;
    private long _truncated;
    private long _sessions;

    /// <summary>Of a server.</summary>
    public TlsCounters()
        : this(ofClient: false)
    {
    }

    internal TlsCounters(bool ofClient)
    {
        _handshakes = ofClient ? ClientHandshakeCounter : HandshakeCounter;
    }

    /// <summary>Completed handshakes, including resumed ones.</summary>
    public long HandshakesDone => Volatile.Read(ref _done);

    /// <summary>Completed handshakes that resumed a session.</summary>
    public long HandshakesResumed => Volatile.Read(ref _resumed);

    /// <summary>Handshakes that were not completed: refused, abandoned, or too slow.</summary>
    public long HandshakesFailed => Volatile.Read(ref _failed);

    /// <summary>Handshake steps that were deferred to a later iteration.</summary>
    public long HandshakesPutOff => Volatile.Read(ref _putOff);

    /// <summary>Connections whose peer closed without close_notify.</summary>
    public long ConnectionsTruncated => Volatile.Read(ref _truncated);

    /// <summary>OpenSSL's <c>SSL</c> objects that are not freed.</summary>
    internal long Sessions => Volatile.Read(ref _sessions);

    internal void Made() => Interlocked.Increment(ref _sessions);

    internal void Freed() => Interlocked.Decrement(ref _sessions);

    internal void PutOff() => Interlocked.Increment(ref _putOff);

    internal void Truncated() => Interlocked.Increment(ref _truncated);

    internal void Done(bool isResumed, TlsParameters agreed)
    {
        Interlocked.Increment(ref _done);
        if (isResumed)
        {
            Interlocked.Increment(ref _resumed);
        }

        _handshakes.Add(1, isResumed ? ResumedTag : FullTag, agreed.GroupTag);
    }

    internal void Failed()
    {
        Interlocked.Increment(ref _failed);
        _handshakes.Add(1, FailedTag);
    }
}
