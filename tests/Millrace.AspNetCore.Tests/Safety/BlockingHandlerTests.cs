using System.IO.Pipelines;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.Extensions.Logging;
using Millrace.AspNetCore.Tests.Kit;
using Millrace.AspNetCore.Tests.Safety.Kit;

namespace Millrace.AspNetCore.Tests.Safety;

/// <summary>
/// Handlers that block the reactor they run on: what others notice of it, and how it ends. With a synchronization context requests stay
/// there to wait for their bodies; without, they leave before (<see cref="SynchronousBodyTests"/>).
/// </summary>
public class BlockingHandlerTests
{
    private const string SlowBody = "POST /read HTTP/1.1\r\nHost: site\r\nContent-Length: 5\r\n\r\n";

    [Fact]
    public async Task Others_and_whoever_comes_are_served_while_a_handler_blocks()
    {
        using var gate = new ManualResetEventSlim();
        using var entered = new SemaphoreSlim(0);
        await using GuardedApplication guarded = await GuardedApplication.StartAsync(2, routes => routes.MapGet("/block", context =>
        {
            entered.Release();
            gate.Wait(Waiting.Patience);
            return context.Response.WriteAsync("over");
        }).WithDisplayName("the blocking endpoint"));
        using RawClient blocked = await guarded.ConnectAsync(reactor: 0);
        using RawClient neighbour = await guarded.ConnectAsync(reactor: 0);
        using RawClient other = await guarded.ConnectAsync(reactor: 1);

        if (guarded.Application.Log.Has("Stalled"))
        {
            // The machine's doing; more of these lines are left out for ten seconds.
            // Sleeps: only where the machine held a reactor up before the test did.
            await Task.Delay(TimeSpan.FromSeconds(11));
            guarded.Application.Log.Entries.Clear();
        }

        await blocked.SendAsync("GET /block HTTP/1.1\r\nHost: site\r\n\r\n");
        Assert.True(await entered.WaitAsync(Waiting.Patience));
        Assert.Equal("1", (await other.GetAsync("/where")).Body);
        await Task.WhenAll(Enumerable.Range(0, 30).Select(async _ =>
        {
            using RawClient newcomer = await guarded.Application.ConnectAsync();
            await newcomer.GetAsync("/where");
            Assert.Equal("1", (await newcomer.GetAsync("/where")).Body);
        }));
        LogEntry line = await guarded.Application.Log.ExpectAsync("Stalled");
        Assert.Equal((LogLevel.Warning, 105), (line.Level, line.Event.Id));
        Assert.Contains("the blocking endpoint", line.Text, StringComparison.Ordinal);
        gate.Set();

        Assert.Equal("over", (await blocked.ReadResponseAsync()).Body);
        Assert.Equal("0", (await neighbour.GetAsync("/where")).Body);
        Assert.Equal(0, guarded.Group.Reactors[0].Counters.WaitsFailed);
        Assert.InRange(guarded.Group.Reactors[0].Counters.Stalls, 1, long.MaxValue);
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task A_stop_ends_what_it_can_while_a_handler_blocks()
    {
        using var gate = new ManualResetEventSlim();
        using var entered = new SemaphoreSlim(0);
        GuardedApplication guarded = await GuardedApplication.StartAsync(2, routes => routes.MapGet("/block", context =>
        {
            entered.Release();
            gate.Wait();
            return Task.CompletedTask;
        }));
        using RawClient blocked = await guarded.ConnectAsync(reactor: 0);
        using RawClient other = await guarded.ConnectAsync(reactor: 1);
        await blocked.SendAsync("GET /block HTTP/1.1\r\nHost: site\r\n\r\n");
        Assert.True(await entered.WaitAsync(Waiting.Patience));

        try
        {
            Task stopping = guarded.Application.StopAsync(TimeSpan.FromSeconds(4));
            Assert.Equal(("", Ending.Fin), await other.ReadToEndAsync());
            Assert.False(stopping.IsCompleted);
            await stopping.Within();
            await guarded.DisposeAsync();
        }
        finally
        {
            gate.Set();
        }

        await guarded.Application.Log.ExpectAsync("UnbindingLeft");
        await guarded.Application.Log.ExpectAsync("ReactorsLeft");
        await guarded.Group.DisposeAsync().AsTask().Within();
    }

    [Theory]
    [InlineData("Read")]
    [InlineData("ReadAsync().Result")]
    [InlineData("ReadAsync().Result on the pool")]
    [InlineData("BodyReader.ReadAsync().Result")]
    public async Task A_wait_for_a_body_that_only_the_blocked_reactor_can_bring_ends_with_an_exception(string wait)
    {
        var seen = new TaskCompletionSource<Exception>(TaskCreationOptions.RunContinuationsAsynchronously);
        await using GuardedApplication guarded = await GuardedApplication.StartAsync(1, usesContext: true, routes: routes => routes.MapPost("/read", context =>
        {
            try
            {
                WaitForBody(context, wait);
            }
#pragma warning disable CA1031 // Whatever it is, the test looks at it.
            catch (Exception error)
#pragma warning restore CA1031
            {
                seen.SetResult(error);
                throw;
            }

            return Task.CompletedTask;
        }));
        using RawClient neighbour = await guarded.ConnectAsync(reactor: 0);
        using RawClient client = await guarded.ConnectAsync(reactor: 0);

        await client.SendAsync(SlowBody);
        ConnectionAbortedException cause = CauseOf(await seen.Task.Within());
        Assert.Contains("[RunOffReactor]", cause.Message, StringComparison.Ordinal);
        Assert.Equal("0", (await neighbour.GetAsync("/where")).Body);
        Assert.Equal(Ending.Reset, (await client.ReadToEndAsync()).Ending);
        await guarded.ExpectWaitFailedAsync();
        LogEntry line = await guarded.Application.Log.ExpectAsync("ReactorWaitFailed");
        Assert.Contains("/read", line.Text, StringComparison.Ordinal);
    }

    /// <summary>Once it goes on, its handler ends and nothing is known of it any more.</summary>
    [Fact]
    [Trait("Duration", "Full")]
    public async Task The_request_of_a_wait_that_is_failed_is_named_before_it_goes_on()
    {
        await using GuardedApplication guarded = await GuardedApplication.StartAsync(1, usesContext: true, routes: routes => routes.MapPost("/read", context =>
        {
            var endpoint = new WaitingEndpoint();
            context.Features.Set<IEndpointFeature>(endpoint);
            try
            {
                WaitForBody(context, "Read");
            }
            finally
            {
                endpoint.HasEnded.Set();
            }

            return Task.CompletedTask;
        }));
        using RawClient client = await guarded.ConnectAsync(reactor: 0);

        await client.SendAsync(SlowBody);
        LogEntry line = await guarded.Application.Log.ExpectAsync("ReactorWaitFailed");
        Assert.Contains(WaitingEndpoint.Name, line.Text, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_wait_for_what_was_posted_to_the_blocked_reactor_ends()
    {
        await using GuardedApplication guarded = await GuardedApplication.StartAsync(1, routes => routes.MapPost("/read", context =>
        {
            // The body is there: all that the read needs is to return to the reactor that its handler blocks.
            long bytes = Task.Run(async () =>
            {
                ReadResult body = await context.Request.BodyReader.ReadAtLeastAsync(5);
                context.Request.BodyReader.AdvanceTo(body.Buffer.End);
                return body.Buffer.Length;
            }).Result;
            return context.Response.WriteAsync($"{bytes} bytes");
        }));
        using RawClient neighbour = await guarded.ConnectAsync(reactor: 0);
        using RawClient client = await guarded.ConnectAsync(reactor: 0);

        await client.SendAsync(SlowBody + "bytes");
        Assert.Equal("5 bytes", (await client.ReadResponseAsync()).Body);
        Assert.Equal("0", (await neighbour.GetAsync("/where")).Body);
        Assert.Equal("0", (await client.GetAsync("/where")).Body);
        Assert.Equal(0, guarded.Group.Reactors[0].Counters.WaitsFailed);
    }

    [Fact]
    public async Task A_handler_that_blocks_for_something_else_keeps_its_connection()
    {
        using var gate = new SemaphoreSlim(0);
        await using GuardedApplication guarded = await GuardedApplication.StartAsync(1, usesContext: true, routes: routes => routes.MapPost("/read", async context =>
        {
            context.Features.GetRequiredFeature<IHttpBodyControlFeature>().AllowSynchronousIO = true;
            gate.Wait(Waiting.Patience);
            using var reader = new StreamReader(context.Request.Body);
            await context.Response.WriteAsync($"got {await reader.ReadToEndAsync()}");
        }));
        using RawClient client = await guarded.ConnectAsync(reactor: 0);
        for (int i = 0; i < 2; i++)
        {
            await client.SendAsync(SlowBody);
            await Waiting.UntilAsync(() => guarded.Group.Reactors[0].Counters.Stalls > i, () => "It was not stalled.");
            await client.SendAsync("bytes");
            gate.Release();
            Assert.Equal("got bytes", (await client.ReadResponseAsync()).Body);
        }

        Assert.Equal(0, guarded.Group.Reactors[0].Counters.WaitsFailed);
    }

    [Fact]
    public async Task A_handler_that_blocks_for_something_else_while_a_read_is_under_way_keeps_its_connection()
    {
        await using GuardedApplication guarded = await GuardedApplication.StartAsync(1, usesContext: true, routes: routes =>
            routes.MapPost("/read", async context =>
            {
                byte[] bytes = new byte[5];
                Task<int> read = context.Request.Body.ReadAsync(bytes).AsTask();
                await Task.Delay(10);
                Assert.Equal("0", GuardedApplication.Where());
                // Four times as long as somebody has who is blocked for the read.
                // Sleeps: blocking is what the handler is there for.
                Thread.Sleep(800);
                await context.Response.WriteAsync($"got {await read}");
            }));
        using RawClient client = await guarded.ConnectAsync(reactor: 0);

        await client.SendAsync(SlowBody);
        await guarded.Application.Log.ExpectAsync("StallEnded");
        await client.SendAsync("bytes");

        Assert.Equal("got 5", (await client.ReadResponseAsync()).Body);
        Assert.Equal(0, guarded.Group.Reactors[0].Counters.WaitsFailed);
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task A_wait_for_a_read_that_began_before_ends_with_an_exception_too()
    {
        var seen = new TaskCompletionSource<Exception>(TaskCreationOptions.RunContinuationsAsynchronously);
        await using GuardedApplication guarded = await GuardedApplication.StartAsync(1, usesContext: true, routes: routes =>
            routes.MapPost("/read", async context =>
            {
                Task<int> read = context.Request.Body.ReadAsync(new byte[5]).AsTask();
                await Task.Delay(10);
                try
                {
                    _ = read.Result;
                }
#pragma warning disable CA1031 // Whatever it is, the test looks at it.
                catch (Exception error)
#pragma warning restore CA1031
                {
                    seen.SetResult(error);
                    throw;
                }
            }));
        using RawClient neighbour = await guarded.ConnectAsync(reactor: 0);
        using RawClient client = await guarded.ConnectAsync(reactor: 0);

        await client.SendAsync(SlowBody);
        Assert.Contains("[RunOffReactor]", CauseOf(await seen.Task.Within()).Message, StringComparison.Ordinal);
        Assert.Equal("0", (await neighbour.GetAsync("/where")).Body);
        await guarded.ExpectWaitFailedAsync();
    }

    [Theory]
    [InlineData("in small writes")]
    [InlineData("in one write")]
    [InlineData("on the pool")]
    public async Task An_answer_that_is_written_synchronously_costs_time_and_arrives_whole(string manner)
    {
        const int Pieces = 500;
        byte[] piece = new byte[16 * 1024];
        Random.Shared.NextBytes(piece);
        await using GuardedApplication guarded = await GuardedApplication.StartAsync(1, routes => routes.MapGet("/write", context =>
        {
            context.Features.GetRequiredFeature<IHttpBodyControlFeature>().AllowSynchronousIO = true;
            context.Response.ContentLength = Pieces * piece.Length;
            Stream body = context.Response.Body;
            switch (manner)
            {
                case "in one write":
                    body.Write([.. Enumerable.Repeat(piece, Pieces).SelectMany(static each => each)]);
                    break;
                case "on the pool":
                    Task.Run(async () => await body.WriteAsync((byte[])[.. Enumerable.Repeat(piece, Pieces).SelectMany(static each => each)]))
                        .Wait();
                    break;
                default:
                    for (int i = 0; i < Pieces; i++)
                    {
                        body.Write(piece);
                    }

                    break;
            }

            return Task.CompletedTask;
        }));
        using HttpClient client = guarded.Application.NewClient();
        using RawClient neighbour = await guarded.ConnectAsync(reactor: 0);

        for (int i = 0; i < 2; i++)
        {
            byte[] body = await client.GetByteArrayAsync("/write").Within();
            Assert.Equal(Pieces * piece.Length, body.Length);
            Assert.All(body.Chunk(piece.Length), chunk => Assert.True(chunk.AsSpan().SequenceEqual(piece)));
            Assert.Equal("0", (await neighbour.GetAsync("/where")).Body);
        }

        Assert.Equal(0, guarded.Group.Reactors[0].Counters.WaitsFailed);
    }

    [Fact]
    public async Task One_who_writes_without_end_is_stopped()
    {
        await using GuardedApplication guarded = await GuardedApplication.StartAsync(1, routes => routes.MapGet("/write", context =>
        {
            context.Features.GetRequiredFeature<IHttpBodyControlFeature>().AllowSynchronousIO = true;
            byte[] piece = new byte[64 * 1024];
            while (!context.RequestAborted.IsCancellationRequested)
            {
                context.Response.Body.Write(piece);
            }

            return Task.CompletedTask;
        }));
        using RawClient neighbour = await guarded.ConnectAsync(reactor: 0);
        using RawClient client = await guarded.ConnectAsync(reactor: 0);

        await client.SendAsync("GET /write HTTP/1.1\r\nHost: site\r\n\r\n");
        await guarded.Application.Log.ExpectAsync("ReactorWaitFailed");
        Assert.Equal("0", (await neighbour.GetAsync("/where")).Body);
        Assert.Equal(Ending.Reset, (await client.ReadToEndAsync()).Ending);
    }

    private static void WaitForBody(HttpContext context, string wait)
    {
        context.Features.GetRequiredFeature<IHttpBodyControlFeature>().AllowSynchronousIO = true;
        byte[] buffer = new byte[5];
        Stream body = context.Request.Body;
        _ = wait switch
        {
            "Read" => body.Read(buffer),
            "ReadAsync().Result" => body.ReadAsync(buffer).AsTask().Result,
            "ReadAsync().Result on the pool" => Task.Run(async () => await body.ReadAsync(buffer)).Result,
            _ => context.Request.BodyReader.ReadAsync().AsTask().Result.Buffer.Length,
        };
    }

    private static ConnectionAbortedException CauseOf(Exception error)
    {
        Exception? cause = error;
        while (cause is not (null or ConnectionAbortedException))
        {
            cause = cause.InnerException;
        }

        Assert.True(cause is ConnectionAbortedException, $"It failed with another error: {error}");
        return (ConnectionAbortedException)cause;
    }

    /// <summary>An endpoint that is there while its handler waits: who asks for it gives the handler time to end.</summary>
    private sealed class WaitingEndpoint : IEndpointFeature
    {
        public const string Name = "the waiting endpoint";

        public ManualResetEventSlim HasEnded { get; } = new();

        public Endpoint? Endpoint
        {
            get => HasEnded.Wait(100) ? null : new Endpoint(null, null, Name);
            set => throw new NotSupportedException();
        }
    }
}
