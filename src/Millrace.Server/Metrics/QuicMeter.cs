using System.Diagnostics.Metrics;
using Millrace.QuicTransport;

namespace Millrace.Server.Metrics;

/// <summary>
/// Adds the instruments about HTTP/3's transport: sums of the counters of all listeners and reactors, and a histogram of round-trip times.
/// </summary>
/// <param name="meter">The meter.</param>
/// <param name="read">Reads the counters; called by any thread.</param>
internal sealed class QuicMeter(Meter meter, Func<IEnumerable<QuicListenerCounters>> read)
{
    private const double Second = 1e9;

    /// <summary>From a local network to a satellite, in seconds.</summary>
    private static readonly double[] RoundTripBounds =
        [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1, 2.5];

    private readonly Histogram<double> _roundTripTimes = meter.CreateHistogram(
        "millrace.quic.rtt",
        "s",
        "Smoothed round-trip times of QUIC connections at their end.",
        tags: null,
        new InstrumentAdvice<double> { HistogramBucketBoundaries = RoundTripBounds });

    /// <summary>A connection has ended; its time is in nanoseconds. Any thread.</summary>
    public void RecordRoundTripTime(long time) => _roundTripTimes.Record(time / Second);

    public void AddInstruments()
    {
        meter.CreateObservableUpDownCounter(
            "millrace.quic.connections.active", () => Sum(static one => one.Connections), "{connection}", "Open QUIC connections.");
        meter.CreateObservableCounter(
            "millrace.quic.handshakes",
            () => (IEnumerable<Measurement<long>>)
            [
                new(Sum(static one => one.Handshakes), new KeyValuePair<string, object?>("outcome", "complete")),
                new(Sum(static one => one.HandshakesFailed), new KeyValuePair<string, object?>("outcome", "failed")),
            ],
            "{handshake}",
            "Handshakes of QUIC connections.");
        Count("connections.refused", "{connection}", "QUIC connections refused: a limit, lack of memory, a stop.",
            static one => one.Refused);
        Count("connections.failed", "{connection}", "QUIC connections closed because of an error of the client, or an inner one.",
            static one => one.Failed);
        Count("connections.timed_out", "{connection}", "QUIC connections that ended because nothing came from the client.",
            static one => one.TimedOut);
        Count("retries", "{packet}", "Retry packets, by which clients prove their address while many handshakes are in progress.",
            static one => one.Retries);
        Count("version_negotiations", "{packet}", "Answers to clients of other versions of QUIC.", static one => one.VersionNegotiations);
        Count("stateless_resets", "{packet}", "Stateless resets, of connections that are not known any more.",
            static one => one.StatelessResets);
        Count("migrations", "{migration}", "Changes of a client's address.", static one => one.Migrations);
        Count("packets.lost", "{packet}", "Sent packets that were declared lost.", static one => one.PacketsLost);
        Count("datagrams.received", "{datagram}", "Datagrams received.", static one => one.DatagramsReceived);
        Count("datagrams.dropped", "{datagram}", "Datagrams dropped by the kernel, as a socket had no room.",
            static one => one.DatagramsDropped);
        Count("datagrams.sent", "{datagram}", "Datagrams sent.", static one => one.DatagramsSent);
        Count("received", "By", "Bytes of datagrams received.", static one => one.BytesReceived);
        Count("sent", "By", "Bytes of datagrams sent.", static one => one.BytesSent);
        Count("handed_over", "{datagram}", "Datagrams that one reactor received for another.", static one => one.HandedOver);
    }

    private void Count(string name, string unit, string help, Func<QuicListenerCounters, long> value) =>
        meter.CreateObservableCounter($"millrace.quic.{name}", () => Sum(value), unit, help);

    private long Sum(Func<QuicListenerCounters, long> value) => read().Sum(one => value(one));
}
