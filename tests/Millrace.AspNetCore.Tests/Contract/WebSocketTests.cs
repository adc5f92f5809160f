using System.Collections.Concurrent;
using System.Net;
using System.Net.WebSockets;
using System.Security.Cryptography;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Millrace.AspNetCore.Tests.Kit;

namespace Millrace.AspNetCore.Tests.Contract;

/// <summary>A connection that was upgraded: full duplex, idle for long, written to by any thread.</summary>
public class WebSocketTests
{
    private const int MessageBytes = 6_000_000;

    [Theory, EachTransport]
    public async Task Messages_are_echoed(TransportKind transport)
    {
        await using RunningApplication application = await RunningApplication.StartAsync(transport, EchoAsync);
        using ClientWebSocket socket = await OpenAsync(application);

        for (int i = 0; i < 200; i++)
        {
            byte[] message = RandomNumberGenerator.GetBytes(1 + (i * 97));
            await socket.SendAsync(message, WebSocketMessageType.Binary, endOfMessage: true, CancellationToken.None);
            Assert.Equal(message, await socket.ReceiveMessageAsync());
        }

        await socket.CloseAsync(WebSocketCloseStatus.NormalClosure, "done", CancellationToken.None).Within();
    }

    [Theory, EachTransport]
    public Task Large_messages_go_both_ways_at_once(TransportKind transport) => DuplexAsync(transport, Wrapping.Clear);

    [Theory, EachTransport]
    public Task Large_messages_go_both_ways_at_once_over_tls(TransportKind transport) => DuplexAsync(transport, Wrapping.Tls);

    [Theory, EachTransport]
    public async Task A_socket_over_http2_is_echoed(TransportKind transport)
    {
        await using RunningApplication application = await RunningApplication.StartAsync(
            transport, EchoAsync, endpoint: static endpoint => endpoint.UseHttps(Certificates.Server));
        using var socket = new ClientWebSocket();
        socket.Options.HttpVersion = HttpVersion.Version20;
        socket.Options.HttpVersionPolicy = HttpVersionPolicy.RequestVersionExact;
        using HttpClient invoker = application.NewClient(HttpVersion.Version20);
        await socket.ConnectAsync(UrlOf(application), invoker, CancellationToken.None).Within();

        byte[] message = RandomNumberGenerator.GetBytes(100_000);
        await socket.SendAsync(message, WebSocketMessageType.Binary, endOfMessage: true, CancellationToken.None);

        Assert.Equal(message, await socket.ReceiveMessageAsync());
    }

    [Theory, EachTransport(TakesSeconds = true)]
    [Trait("Duration", "Full")]
    public async Task An_idle_socket_outlives_the_keep_alive_timeout(TransportKind transport)
    {
        await using RunningApplication application = await RunningApplication.StartAsync(
            transport, EchoAsync, static limits => limits.KeepAliveTimeout = TimeSpan.FromSeconds(1));
        using ClientWebSocket socket = await OpenAsync(application);

        // Sleeps: Kestrel's heartbeat measures the timeout, on both transports.
        await Task.Delay(TimeSpan.FromSeconds(4));
        await socket.SendAsync(new byte[] { 1, 2, 3 }, WebSocketMessageType.Binary, endOfMessage: true, CancellationToken.None);

        Assert.Equal([1, 2, 3], await socket.ReceiveMessageAsync());
    }

    [Theory, EachTransport]
    public async Task A_thread_of_its_own_writes_while_the_handler_reads(TransportKind transport)
    {
        const int Messages = 2000;
        await using RunningApplication application = await RunningApplication.StartAsync(transport, static async context =>
        {
            using WebSocket socket = await context.WebSockets.AcceptWebSocketAsync();
            var written = new TaskCompletionSource();
            var writer = new Thread(() =>
            {
                for (int i = 0; i < Messages; i++)
                {
                    socket.SendAsync(BitConverter.GetBytes(i), WebSocketMessageType.Binary, endOfMessage: true, CancellationToken.None)
                        .GetAwaiter().GetResult();
                }

                written.SetResult();
            })
            { IsBackground = true };
            writer.Start();
            await socket.ReceiveMessageAsync();
            await written.Task;
            await socket.CloseAsync(WebSocketCloseStatus.NormalClosure, null, CancellationToken.None);
        });
        using ClientWebSocket client = await OpenAsync(application);

        for (int i = 0; i < Messages; i++)
        {
            Assert.Equal(i, BitConverter.ToInt32(await client.ReceiveMessageAsync()));
        }

        await client.SendAsync(new byte[] { 1 }, WebSocketMessageType.Binary, endOfMessage: true, CancellationToken.None);
        WebSocketReceiveResult close = await client.ReceiveAsync(new byte[10], CancellationToken.None).Within();
        Assert.Equal(WebSocketMessageType.Close, close.MessageType);
    }

    [Theory, EachTransport]
    public async Task One_thread_broadcasts_to_many_sockets(TransportKind transport)
    {
        var members = new ConcurrentBag<WebSocket>();
        var over = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        await using RunningApplication application = await RunningApplication.StartAsync(transport, async context =>
        {
            members.Add(await context.WebSockets.AcceptWebSocketAsync());
            await over.Task;
        });
        ClientWebSocket[] clients = await Task.WhenAll(Enumerable.Range(0, 50).Select(_ => OpenAsync(application))).Within();
        await Waiting.UntilAsync(() => members.Count == clients.Length, () => $"{members.Count} are there.");

        for (int i = 0; i < 20; i++)
        {
            await Task.WhenAll(members.Select(member => member.SendAsync(
                BitConverter.GetBytes(i), WebSocketMessageType.Binary, endOfMessage: true, CancellationToken.None))).Within();
        }

        foreach (ClientWebSocket client in clients)
        {
            for (int i = 0; i < 20; i++)
            {
                Assert.Equal(i, BitConverter.ToInt32(await client.ReceiveMessageAsync()));
            }

            client.Dispose();
        }

        over.SetResult();
    }

    [Theory, EachTransport]
    public async Task A_client_that_vanishes_ends_the_receive_at_once(TransportKind transport)
    {
        var ended = new TaskCompletionSource<WebSocketError>(TaskCreationOptions.RunContinuationsAsynchronously);
        await using RunningApplication application = await RunningApplication.StartAsync(transport, async context =>
        {
            using WebSocket socket = await context.WebSockets.AcceptWebSocketAsync();
            try
            {
                await socket.ReceiveAsync(new byte[10], CancellationToken.None);
            }
            catch (WebSocketException error)
            {
                ended.SetResult(error.WebSocketErrorCode);
            }
        });

        ClientWebSocket client = await OpenAsync(application);
        client.Abort();

        Assert.Equal(WebSocketError.ConnectionClosedPrematurely, await ended.Task.Within());
        // The application left its socket without a goodbye, and that is what is said.
        Assert.DoesNotContain(application.Log.AboveDebug, static entry => entry.Event.Name != "ApplicationAbortedConnection");
    }

    private enum Wrapping
    {
        Clear,
        Tls,
    }

    private static async Task DuplexAsync(TransportKind transport, Wrapping wrapping)
    {
        byte[] toServer = RandomNumberGenerator.GetBytes(MessageBytes);
        byte[] toClient = RandomNumberGenerator.GetBytes(MessageBytes);
        await using RunningApplication application = await RunningApplication.StartAsync(
            transport,
            async context =>
            {
                using WebSocket socket = await context.WebSockets.AcceptWebSocketAsync();
                await socket.ReplaceAsync(toClient, toServer);
                await socket.CloseAsync(WebSocketCloseStatus.NormalClosure, "equal", CancellationToken.None);
            },
            endpoint: endpoint =>
            {
                endpoint.Protocols = HttpProtocols.Http1;
                if (wrapping == Wrapping.Tls)
                {
                    endpoint.UseHttps(Certificates.Server);
                }
            });
        using ClientWebSocket client = await OpenAsync(application);

        await client.ReplaceAsync(toServer, toClient).Within();

        Assert.Equal(WebSocketMessageType.Close, (await client.ReceiveAsync(new byte[10], CancellationToken.None).Within()).MessageType);
        Assert.Equal("equal", client.CloseStatusDescription);
    }

    private static async Task EchoAsync(HttpContext context)
    {
        using WebSocket socket = await context.WebSockets.AcceptWebSocketAsync();
        byte[] buffer = new byte[16_384];
        while (true)
        {
            ValueWebSocketReceiveResult got = await socket.ReceiveAsync(buffer.AsMemory(), context.RequestAborted);
            if (got.MessageType == WebSocketMessageType.Close)
            {
                await socket.CloseAsync(WebSocketCloseStatus.NormalClosure, null, CancellationToken.None);
                return;
            }

            await socket.SendAsync(buffer.AsMemory(0, got.Count), got.MessageType, got.EndOfMessage, context.RequestAborted);
        }
    }

    private static Uri UrlOf(RunningApplication application) =>
        new UriBuilder(application.Url) { Scheme = application.Url.Scheme == "https" ? "wss" : "ws" }.Uri;

    private static async Task<ClientWebSocket> OpenAsync(RunningApplication application)
    {
        var socket = new ClientWebSocket();
        socket.Options.RemoteCertificateValidationCallback = Certificates.IsServer;
        await socket.ConnectAsync(UrlOf(application), CancellationToken.None).Within();
        return socket;
    }
}
