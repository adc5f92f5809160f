using System.Diagnostics.Metrics;

namespace Millrace.Engine.Diagnostics;

/// <summary>
/// The meter <c>Millrace</c> over the reactors' counters: read when it is collected, free otherwise. The exception is the lag, which reads
/// the clock twice per iteration while it is listened to.
/// </summary>
internal sealed class EngineMeter : IDisposable
{
    public const string Name = "Millrace";

    private const string ReactorTag = "millrace.reactor";

    private readonly Meter _meter;

    public EngineMeter(string name, object scope)
    {
        _meter = new Meter(new MeterOptions(name) { Scope = scope });
        Lag = _meter.CreateHistogram(
            "millrace.reactor.lag",
            "s",
            "How long an iteration of a reactor's loop delayed events that arrived meanwhile.",
            tags: null,
            new InstrumentAdvice<double>
            {
                HistogramBucketBoundaries = [0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 10],
            });
    }

    public Histogram<double> Lag { get; }

    public static KeyValuePair<string, object?> TagOf(int reactor) => new(ReactorTag, reactor);

    public void Observe(IReadOnlyList<Reactor> reactors)
    {
        Count("reactor.iterations", "{iteration}", "Iterations of a reactor's loop.", static counters => counters.Iterations);
        Count("reactor.completions", "{completion}", "Operations that the kernel has completed.", static counters => counters.Completions);
        Count("reactor.posts", "{post}", "Callbacks posted to a reactor by other threads.", static counters => counters.Posts);
        Count("reactor.stalls", "{stall}", "Callbacks that kept a reactor for 100 ms and more.", static counters => counters.Stalls);
        _meter.CreateObservableCounter(
            "millrace.reactor.blocked",
            () => reactors.Select(reactor => new Measurement<double>(reactor.Counters.BlockedMs / 1_000.0, TagOf(reactor.Index))),
            "s",
            "Time that a reactor was seen blocked by an application.");
        Count("reactor.waits_failed", "{wait}", "Waits of a callback for its own reactor.", static counters => counters.WaitsFailed);
        Count("reactor.receives_starved", "{receive}", "Receives that waited for a buffer.", static counters => counters.ReceivesStarved);
        Sum("reactor.queues_full", "{time}", "Times that a submission queue had no room.", static reactor => reactor.Backend.QueuesFull);
        Count("network.received", "By", "Bytes that connections have received.", static counters => counters.BytesReceived);
        Count(
            "network.sent",
            "By",
            "Bytes of connections that the kernel took.",
            static counters => counters.BytesSent + Volatile.Read(ref counters.BytesSentElsewhere));
        Count("connections.accepted", "{connection}", "Connections accepted.", static counters => counters.Accepted);
        Count("connections.shed", "{connection}", "Connections beyond a limit, reset.", static counters => counters.Shed);
        Count("connections.refused", "{connection}", "Connections beyond a limit, refused.", static counters => counters.Refused);
        Count("connections.stalled", "{connection}", "Connections reset because of a slow peer.", static counters => counters.Stalled);
        Count("connections.starved", "{connection}", "Connections reset for lack of memory.", static counters => counters.Starved);
        Count("files.failed", "{read}", "Reads of files that failed.", static counters => counters.FileFaults);
        _meter.CreateObservableUpDownCounter(
            "millrace.connections.active",
            () => reactors.Select(static reactor => new Measurement<long>(reactor.Connections.Count, TagOf(reactor.Index))),
            "{connection}",
            "Connections that are open.");

        void Count(string name, string unit, string description, Func<ReactorCounters, long> read) =>
            Sum(name, unit, description, reactor => read(reactor.Counters));

        void Sum(string name, string unit, string description, Func<Reactor, long> read) => _meter.CreateObservableCounter(
            $"millrace.{name}",
            () => reactors.Select(reactor => new Measurement<long>(read(reactor), TagOf(reactor.Index))),
            unit,
            description);
    }

    public void Dispose() => _meter.Dispose();
}
