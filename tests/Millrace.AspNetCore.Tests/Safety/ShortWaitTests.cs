using System.Collections.Concurrent;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Routing;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using Millrace.AspNetCore.Safety;
using Millrace.AspNetCore.Tests.Kit;
using Millrace.AspNetCore.Tests.Safety.Kit;
using Millrace.AspNetCore.Transport;

namespace Millrace.AspNetCore.Tests.Safety;

/// <summary>Requests that wait in their threads for short, each too short to be logged, and together too much.</summary>
public class ShortWaitTests
{
    private readonly ScriptedTime _time = new();

    [Fact]
    public async Task An_endpoint_of_many_short_waits_leaves_by_itself_and_is_logged_once()
    {
        await using GuardedApplication guarded = await StartAsync(static routes =>
        {
            routes.MapGet("/waits/{id}", Wait).WithDisplayName("the waiting endpoint");
            routes.MapGet("/prompt", static context => context.Response.WriteAsync(GuardedApplication.Where()));
        });
        using RawClient client = await guarded.ConnectAsync(reactor: 0);

        await AskUntilAsync(client, "/waits", "-1");
        for (int i = 0; i < 20; i++)
        {
            Assert.Equal("-1", (await client.GetAsync($"/waits/{i}")).Body);
            Assert.Equal("0", (await client.GetAsync("/prompt")).Body);
        }

        LogEntry line = await guarded.Application.Log.ExpectAsync("EndpointLeft");
        Assert.Equal((LogLevel.Warning, 120), (line.Level, line.Event.Id));
        Assert.Contains("the waiting endpoint", line.Text, StringComparison.Ordinal);
        Assert.Contains("[RunOffReactor]", line.Text, StringComparison.Ordinal);
        Assert.Single(guarded.Application.Log.Entries, static entry => entry.Event.Name == "EndpointLeft");
        Assert.False(guarded.Application.Log.Has("MiddlewareLeft"));
    }

    [Fact]
    public async Task Middleware_of_many_short_waits_has_all_requests_leave_before_they_begin()
    {
        await using GuardedApplication guarded = await StartAsync(static routes => routes.Run(Wait));
        using RawClient client = await guarded.Application.ConnectAsync();

        await AskUntilAsync(client, "/anything", "-1");
        Assert.Equal("-1", (await client.GetAsync("/else")).Body);
        LogEntry line = await guarded.Application.Log.ExpectAsync("MiddlewareLeft");
        Assert.Contains("GET /anything", line.Text, StringComparison.Ordinal);
        Assert.False(guarded.Application.Log.Has("EndpointLeft"));
    }

    [Fact]
    public async Task Where_the_waits_come_before_the_endpoint_and_that_has_left_for_them_all_requests_leave()
    {
        bool waits = true;
        await using GuardedApplication guarded = await StartAsync(routes =>
        {
            routes.UseRouting();
            routes.Use(async (context, next) =>
            {
                context.Response.Headers["Place"] = GuardedApplication.Where();
                if (waits)
                {
                    Thread.Sleep(20);
                }

                await next();
            });
            routes.MapGet("/inner", static context => context.Response.WriteAsync(context.Response.Headers["Place"].ToString()));
        });
        using RawClient client = await guarded.ConnectAsync(reactor: 0);

        for (int i = 0; i < 500 && !guarded.Application.Log.Has("EndpointLeft"); i++)
        {
            await client.GetAsync("/inner");
        }

        await guarded.Application.Log.ExpectAsync("EndpointLeft");
        _time.AdvanceMs(BlockingPolicies.WindowMs);
        await AskUntilAsync(client, "/inner", "-1");
        await guarded.Application.Log.ExpectAsync("MiddlewareLeft");

        waits = false;
        _time.AdvanceMs(BlockingPolicies.CalmMs);
        await client.GetAsync("/inner");
        await AskUntilAsync(client, "/inner", "0");
    }

    [Fact]
    public async Task An_endpoint_that_has_been_calm_comes_back_and_is_not_warned_of_again()
    {
        bool waits = true;
        await using GuardedApplication guarded = await StartAsync(routes => routes.MapGet("/waits/{id}", context =>
        {
            if (waits)
            {
                Thread.Sleep(20);
            }

            return context.Response.WriteAsync(GuardedApplication.Where());
        }));
        using RawClient client = await guarded.ConnectAsync(reactor: 0);

        for (int round = 0; round < 2; round++)
        {
            waits = true;
            await AskUntilAsync(client, "/waits", "-1");
            waits = false;
            _time.AdvanceMs(BlockingPolicies.CalmMs - 1);
            await client.GetAsync("/waits/0");
            Assert.Equal("-1", (await client.GetAsync("/waits/0")).Body);
            _time.AdvanceMs(1);
            await AskUntilAsync(client, "/waits", "0");
        }

        Assert.Single(guarded.Application.Log.Entries, static entry => entry is { Event.Name: "EndpointLeft", Level: LogLevel.Warning });
        Assert.Contains(guarded.Application.Log.Entries, static entry => entry.Event.Name == "EndpointReturned");
    }

    /// <summary>Requests return to their reactor after each await, so that what follows one blocks the reactor as what comes before.</summary>
    [Fact]
    public async Task An_endpoint_that_blocks_after_an_await_does_not_come_back_until_that_is_over()
    {
        bool waits = true;
        await using GuardedApplication guarded = await StartAsync(
            routes => routes.MapGet("/waits/{id}", async context =>
            {
                await Task.Yield();
                if (waits)
                {
                    Thread.Sleep(20);
                }

                await context.Response.WriteAsync(GuardedApplication.Where());
            }),
            usesContext: true);
        using RawClient client = await guarded.ConnectAsync(reactor: 0);
        await AskUntilAsync(client, "/waits", "-1");

        for (int round = 0; round < 5; round++)
        {
            for (int i = 0; i < 4; i++)
            {
                Assert.Equal("-1", (await client.GetAsync($"/waits/{i}")).Body);
            }

            _time.AdvanceMs(BlockingPolicies.CalmMs - 1);
        }

        Assert.Equal("-1", (await client.GetAsync("/waits/0")).Body);
        Assert.False(guarded.Application.Log.Has("EndpointReturned"));
        waits = false;
        _time.AdvanceMs(BlockingPolicies.CalmMs);
        await AskUntilAsync(client, "/waits", "0");
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task What_computes_stays_however_long_it_takes()
    {
        await using GuardedApplication guarded = await StartAsync(static routes => routes.MapGet("/computes", static context =>
        {
            long began = Environment.TickCount64;
            while (Environment.TickCount64 - began < 20)
            {
                Thread.SpinWait(1000);
            }

            return context.Response.WriteAsync(GuardedApplication.Where());
        }));
        using RawClient client = await guarded.ConnectAsync(reactor: 0);
        for (int i = 0; i < 100; i++)
        {
            Assert.Equal("0", (await client.GetAsync("/computes")).Body);
            // A wait of the machine's now and then does not add up.
            _time.AdvanceMs(20);
        }
    }

    [Fact]
    public async Task An_endpoint_keeps_its_metadata_and_its_route_values_when_it_leaves()
    {
        var seen = new ConcurrentQueue<string>();
        await using GuardedApplication guarded = await StartAsync(routes =>
        {
            routes.UseRouting();
            routes.Use((context, next) =>
            {
                seen.Enqueue($"{context.GetEndpoint()?.Metadata.GetMetadata<string>()} {context.GetRouteValue("id")}");
                return next();
            });
            routes.MapGet("/waits/{id}", Wait).WithMetadata("marked");
        });
        using RawClient client = await guarded.ConnectAsync(reactor: 0);
        await AskUntilAsync(client, "/waits", "-1");
        seen.Clear();
        await client.GetAsync("/waits/7");
        Assert.Equal("marked 7", Assert.Single(seen));
    }

    private Task<GuardedApplication> StartAsync(Action<WebApplication> routes, bool usesContext = false) => GuardedApplication.StartAsync(
        1,
        routes,
        usesContext: usesContext,
        services: services => services.AddSingleton(all => new BlockingPolicies(
            _time, new TransportLog(all.GetRequiredService<ILoggerFactory>().CreateLogger(TransportLog.Category)))));

    private static Task Wait(HttpContext context)
    {
        Thread.Sleep(20);
        return context.Response.WriteAsync(GuardedApplication.Where());
    }

    private static async Task AskUntilAsync(RawClient client, string path, string place)
    {
        string last = "";
        for (int i = 0; i < 1_000 && last != place; i++)
        {
            last = (await client.GetAsync($"{path}{(path == "/waits" ? $"/{i}" : "")}")).Body;
        }

        Assert.Equal(place, last);
    }
}
