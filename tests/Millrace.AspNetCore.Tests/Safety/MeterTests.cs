using System.Collections.Concurrent;
using System.Diagnostics.Metrics;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;
using Millrace.AspNetCore.Tests.Kit;
using Millrace.AspNetCore.Tests.Safety.Kit;

namespace Millrace.AspNetCore.Tests.Safety;

/// <summary>What the meter reports of reactors, against what they were made to do.</summary>
public class MeterTests
{
    private const int Requests = 50;

    [Fact]
    public async Task The_meter_tells_each_reactors_work_and_stalls()
    {
        using var gate = new ManualResetEventSlim();
        await using GuardedApplication guarded = await GuardedApplication.StartAsync(2, routes => routes.MapGet("/block", context =>
        {
            gate.Wait(Waiting.Patience);
            return context.Response.WriteAsync("over");
        }));
        var values = new ConcurrentDictionary<(string Name, int Reactor), double>();
        using MeterListener listener = ListenTo(guarded.Group, values);
        using RawClient client = await guarded.ConnectAsync(reactor: 1);
        for (int i = 0; i < Requests; i++)
        {
            await client.GetAsync("/where");
        }

        listener.RecordObservableInstruments();
        Assert.InRange(values[("millrace.reactor.iterations", 1)], Requests, double.MaxValue);
        Assert.InRange(values[("millrace.reactor.completions", 1)], 2 * Requests, double.MaxValue);
        Assert.InRange(values[("millrace.network.received", 1)], Requests * "GET /where HTTP/1.1\r\n".Length, Requests * 1_000);
        Assert.InRange(values[("millrace.network.sent", 1)], Requests * "HTTP/1.1 200 OK\r\n".Length, Requests * 1_000);
        Assert.Equal(0, values[("millrace.reactor.queues_full", 1)]);
        Assert.InRange(values[("millrace.reactor.lag", 1)], Requests, double.MaxValue);
        Assert.InRange(values[("millrace.connections.active", 1)], 1, 1);
        long stallsBefore = guarded.Group.Reactors[1].Counters.Stalls;

        Task<Response> blocked = client.GetAsync("/block");
        await Waiting.UntilAsync(() => guarded.Group.Reactors[1].Counters.Stalls > stallsBefore, () => "No stall was counted.");
        gate.Set();
        await blocked;
        listener.RecordObservableInstruments();
        Assert.InRange(values[("millrace.reactor.stalls", 1)], stallsBefore + 1, double.MaxValue);
        Assert.Equal(0, values[("millrace.reactor.waits_failed", 1)]);
    }

    [Fact]
    public async Task Requests_are_counted_by_where_they_began()
    {
        await using GuardedApplication guarded = await GuardedApplication.StartAsync(1, static _ => { });
        var places = new ConcurrentQueue<string?>();
        using var listener = new MeterListener
        {
            InstrumentPublished = static (instrument, listener) =>
            {
                if (instrument.Name == "millrace.requests")
                {
                    listener.EnableMeasurementEvents(instrument);
                }
            },
        };
        // Other applications of this process have a meter of that name too.
        listener.SetMeasurementEventCallback<long>((_, _, tags, _) => places.Enqueue((string?)tags[0].Value));
        listener.Start();
        using RawClient client = await guarded.ConnectAsync(reactor: 0);
        int before = places.Count(static place => place == "reactor");
        for (int i = 0; i < Requests; i++)
        {
            await client.GetAsync("/where");
        }

        Assert.InRange(places.Count(static place => place == "reactor") - before, Requests, int.MaxValue);
        Assert.All(places, static place => Assert.Contains(place, (string[])["reactor", "elsewhere"]));
    }

    /// <summary>Counts keep their last value, and the histogram counts its records.</summary>
    private static MeterListener ListenTo(object group, ConcurrentDictionary<(string Name, int Reactor), double> values)
    {
        var listener = new MeterListener
        {
            InstrumentPublished = (instrument, listener) =>
            {
                if (instrument.Meter.Name == "Millrace" && instrument.Meter.Scope == group)
                {
                    listener.EnableMeasurementEvents(instrument);
                }
            },
        };
        listener.SetMeasurementEventCallback<long>((instrument, value, tags, _) => values[(instrument.Name, (int)tags[0].Value!)] = value);
        listener.SetMeasurementEventCallback<double>((instrument, value, tags, _) =>
        {
            Assert.InRange(value, 0, 60);
            values.AddOrUpdate((instrument.Name, (int)tags[0].Value!), 1, static (_, count) => count + 1);
        });
        listener.Start();
        return listener;
    }
}
