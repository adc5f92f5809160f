using System.IO.Pipelines;
using System.Text;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Millrace.AspNetCore.Tests.Kit;

namespace Millrace.AspNetCore.Tests.Contract;

/// <summary>How connections end before their time, by the peer or by the application, and how that is logged.</summary>
public class AbortTests
{
    [Theory, EachTransport]
    public Task A_fin_cancels_RequestAborted(TransportKind transport) => AbortedAsync(transport, Ending.Fin);

    [Theory, EachTransport]
    public Task A_reset_cancels_RequestAborted(TransportKind transport) => AbortedAsync(transport, Ending.Reset);

    [Theory, EachTransport]
    public Task A_fin_cancels_ConnectionClosed_once_and_on_the_pool(TransportKind transport) => ClosedAsync(transport, Ending.Fin);

    [Theory, EachTransport]
    public Task A_reset_cancels_ConnectionClosed_once_and_on_the_pool(TransportKind transport) => ClosedAsync(transport, Ending.Reset);

    [Theory, EachTransport]
    public async Task A_body_that_a_fin_cut_short_is_a_bad_request(TransportKind transport)
    {
        Exception seen = await CutBodyAsync(transport, Ending.Fin);

        Assert.Equal("Unexpected end of request content.", Assert.IsType<BadHttpRequestException>(seen, exactMatch: false).Message);
    }

    [Theory, EachTransport]
    public async Task A_body_that_a_reset_cut_short_is_a_ConnectionResetException(TransportKind transport) =>
        Assert.IsType<ConnectionResetException>(await CutBodyAsync(transport, Ending.Reset));

    [Theory, EachTransport]
    public async Task A_connection_handler_reads_its_peers_fin_as_the_end(TransportKind transport)
    {
        (ReadOutcome outcome, string text) = await ReadOneAsync(transport, Ending.Fin);

        Assert.Equal((ReadOutcome.Completed, "bytes"), (outcome, text));
    }

    [Theory, EachTransport]
    public async Task A_connection_handler_reads_its_peers_reset_as_an_exception(TransportKind transport)
    {
        (ReadOutcome outcome, string _) = await ReadOneAsync(transport, Ending.Reset);

        Assert.Equal(ReadOutcome.Reset, outcome);
    }

    [Theory, EachTransport]
    [Trait("Duration", "Full")]
    public async Task A_handler_that_writes_learns_that_its_reader_has_reset(TransportKind transport)
    {
        var ended = new TaskCompletionSource<bool>(TaskCreationOptions.RunContinuationsAsynchronously);
        await using RunningApplication application = await RunningApplication.StartAsync(
            transport,
            async context =>
            {
                byte[] piece = new byte[10_000];
                while (!context.RequestAborted.IsCancellationRequested)
                {
                    // Once the peer is gone this completes at once, and says nothing; the token does.
                    await context.Response.Body.WriteAsync(piece);
                }

                ended.SetResult(context.RequestAborted.IsCancellationRequested);
            },
            static limits => limits.MinResponseDataRate = null);
        using RawClient client = await RawClient.ConnectAsync(application.EndPoint, receiveBufferBytes: 16_384);
        await client.SendAsync("GET / HTTP/1.1\r\nHost: site\r\n\r\n");
        await client.ReadThroughAsync("\r\n\r\n");
        // By then the handler most likely stands still in a write, as nobody reads.
        // Sleeps: the kernel does not say that a handler stands still in a write.
        await Task.Delay(300);

        client.Reset();

        Assert.True(await ended.Task.Within());
        Assert.Empty(application.Log.AboveDebug);
    }

    [Theory, EachTransport]
    public async Task Abort_by_the_application_is_a_reset(TransportKind transport)
    {
        await using RunningApplication application = await RunningApplication.StartAsync(transport, static context =>
        {
            context.Abort();
            return Task.CompletedTask;
        });
        using RawClient client = await application.ConnectAsync();
        await client.SendAsync("GET / HTTP/1.1\r\nHost: site\r\n\r\n");

        Assert.Equal(("", Ending.Reset), await client.ReadToEndAsync());
        Assert.Contains("aborted by the application", (await application.Log.ExpectAsync("ConnectionWriteRst")).Text, StringComparison.Ordinal);
    }

    [Theory, EachTransport]
    public async Task An_answer_that_was_begun_and_aborted_does_not_look_whole(TransportKind transport)
    {
        await using RunningApplication application = await RunningApplication.StartAsync(transport, static async context =>
        {
            await context.Response.WriteAsync("half");
            await context.Response.Body.FlushAsync();
            context.Abort();
        });
        using RawClient client = await application.ConnectAsync();
        await client.SendAsync("GET / HTTP/1.1\r\nHost: site\r\n\r\n");

        (string text, Ending ending) = await client.ReadToEndAsync();

        Assert.DoesNotContain("0\r\n\r\n", text, StringComparison.Ordinal);
        Assert.Equal(Ending.Reset, ending);
    }

    [Theory, EachTransport]
    public async Task Abort_from_many_threads_ends_the_connection_once(TransportKind transport)
    {
        int closed = 0;
        var over = new TaskCompletionSource<Exception?>(TaskCreationOptions.RunContinuationsAsynchronously);
        await using RunningApplication application = await RunningApplication.StartAsync(
            transport,
            static _ => Task.CompletedTask,
            endpoint: endpoint => endpoint.Run(async connection =>
            {
                connection.ConnectionClosed.Register(() => Interlocked.Increment(ref closed));
                ReadResult first = await connection.Transport.Input.ReadAsync();
                connection.Transport.Input.AdvanceTo(first.Buffer.End);
                await Task.WhenAll(Enumerable.Range(0, 8).Select(i => Task.Run(
                    () => connection.Abort(new ConnectionAbortedException($"reason {i}")))));
                over.SetResult(await Record.ExceptionAsync(async () => await connection.Transport.Input.ReadAsync()));
            }));
        using RawClient client = await application.ConnectAsync();
        await client.SendAsync("now");

        Assert.Equal(("", Ending.Reset), await client.ReadToEndAsync());
        Exception? read = await over.Task.Within();
        Assert.StartsWith("reason ", Assert.IsType<ConnectionAbortedException>(read).Message, StringComparison.Ordinal);
        await Waiting.UntilAsync(() => Volatile.Read(ref closed) > 0, static () => "ConnectionClosed was never cancelled.");
        Assert.Single(application.Log.Entries, static entry => entry.Event.Name == "ConnectionWriteRst");
        Assert.Equal(1, closed);
    }

    [Theory, EachTransport]
    public async Task Abort_wakes_a_handler_that_waits_for_its_body(TransportKind transport)
    {
        var woken = new TaskCompletionSource<Exception>(TaskCreationOptions.RunContinuationsAsynchronously);
        await using RunningApplication application = await RunningApplication.StartAsync(transport, async context =>
        {
            Task reading = context.Request.Body.ReadExactlyAsync(new byte[10]).AsTask();
            await Task.Yield();
            context.Abort();
            woken.SetResult((await Record.ExceptionAsync(() => reading))!);
        });
        using RawClient client = await application.ConnectAsync();
        await client.SendAsync("POST / HTTP/1.1\r\nHost: site\r\nContent-Length: 10\r\n\r\n");

        // Kestrel's request stream says it in this way; what the transport's pipe said is inside.
        Assert.IsType<ConnectionAbortedException>(Assert.IsType<TaskCanceledException>(await woken.Task.Within()).InnerException);
        Assert.Equal(("", Ending.Reset), await client.ReadToEndAsync());
    }

    [Theory, EachTransport]
    public async Task Abort_wakes_a_handler_that_waits_for_its_reader(TransportKind transport)
    {
        var woken = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        await using RunningApplication application = await RunningApplication.StartAsync(
            transport,
            async context =>
            {
                using var abort = new CancellationTokenSource(TimeSpan.FromMilliseconds(300));
                abort.Token.Register(context.Abort);
                while (!context.RequestAborted.IsCancellationRequested)
                {
                    await context.Response.Body.WriteAsync(new byte[100_000]);
                }

                woken.SetResult();
            },
            static limits => limits.MinResponseDataRate = null);
        using RawClient client = await RawClient.ConnectAsync(application.EndPoint, receiveBufferBytes: 16_384);
        await client.SendAsync("GET / HTTP/1.1\r\nHost: site\r\n\r\n");

        await woken.Task.Within();
        Assert.Equal(Ending.Reset, (await client.ReadToEndAsync()).Ending);
    }

    [Theory, EachTransport]
    public async Task Whatever_peers_do_is_logged_at_debug_at_most(TransportKind transport)
    {
        await using RunningApplication application = await RunningApplication.StartAsync(
            transport,
            static context => context.Request.Method == "GET"
                ? context.Response.WriteAsync("answer")
                // Its end by RequestAborted is nobody's fault; what a read of the body throws would be reported as the application's.
                : Task.Delay(Timeout.Infinite, context.RequestAborted));
        foreach (string sent in (string[])["", "GE", "POST / HTTP/1.1\r\nHost: site\r\nContent-Length: 10\r\n\r\nabc", "GET / HTTP/1.1\r\nHost: site\r\n\r\n"])
        {
            foreach (Ending ending in Enum.GetValues<Ending>())
            {
                RawClient client = await application.ConnectAsync();
                await client.SendAsync(sent);
                await Task.Delay(20);
                if (ending == Ending.Fin)
                {
                    client.Dispose();
                }
                else
                {
                    client.Reset();
                }
            }
        }

        await application.StopAsync().Within();

        Assert.Empty(application.Log.AboveDebug);
        Assert.True(application.Log.Has("ConnectionReadFin"), application.Log.ToString());
        Assert.True(application.Log.Has("ConnectionReset"), application.Log.ToString());
    }

    [Theory, EachTransport]
    public async Task Ends_are_logged_under_the_ids_of_the_sockets_transport(TransportKind transport)
    {
        await using RunningApplication application = await RunningApplication.StartAsync(
            transport, static context => context.Response.WriteAsync("answer"));
        using (RawClient leaving = await application.ConnectAsync())
        {
            await leaving.GetAsync();
            leaving.Fin();
            Assert.Equal(("", Ending.Fin), await leaving.ReadToEndAsync());
        }

        using (RawClient resetting = await application.ConnectAsync())
        {
            await resetting.GetAsync();
            resetting.Reset();
        }

        Assert.Equal(6, (await application.Log.ExpectAsync("ConnectionReadFin")).Event.Id);
        Assert.Equal(7, (await application.Log.ExpectAsync("ConnectionWriteFin")).Event.Id);
        Assert.Equal(19, (await application.Log.ExpectAsync("ConnectionReset")).Event.Id);
    }

    private enum ReadOutcome
    {
        Completed,
        Reset,
    }

    private static async Task AbortedAsync(TransportKind transport, Ending ending)
    {
        var started = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var aborted = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        await using RunningApplication application = await RunningApplication.StartAsync(transport, async context =>
        {
            context.RequestAborted.Register(aborted.SetResult);
            started.SetResult();
            await aborted.Task;
        });
        using RawClient client = await application.ConnectAsync();
        await client.SendAsync("GET / HTTP/1.1\r\nHost: site\r\n\r\n");
        await started.Task.Within();
        Assert.False(aborted.Task.IsCompleted);

        End(client, ending);

        await aborted.Task.Within();
        Assert.Empty(application.Log.AboveDebug);
    }

    private static async Task ClosedAsync(TransportKind transport, Ending ending)
    {
        int times = 0;
        var closed = new TaskCompletionSource<bool>(TaskCreationOptions.RunContinuationsAsynchronously);
        await using RunningApplication application = await RunningApplication.StartAsync(
            transport,
            static context => context.Response.WriteAsync("answer"),
            endpoint: endpoint => endpoint.Use(next => async connection =>
            {
                IConnectionLifetimeFeature lifetime = connection.Features.GetRequiredFeature<IConnectionLifetimeFeature>();
                Assert.Equal(connection.ConnectionClosed, lifetime.ConnectionClosed);
                lifetime.ConnectionClosed.Register(() =>
                {
                    Interlocked.Increment(ref times);
                    closed.TrySetResult(Thread.CurrentThread.IsThreadPoolThread);
                });
                await next(connection);
            }));
        using RawClient client = await application.ConnectAsync();
        await client.GetAsync();
        Assert.False(closed.Task.IsCompleted);

        End(client, ending);

        Assert.True(await closed.Task.Within(), "It came on a thread that is not the pool's.");
        await application.StopAsync().Within();
        Assert.Equal(1, times);
    }

    private static async Task<Exception> CutBodyAsync(TransportKind transport, Ending ending)
    {
        var started = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var thrown = new TaskCompletionSource<Exception>(TaskCreationOptions.RunContinuationsAsynchronously);
        await using RunningApplication application = await RunningApplication.StartAsync(transport, async context =>
        {
            byte[] buffer = new byte[100];
            await context.Request.Body.ReadExactlyAsync(buffer.AsMemory(0, 5));
            started.SetResult();
            thrown.SetResult((await Record.ExceptionAsync(async () => await context.Request.Body.ReadExactlyAsync(buffer)))!);
        });
        using RawClient client = await application.ConnectAsync();
        await client.SendAsync("POST / HTTP/1.1\r\nHost: site\r\nContent-Length: 100\r\n\r\nbytes");
        await started.Task.Within();

        End(client, ending);

        return await thrown.Task.Within();
    }

    private static async Task<(ReadOutcome Outcome, string Text)> ReadOneAsync(TransportKind transport, Ending ending)
    {
        var first = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var read = new TaskCompletionSource<(ReadOutcome, string)>(TaskCreationOptions.RunContinuationsAsynchronously);
        await using RunningApplication application = await RunningApplication.StartAsync(
            transport,
            static _ => Task.CompletedTask,
            endpoint: endpoint => endpoint.Run(async connection =>
            {
                string text = "";
                try
                {
                    ReadResult result;
                    do
                    {
                        result = await connection.Transport.Input.ReadAsync();
                        text += Encoding.ASCII.GetString(result.Buffer);
                        connection.Transport.Input.AdvanceTo(result.Buffer.End);
                        first.TrySetResult();
                    }
                    while (!result.IsCompleted);
                    read.SetResult((ReadOutcome.Completed, text));
                }
                catch (ConnectionResetException)
                {
                    read.SetResult((ReadOutcome.Reset, text));
                }
            }));
        using RawClient client = await application.ConnectAsync();
        await client.SendAsync("bytes");
        await first.Task.Within();

        End(client, ending);

        return await read.Task.Within();
    }

    private static void End(RawClient client, Ending ending)
    {
        if (ending == Ending.Fin)
        {
            client.Fin();
        }
        else
        {
            client.Reset();
        }
    }
}
