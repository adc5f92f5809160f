using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;
using Millrace.AspNetCore.Tests.Kit;
using Millrace.AspNetCore.Tests.Safety.Kit;
using Millrace.Engine.Diagnostics;

namespace Millrace.AspNetCore.Tests.Safety;

/// <summary>Requests that leave the reactor, whole or in part, and the next ones of their connections.</summary>
public class LeavingTests
{
    [Fact]
    public async Task A_marked_endpoint_runs_on_the_pool_and_its_neighbour_on_the_reactor()
    {
        await using GuardedApplication guarded = await GuardedApplication.StartAsync(1, static routes =>
        {
            routes.MapGet("/convention", Place).RunOffReactor();
            routes.MapGet("/attribute", [RunOffReactor] (HttpContext context) => Place(context));
            routes.MapGroup("/group").RunOffReactor().MapGet("/member", Place);
            routes.MapGet("/{name}", Place);
        });
        using RawClient client = await guarded.ConnectAsync(reactor: 0);

        for (int i = 0; i < 3; i++)
        {
            foreach (string marked in (string[])["/convention", "/attribute", "/group/member"])
            {
                Assert.Equal("-1 pool", (await client.GetAsync(marked)).Body);
                Assert.Equal("0", (await client.GetAsync("/neighbour")).Body);
            }
        }
    }

    [Fact]
    public async Task Pipelined_requests_after_a_marked_one_are_on_the_reactor()
    {
        await using GuardedApplication guarded = await GuardedApplication.StartAsync(
            1, static routes => routes.MapGet("/off", Place).RunOffReactor());
        using RawClient client = await guarded.ConnectAsync(reactor: 0);
        const string Off = "GET /off HTTP/1.1\r\nHost: site\r\n\r\n";
        const string Where = "GET /where HTTP/1.1\r\nHost: site\r\n\r\n";

        await client.SendAsync(Off + Where + Off + Where);
        foreach (string place in (string[])["-1 pool", "0", "-1 pool", "0"])
        {
            Assert.Equal(place, (await client.ReadResponseAsync()).Body);
        }
    }

    [Fact]
    public async Task However_late_the_caller_checks_the_leave_of_what_it_called_is_not_over()
    {
        await using GuardedApplication guarded = await GuardedApplication.StartAsync(1, static routes => routes.MapGet("/slow", static async context =>
        {
            Task leave = LeaveWithinAsync(context);
            Thread.Sleep(20);
            bool isOver = leave.IsCompleted;
            await leave;
            await context.Response.WriteAsync($"{isOver} {GuardedApplication.Where()}");
        }));
        using RawClient client = await guarded.ConnectAsync(reactor: 0);
        Assert.Equal("False -1", (await client.GetAsync("/slow")).Body);
    }

    [Fact]
    public async Task Who_leaves_when_it_has_held_the_reactor_up_already_is_on_the_pool()
    {
        await using GuardedApplication guarded = await GuardedApplication.StartAsync(1, static routes => routes.MapGet("/late", static async context =>
        {
            ValueTask leave = context.LeaveReactor();
            // Sleeps: blocking is what the handler is there for.
            Thread.Sleep(StallDetector.StallMs * 3);
            await leave;
            await context.Response.WriteAsync(GuardedApplication.Where());
        }));
        using RawClient client = await guarded.ConnectAsync(reactor: 0);
        Assert.Equal("-1", (await client.GetAsync("/late")).Body);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task A_handler_that_blocks_until_what_it_called_has_left_costs_time_and_not_the_reactor(bool isWatched)
    {
        await using GuardedApplication guarded = await GuardedApplication.StartAsync(
            1,
            static routes => routes.MapGet("/wait", static context =>
            {
                LeaveWithinAsync(context).Wait();
                return context.Response.WriteAsync(GuardedApplication.Where());
            }),
            isWatched);
        using RawClient client = await guarded.ConnectAsync(reactor: 0);
        Assert.Equal("0", (await client.GetAsync("/wait")).Body);
        Assert.Equal(0, guarded.Group.Reactors[0].Counters.WaitsFailed);
    }

    [Fact]
    public async Task A_handler_that_has_left_is_not_brought_back_by_its_reads_and_writes()
    {
        var body = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        await using GuardedApplication guarded = await GuardedApplication.StartAsync(1, usesContext: true, routes: routes => routes.MapPost("/leave", async context =>
        {
            var places = new List<string> { GuardedApplication.Where() };
            await context.LeaveReactor();
            places.Add(GuardedApplication.Where());
            byte[] piece = new byte[5];
            body.SetResult();
            await context.Request.Body.ReadExactlyAsync(piece);
            places.Add(GuardedApplication.Where());
            await context.Response.Body.WriteAsync(new byte[4 * 1024 * 1024]);
            places.Add(GuardedApplication.Where());
            await context.Response.WriteAsync(string.Join(',', places) + ".");
        }));
        using RawClient client = await guarded.ConnectAsync(reactor: 0);

        await client.SendAsync("POST /leave HTTP/1.1\r\nHost: site\r\nContent-Length: 5\r\n\r\n");
        await body.Task.Within();
        await client.SendAsync("bytes");
        Assert.EndsWith("0,-1,-1,-1.", (await client.ReadResponseAsync()).Body, StringComparison.Ordinal);
        Assert.Equal("0", (await client.GetAsync("/where")).Body);
    }

    [Fact]
    public async Task A_marked_endpoint_may_wait_for_its_body_synchronously()
    {
        using var entered = new SemaphoreSlim(0);
        await using GuardedApplication guarded = await GuardedApplication.StartAsync(1, routes => routes.MapPost("/off", context =>
        {
            entered.Release();
            byte[] piece = new byte[5];
            context.Request.Body.ReadExactlyAsync(piece).AsTask().Wait();
            return context.Response.WriteAsync("got it");
        }).RunOffReactor());
        using RawClient neighbour = await guarded.ConnectAsync(reactor: 0);
        using RawClient client = await guarded.ConnectAsync(reactor: 0);

        await client.SendAsync("POST /off HTTP/1.1\r\nHost: site\r\nContent-Length: 5\r\n\r\n");
        Assert.True(await entered.WaitAsync(Waiting.Patience));
        Assert.Equal("0", (await neighbour.GetAsync("/where")).Body);
        await client.SendAsync("bytes");
        Assert.Equal("got it", (await client.ReadResponseAsync()).Body);
        Assert.Equal(0, guarded.Group.Reactors[0].Counters.WaitsFailed);
    }

    [Theory]
    [InlineData(TransportKind.Sockets)]
    [InlineData(TransportKind.MillraceOnThePool)]
    public async Task Where_there_is_no_reactor_to_leave_nothing_happens(TransportKind transport)
    {
        await using RunningApplication application = await RunningApplication.StartAsync(transport, static async context =>
        {
            int before = Environment.CurrentManagedThreadId;
            await context.LeaveReactor();
            await context.Response.WriteAsync($"{before == Environment.CurrentManagedThreadId}");
        });
        using RawClient client = await application.ConnectAsync();
        Assert.Equal("True", (await client.GetAsync()).Body);
    }

    private static async Task LeaveWithinAsync(HttpContext context) => await context.LeaveReactor();

    private static Task Place(HttpContext context) =>
        context.Response.WriteAsync(GuardedApplication.Where() + (Thread.CurrentThread.IsThreadPoolThread ? " pool" : ""));
}
