using System.Diagnostics.Metrics;
using Microsoft.AspNetCore.Http;
using Millrace.AspNetCore.Tests.Kit;

namespace Millrace.AspNetCore.Tests.Contract;

/// <summary>Connections that come and go by the thousand, in every way there is to go.</summary>
public class ChurnTests
{
    private const int Connections = 2000;

    private static Task Response(HttpContext context) => context.Response.WriteAsync("answer");

    [Theory, EachTransport]
    public async Task Two_thousand_connections_leave_no_descriptor_behind(TransportKind transport)
    {
        await using RunningApplication application = await RunningApplication.StartAsync(transport, Response);
        using (RawClient warm = await application.ConnectAsync())
        {
            await warm.GetAsync();
        }

        await Waiting.UntilAsync(() => Stopped(application) == 1, application.Log.ToString);
        int before = Descriptors.CountSockets();
        int next = 0;
        await Task.WhenAll(Enumerable.Range(0, 8).Select(_ => Task.Run(async () =>
        {
            int mine;
            while ((mine = Interlocked.Increment(ref next)) <= Connections)
            {
                await LiveAsync(application, mine % 5);
            }
        })));

        await Waiting.UntilAsync(() => Stopped(application) == Connections + 1, () => $"{Stopped(application)} have ended.");
        await Descriptors.ReturnToAsync(before);
        Assert.Empty(application.Log.AboveDebug);
    }

    [Theory, EachTransport]
    public async Task Five_hundred_at_once_that_all_reset_leave_no_descriptor_behind(TransportKind transport)
    {
        await using RunningApplication application = await RunningApplication.StartAsync(transport, Response);
        int before = Descriptors.CountSockets();
        RawClient[] clients = await Task.WhenAll(Enumerable.Range(0, 500).Select(_ => application.ConnectAsync()));
        foreach (RawClient client in clients)
        {
            Assert.Equal("answer", (await client.GetAsync()).Body);
        }

        foreach (RawClient client in clients)
        {
            client.Reset();
        }

        await Descriptors.ReturnToAsync(before);
        Assert.Empty(application.Log.AboveDebug);
    }

    /// <summary>Written by threads of the pool, while sockets are closed under them and their numbers are given to the next.</summary>
    [Theory, EachTransport]
    public async Task Answers_of_other_threads_reach_their_own_client_while_others_reset(TransportKind transport)
    {
        await using RunningApplication application = await RunningApplication.StartAsync(transport, static async context =>
        {
            string response = string.Concat(Enumerable.Repeat(context.Request.Path.Value, 8_000));
            await Task.Delay(1);
            await context.Response.WriteAsync(response);
        });
        int before = Descriptors.CountSockets();
        int next = 0;
        await Task.WhenAll(Enumerable.Range(0, 8).Select(_ => Task.Run(async () =>
        {
            int mine;
            while ((mine = Interlocked.Increment(ref next)) <= Connections / 2)
            {
                using RawClient client = await application.ConnectAsync();
                if (mine % 2 == 0)
                {
                    await client.SendAsync("GET /reset HTTP/1.1\r\nHost: site\r\n\r\n");
                    await Task.Delay(mine % 3);
                    client.Reset();
                }
                else
                {
                    Assert.Equal(string.Concat(Enumerable.Repeat($"/{mine}", 8_000)), (await client.GetAsync($"/{mine}")).Body);
                }
            }
        })));

        await Descriptors.ReturnToAsync(before);
    }

    [Theory, EachTransport]
    public async Task Kestrels_own_meter_counts_connections_in_and_out(TransportKind transport)
    {
        long active = 0;
        long measured = 0;
        using var listener = new MeterListener();
        listener.InstrumentPublished = static (instrument, listening) =>
        {
            if (instrument.Name is "kestrel.active_connections" or "kestrel.connection.duration")
            {
                listening.EnableMeasurementEvents(instrument);
            }
        };
        listener.SetMeasurementEventCallback<long>((_, value, _, _) => Interlocked.Add(ref active, value));
        listener.SetMeasurementEventCallback<double>((_, _, _, _) => Interlocked.Increment(ref measured));
        listener.Start();
        await using RunningApplication application = await RunningApplication.StartAsync(transport, Response);

        for (int i = 0; i < 20; i++)
        {
            using RawClient client = await application.ConnectAsync();
            await client.GetAsync();
            Assert.InRange(Interlocked.Read(ref active), 1, 20);
        }

        await Waiting.UntilAsync(() => Interlocked.Read(ref active) == 0, () => $"{active} are still counted.");
        await Waiting.UntilAsync(() => Interlocked.Read(ref measured) == 20, () => $"{measured} were measured.");
    }

    private static int Stopped(RunningApplication application) =>
        application.Log.Entries.Count(static entry => entry.Event.Name == "ConnectionStop");

    private static async Task LiveAsync(RunningApplication application, int way)
    {
        using RawClient client = await application.ConnectAsync();
        switch (way)
        {
            case 0: // Asks and leaves.
                await client.GetAsync();
                break;
            case 1: // Is asked to leave.
                await client.SendAsync("GET / HTTP/1.1\r\nHost: site\r\nConnection: close\r\n\r\n");
                Assert.Equal(Ending.Fin, (await client.ReadToEndAsync()).Ending);
                break;
            case 2: // Resets after its answer.
                await client.GetAsync();
                client.Reset();
                break;
            case 3: // Leaves without a word.
                break;
            default: // Resets in the middle of its request.
                await client.SendAsync("GET / HTTP/1.1\r\nHo");
                client.Reset();
                break;
        }
    }
}
