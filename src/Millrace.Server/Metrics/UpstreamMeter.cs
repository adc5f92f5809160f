using System.Diagnostics.Metrics;
using Millrace.HttpServer.Upstreams;

namespace Millrace.Server.Metrics;

/// <summary>
/// Adds the observable instruments about the applications that requests are sent to, each with a measurement for a target. What concerns no
/// single target of a rule with several is measured for these together.
/// </summary>
/// <param name="meter">The meter.</param>
/// <param name="read">Reads them all; called by any thread.</param>
internal sealed class UpstreamMeter(Meter meter, Func<IEnumerable<UpstreamStatus>> read)
{
    public void AddInstruments()
    {
        meter.CreateObservableGauge(
            "millrace.upstream.healthy",
            () => from status in read()
                  where status.IsHealthy is not null
                  select new Measurement<int>(status.IsHealthy == true ? 1 : 0, TagOf(status)),
            unit: null,
            "1 if requests are sent to a target, 0 while it is avoided because connecting to it has failed.");
        meter.CreateObservableUpDownCounter(
            "millrace.upstream.connections",
            () => read().SelectMany(static status => (IEnumerable<Measurement<int>>)
            [
                new(status.Total.Connections - status.Total.Idle, TagOf(status), new("state", "active")),
                new(status.Total.Idle, TagOf(status), new("state", "idle")),
            ]),
            "{connection}",
            "Connections to a target.");
        meter.CreateObservableUpDownCounter(
            "millrace.upstream.waiting",
            () => read().Select(static status => new Measurement<int>(status.Total.Waiting, TagOf(status))),
            "{request}",
            "Requests that wait for a connection.");
        Count("requests", "{request}", "Requests sent, second attempts among them.", static total => total.Requests);
        Count("failures", "{request}", "Requests without a response, or without all of it.", static total => total.Failed);
        Count("timeouts", "{request}", "Requests that failed by a deadline.", static total => total.TimedOut);
        Count("malformed", "{response}", "Responses that were malformed, or that nobody asked for.", static total => total.Malformed);
        Count("retries", "{request}", "Requests sent again because a kept connection had ended.", static total => total.Retried);
        Count("queue.refused", "{request}", "Requests that got no connection in time, or no place in the queue.",
            static total => total.QueueRefused);
        Count("connects", "{connection}", "Connections that were tried.", static total => total.Connects);
        Count("connects.failed", "{connection}", "Connections that could not be made.", static total => total.ConnectsFailed);
        Count("reused", "{request}", "Requests sent on a kept connection.", static total => total.Reused);
    }

    private static KeyValuePair<string, object?> TagOf(UpstreamStatus status) => new("upstream", status.Upstream);

    private void Count(string name, string unit, string help, Func<UpstreamCounters, long> value) => meter.CreateObservableCounter(
        $"millrace.upstream.{name}",
        () => read().Select(status => new Measurement<long>(value(status.Total), TagOf(status))),
        unit,
        help);
}
