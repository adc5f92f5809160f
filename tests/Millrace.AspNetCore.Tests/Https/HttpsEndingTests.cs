using System.Net;
using System.Net.Sockets;
using Microsoft.AspNetCore.Http;
using Millrace.AspNetCore.Tests.Https.Kit;
using Millrace.AspNetCore.Tests.Kit;

namespace Millrace.AspNetCore.Tests.Https;

/// <summary>How connections end, by either side, and how a server stops.</summary>
public class HttpsEndingTests
{
    private enum Leaving
    {
        WithBoth,
        WithFin,
        WithReset,
    }

    [Theory, EachHttps]
    public async Task A_close_notify_ends_what_the_client_sends_and_not_what_it_is_answered(HttpsKind kind)
    {
        var started = new TaskCompletionSource<HttpContext>(TaskCreationOptions.RunContinuationsAsynchronously);
        var gate = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        await using RunningApplication application = await HttpsApplication.StartAsync(kind, async context =>
        {
            started.SetResult(context);
            await gate.Task;
            await context.Response.WriteAsync(context.RequestAborted.IsCancellationRequested ? "aborted" : "answered");
        });
        await using HttpsClient client = await HttpsClient.ConnectAsync(application);
        await client.SendAsync("GET / HTTP/1.1\r\nHost: site\r\n\r\n");
        await started.Task.Within();

        await client.Stream.ShutdownAsync().Within();
        if (kind != HttpsKind.Kestrel)
        {
            // Kestrel's own TLS sees it only when somebody reads.
            await application.Log.ExpectAsync("ConnectionReadFin");
        }

        gate.SetResult();

        // All of it, and a goodbye.
        Assert.Contains("answered", await client.ReadToEndAsync(), StringComparison.Ordinal);
        Assert.Empty(application.Log.AboveDebug);
    }

    [Theory, EachHttps]
    public Task A_fin_after_a_close_notify_cancels_RequestAborted(HttpsKind kind) => AbortedAsync(kind, Leaving.WithBoth);

    [Theory, EachHttps]
    public async Task A_body_that_a_close_notify_cuts_short_is_no_whole_one(HttpsKind kind)
    {
        var seen = new TaskCompletionSource<Exception?>(TaskCreationOptions.RunContinuationsAsynchronously);
        await using RunningApplication application = await HttpsApplication.StartAsync(kind, async context =>
            seen.SetResult(await Record.ExceptionAsync(() => context.Request.Body.CopyToAsync(Stream.Null))));
        await using HttpsClient client = await HttpsClient.ConnectAsync(application);
        await client.SendAsync("POST / HTTP/1.1\r\nHost: site\r\nContent-Length: 1000\r\n\r\nhalf");

        await client.Stream.ShutdownAsync().Within();

        Assert.IsType<BadHttpRequestException>(await seen.Task.Within(), exactMatch: false);
        Assert.Empty(application.Log.AboveDebug);
    }

    [Theory, EachHttps]
    public Task A_fin_without_close_notify_cancels_RequestAborted(HttpsKind kind) => AbortedAsync(kind, Leaving.WithFin);

    [Theory, EachHttps]
    public Task A_reset_cancels_RequestAborted(HttpsKind kind) => AbortedAsync(kind, Leaving.WithReset);

    [Theory, EachHttps]
    public async Task A_body_that_was_cut_short_is_no_whole_one(HttpsKind kind)
    {
        var seen = new TaskCompletionSource<Exception?>(TaskCreationOptions.RunContinuationsAsynchronously);
        var started = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        await using RunningApplication application = await HttpsApplication.StartAsync(kind, async context =>
        {
            started.SetResult();
            seen.SetResult(await Record.ExceptionAsync(() => context.Request.Body.CopyToAsync(Stream.Null)));
        });
        await using HttpsClient client = await HttpsClient.ConnectAsync(application);
        await client.SendAsync("POST / HTTP/1.1\r\nHost: site\r\nContent-Length: 1000\r\n\r\nhalf");
        await started.Task.Within();

        client.Socket.Shutdown(SocketShutdown.Send);

        // The request itself says how long it is: an end without close_notify is no more than an end.
        Assert.IsType<BadHttpRequestException>(await seen.Task.Within(), exactMatch: false);
        Assert.Empty(application.Log.AboveDebug);
    }

    [Theory, EachHttps]
    public async Task An_answer_ends_with_close_notify(HttpsKind kind)
    {
        await using RunningApplication application = await HttpsApplication.StartAsync(
            kind, static context => context.Response.WriteAsync(new string('w', 300_000)));
        await using HttpsClient client = await HttpsClient.ConnectAsync(application);
        await client.SendAsync("GET / HTTP/1.0\r\n\r\n");

        string? response = await client.ReadToEndAsync();

        Assert.NotNull(response);
        Assert.EndsWith(new string('w', 300_000), response, StringComparison.Ordinal);
    }

    [Theory, EachHttps]
    public async Task An_abort_by_the_application_does_not_look_whole(HttpsKind kind)
    {
        await using RunningApplication application = await HttpsApplication.StartAsync(kind, static async context =>
        {
            await context.Response.WriteAsync("half");
            await context.Response.Body.FlushAsync();
            context.Abort();
        });
        await using HttpsClient client = await HttpsClient.ConnectAsync(application);
        await client.SendAsync("GET / HTTP/1.1\r\nHost: site\r\n\r\n");

        string? response = await client.ReadToEndAsync();

        Assert.DoesNotContain("\r\n0\r\n\r\n", response ?? "", StringComparison.Ordinal);
    }

    [Theory, EachHttps]
    public async Task Work_in_flight_finishes_before_a_stop(HttpsKind kind)
    {
        var gate = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        int started = 0;
        await using RunningApplication application = await HttpsApplication.StartAsync(kind, async context =>
        {
            Interlocked.Increment(ref started);
            await gate.Task;
            await context.Response.WriteAsync(new string('w', 200_000));
        });
        using HttpClient first = application.NewClient();
        using HttpClient second = application.NewClient(HttpVersion.Version20);
        Task<string>[] responses = [.. Enumerable.Range(0, 20).Select(i => (i % 2 == 0 ? first : second).GetStringAsync("/"))];
        await Waiting.UntilAsync(() => Volatile.Read(ref started) == responses.Length, () => $"{started} have started.");

        Task stopping = application.StopAsync();
        await Ports.RefusedAsync(application.EndPoint);
        Assert.False(stopping.IsCompleted);
        gate.SetResult();

        Assert.All(await Task.WhenAll(responses).Within(), static body => Assert.Equal(200_000, body.Length));
        await stopping.Within();
    }

    [Theory, EachHttps(TakesSeconds = true)]
    public async Task Idle_connections_and_handshakes_do_not_hold_up_a_stop(HttpsKind kind)
    {
        await using RunningApplication application = await HttpsApplication.StartAsync(
            kind, static context => context.Response.WriteAsync("answer"));
        var idle = new List<HttpsClient>();
        using RawClient silent = await application.ConnectAsync();
        for (int i = 0; i < 20; i++)
        {
            HttpsClient client = await HttpsClient.ConnectAsync(application);
            idle.Add(client);
            await client.SendAsync("GET / HTTP/1.1\r\nHost: site\r\n\r\n");
            await client.ReadThroughAsync("\r\n0\r\n\r\n");
        }

        // Longer than the host's own patience with a graceful stop would mean that somebody had to be aborted.
        await application.StopAsync().WaitAsync(TimeSpan.FromSeconds(25));

        foreach (HttpsClient client in idle)
        {
            Assert.Equal("", await client.ReadToEndAsync());
            await client.DisposeAsync();
        }

        Assert.Empty(application.Log.AboveDebug);
    }

    private static async Task AbortedAsync(HttpsKind kind, Leaving leaving)
    {
        var started = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var aborted = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        await using RunningApplication application = await HttpsApplication.StartAsync(kind, async context =>
        {
            context.RequestAborted.Register(aborted.SetResult);
            started.SetResult();
            await aborted.Task;
        });
        await using HttpsClient client = await HttpsClient.ConnectAsync(application);
        await client.SendAsync("GET / HTTP/1.1\r\nHost: site\r\n\r\n");
        await started.Task.Within();

        switch (leaving)
        {
            case Leaving.WithBoth:
                await client.Stream.ShutdownAsync().Within();
                client.Socket.Shutdown(SocketShutdown.Send);
                break;
            case Leaving.WithFin:
                client.Socket.Shutdown(SocketShutdown.Send);
                break;
            default:
                client.Socket.Close(0);
                break;
        }

        await aborted.Task.Within();
        Assert.Empty(application.Log.AboveDebug);
    }
}
