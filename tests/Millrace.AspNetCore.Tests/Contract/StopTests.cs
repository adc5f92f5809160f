using System.Net;
using System.Net.Sockets;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Logging;
using Millrace.AspNetCore.Tests.Kit;

namespace Millrace.AspNetCore.Tests.Contract;

/// <summary>The order in which a server stops: no new ones, the rest in time, then by force; and then it can start again.</summary>
public class StopTests
{
    private static Task Response(HttpContext context) => context.Response.WriteAsync("answer");

    [Theory, EachTransport]
    public async Task Work_in_flight_finishes_before_a_stop(TransportKind transport)
    {
        var gate = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        int started = 0;
        await using RunningApplication application = await RunningApplication.StartAsync(transport, async context =>
        {
            Interlocked.Increment(ref started);
            await gate.Task;
            await context.Response.WriteAsync(new string('w', 200_000));
        });
        RawClient[] clients = await Task.WhenAll(Enumerable.Range(0, 20).Select(_ => application.ConnectAsync()));
        foreach (RawClient client in clients)
        {
            await client.SendAsync("GET / HTTP/1.1\r\nHost: site\r\n\r\n");
        }

        await Waiting.UntilAsync(() => Volatile.Read(ref started) == clients.Length, () => $"{started} have started.");
        Task stopping = application.StopAsync();
        await Ports.RefusedAsync(application.EndPoint);
        Assert.False(stopping.IsCompleted);
        gate.SetResult();

        foreach (RawClient client in clients)
        {
            Kit.Response response = await client.ReadResponseAsync();
            Assert.Equal(200_000, response.Body.Length);
            Assert.Equal(("", Ending.Fin), await client.ReadToEndAsync());
            client.Dispose();
        }

        await stopping.Within();
    }

    [Theory, EachTransport]
    public async Task Streams_in_flight_finish_before_a_stop(TransportKind transport)
    {
        var gate = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        int started = 0;
        await using RunningApplication application = await RunningApplication.StartAsync(
            transport,
            async context =>
            {
                Interlocked.Increment(ref started);
                await gate.Task;
                await Response(context);
            },
            endpoint: static endpoint => endpoint.UseHttps(Certificates.Server));
        using HttpClient client = application.NewClient(HttpVersion.Version20);
        Task<string>[] responses = [.. Enumerable.Range(0, 10).Select(_ => client.GetStringAsync("/"))];
        await Waiting.UntilAsync(() => Volatile.Read(ref started) == responses.Length, () => $"{started} have started.");

        Task stopping = application.StopAsync();
        await Ports.RefusedAsync(application.EndPoint);
        gate.SetResult();

        Assert.All(await Task.WhenAll(responses).Within(), static body => Assert.Equal("answer", body));
        await stopping.Within();
    }

    [Theory, EachTransport]
    public async Task Who_is_disposed_without_a_stop_ends_its_connections(TransportKind transport)
    {
        RunningApplication application = await RunningApplication.StartAsync(transport, Response);
        EndPoint endPoint = application.EndPoint;
        using RawClient idle = await application.ConnectAsync();
        await idle.GetAsync("/");

        await application.DisposeUnstoppedAsync().Within();

        await idle.ReadToEndAsync();
        await Ports.RefusedAsync(endPoint);
    }

    [Theory, EachTransport]
    public async Task Idle_connections_do_not_hold_up_a_stop(TransportKind transport)
    {
        await using RunningApplication application = await RunningApplication.StartAsync(transport, Response);
        RawClient[] clients = await Task.WhenAll(Enumerable.Range(0, 100).Select(_ => application.ConnectAsync()));
        foreach (RawClient client in clients.Take(50))
        {
            await client.GetAsync();
        }

        // Longer than the host's own patience with a graceful stop would mean that somebody had to be aborted.
        await application.StopAsync().WaitAsync(TimeSpan.FromSeconds(25));

        foreach (RawClient client in clients)
        {
            Assert.Equal("", (await client.ReadToEndAsync()).Text);
            client.Dispose();
        }

        Assert.Empty(application.Log.AboveDebug);
    }

    [Theory, EachTransport]
    public async Task What_does_not_finish_in_time_is_reset(TransportKind transport)
    {
        var started = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        await using RunningApplication application = await RunningApplication.StartAsync(transport, async context =>
        {
            started.SetResult();
            await Task.Delay(Timeout.Infinite, context.RequestAborted);
        });
        using RawClient client = await application.ConnectAsync();
        await client.SendAsync("GET / HTTP/1.1\r\nHost: site\r\n\r\n");
        await started.Task.Within();

        await application.StopAsync(TimeSpan.FromMilliseconds(200)).Within();

        Assert.Equal(("", Ending.Reset), await client.ReadToEndAsync());
    }

    [Theory, EachTransport]
    [Trait("Duration", "Full")]
    public async Task A_stop_aborts_uploads_and_downloads_that_stand_still(TransportKind transport)
    {
        int started = 0;
        await using RunningApplication application = await RunningApplication.StartAsync(
            transport,
            async context =>
            {
                Interlocked.Increment(ref started);
                if (context.Request.Method == "POST")
                {
                    await context.Request.Body.CopyToAsync(Stream.Null);
                }

                while (!context.RequestAborted.IsCancellationRequested)
                {
                    await context.Response.Body.WriteAsync(new byte[100_000]);
                }
            },
            static limits => limits.MinResponseDataRate = null);
        using RawClient uploading = await application.ConnectAsync();
        using RawClient downloading = await RawClient.ConnectAsync(application.EndPoint, receiveBufferBytes: 16_384);
        await uploading.SendAsync("POST / HTTP/1.1\r\nHost: site\r\nContent-Length: 100\r\n\r\nhalf");
        await downloading.SendAsync("GET / HTTP/1.1\r\nHost: site\r\n\r\n");
        await Waiting.UntilAsync(() => Volatile.Read(ref started) == 2, () => $"{started} have started.");

        await application.StopAsync(TimeSpan.FromMilliseconds(200)).Within();

        Assert.Equal(Ending.Reset, (await uploading.ReadToEndAsync()).Ending);
        Assert.Equal(Ending.Reset, (await downloading.ReadToEndAsync()).Ending);
    }

    [Theory, EachTransport]
    public async Task A_server_restarts_on_its_port_at_once(TransportKind transport)
    {
        int port = 0;
        for (int i = 0; i < 5; i++)
        {
            await using RunningApplication application = await RunningApplication.StartAsync(
                transport, Response, endpoints: kestrel => kestrel.Listen(IPAddress.Loopback, port));
            port = application.Url.Port;
            using RawClient idle = await application.ConnectAsync();
            using RawClient client = await application.ConnectAsync();
            Assert.Equal("answer", (await client.GetAsync()).Body);

            // The server ends first, so that its side is left waiting (TIME_WAIT) when the next one binds.
            await application.StopAsync().Within();
            Assert.Equal(Ending.Fin, (await client.ReadToEndAsync()).Ending);
        }
    }

    [Theory, EachTransport]
    public async Task Descriptors_are_back_after_a_stop(TransportKind transport)
    {
        await using (RunningApplication warm = await RunningApplication.StartAsync(transport, Response))
        {
            using RawClient client = await warm.ConnectAsync();
            await client.GetAsync();
        }

        int before = Descriptors.CountSockets();
        int all = Directory.GetFiles("/proc/self/fd").Length;
        for (int i = 0; i < 5; i++)
        {
            await using RunningApplication application = await RunningApplication.StartAsync(transport, Response);
            RawClient[] clients = await Task.WhenAll(Enumerable.Range(0, 20).Select(_ => application.ConnectAsync()));
            foreach (RawClient client in clients)
            {
                await client.GetAsync();
                client.Dispose();
            }
        }

        await Descriptors.ReturnToAsync(before);
        // Rings, event descriptors and whatever else a reactor holds; the runtime itself may open one or two.
        await Waiting.UntilAsync(
            () => Directory.GetFiles("/proc/self/fd").Length <= all + 2, () => $"{Directory.GetFiles("/proc/self/fd").Length} descriptors, {all} before.");
    }

    [Theory, EachTransport]
    public async Task A_stop_in_a_storm_of_connections_ends(TransportKind transport)
    {
        await using RunningApplication application = await RunningApplication.StartAsync(transport, Response);
        EndPoint endPoint = application.EndPoint;
        using var over = new CancellationTokenSource();
        Task[] storm = [.. Enumerable.Range(0, 8).Select(_ => Task.Run(() => StormAsync(endPoint, over.Token)))];
        // Sleeps: the storm goes on for as long, so that the stop is in its midst.
        await Task.Delay(300);

        await application.StopAsync().Within();
        await over.CancelAsync();

        await Task.WhenAll(storm).Within();
        Assert.DoesNotContain(application.Log.AboveDebug, static entry => entry.Level > LogLevel.Warning);
    }

    private static async Task StormAsync(EndPoint endPoint, CancellationToken over)
    {
        while (!over.IsCancellationRequested)
        {
            try
            {
                using RawClient client = await RawClient.ConnectAsync(endPoint);
                await client.SendAsync("GET / HTTP/1.1\r\nHost: site\r\nConnection: close\r\n\r\n");
                await client.ReadToEndAsync();
            }
            catch (SocketException)
            {
                // The server is not there any more; it is the server's stop that is looked at.
                await Task.Delay(1, CancellationToken.None);
            }
        }
    }
}
