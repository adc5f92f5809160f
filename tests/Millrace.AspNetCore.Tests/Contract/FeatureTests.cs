using System.Buffers;
using System.Collections.Concurrent;
using System.IO.Pipelines;
using System.Net;
using System.Net.Sockets;
using System.Text;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Millrace.AspNetCore.Tests.Kit;

namespace Millrace.AspNetCore.Tests.Contract;

/// <summary>What connection middleware, and Kestrel itself, find in a connection.</summary>
public class FeatureTests
{
    private const string GetInHex = "47 45 54 20 2F 20 48 54";

    private static Task Response(HttpContext context) => context.Response.WriteAsync("answer");

    [Theory, EachTransport]
    public async Task A_connection_has_the_features_that_kestrel_asks_for(TransportKind transport)
    {
        await InspectAsync(transport, static connection =>
        {
            IFeatureCollection features = connection.Features;
            Assert.Equal(connection.ConnectionId, features.GetRequiredFeature<IConnectionIdFeature>().ConnectionId);
            Assert.Same(connection.Transport, features.GetRequiredFeature<IConnectionTransportFeature>().Transport);
            Assert.Same(connection.Items, features.GetRequiredFeature<IConnectionItemsFeature>().Items);
            Assert.Equal(connection.ConnectionClosed, features.GetRequiredFeature<IConnectionLifetimeFeature>().ConnectionClosed);
            using IMemoryOwner<byte> memory = features.GetRequiredFeature<IMemoryPoolFeature>().MemoryPool.Rent();
            Assert.True(memory.Memory.Length > 0);
        });
    }

    [Theory, EachTransport]
    public async Task A_connection_has_its_socket(TransportKind transport)
    {
        await InspectAsync(transport, static connection =>
        {
            Socket socket = connection.Features.GetRequiredFeature<IConnectionSocketFeature>().Socket;
            Assert.Equal(connection.RemoteEndPoint, socket.RemoteEndPoint);
            Assert.Equal(connection.LocalEndPoint, socket.LocalEndPoint);
            Assert.Equal(1, (int)socket.GetSocketOption(SocketOptionLevel.Tcp, SocketOptionName.NoDelay)!);
        });
    }

    // The sockets transport leaves this one out.
    [Theory]
    [InlineData(TransportKind.Millrace)]
    [InlineData(TransportKind.MillraceOnThePool)]
    public async Task A_connection_has_its_ends_as_a_feature(TransportKind transport)
    {
        await InspectAsync(transport, static connection =>
        {
            IConnectionEndPointFeature ends = connection.Features.GetRequiredFeature<IConnectionEndPointFeature>();
            Assert.Equal(connection.RemoteEndPoint, ends.RemoteEndPoint);
            Assert.Equal(connection.LocalEndPoint, ends.LocalEndPoint);
        });
    }

    [Theory, EachTransport]
    public async Task A_socket_that_was_looked_at_does_no_harm_to_its_connection(TransportKind transport)
    {
        await using RunningApplication application = await RunningApplication.StartAsync(transport, static context =>
        {
            Assert.NotNull(context.Features.GetRequiredFeature<IConnectionSocketFeature>().Socket);
            return Response(context);
        });

        for (int i = 0; i < 50; i++)
        {
            using RawClient client = await application.ConnectAsync();
            Assert.Equal("answer", (await client.GetAsync()).Body);
            // A socket object that thinks that it owns the descriptor would close somebody else's by now.
            GC.Collect();
            GC.WaitForPendingFinalizers();
            Assert.Equal("answer", (await client.GetAsync()).Body);
        }
    }

    [Theory, EachTransport]
    public async Task Features_of_others_can_be_set_replaced_and_removed(TransportKind transport)
    {
        await InspectAsync(transport, static connection =>
        {
            IFeatureCollection features = connection.Features;
            Assert.Null(features.Get<Mark>());
            int revision = features.Revision;
            features.Set(new Mark("one"));
            features.Set(new Mark("two"));
            Assert.NotEqual(revision, features.Revision);
            Assert.Equal("two", features.GetRequiredFeature<Mark>().Word);
            Assert.Contains(features, static pair => pair.Key == typeof(Mark));
            Assert.Contains(features, static pair => pair.Key == typeof(IConnectionIdFeature));
            features[typeof(Mark)] = null;
            Assert.Null(features.Get<Mark>());
        });
    }

    [Theory, EachTransport]
    public async Task Items_and_features_of_a_connection_are_seen_by_its_requests(TransportKind transport)
    {
        await using RunningApplication application = await RunningApplication.StartAsync(
            transport,
            static context => context.Response.WriteAsync(
                $"{context.Features.GetRequiredFeature<IConnectionItemsFeature>().Items["word"]} {context.Features.GetRequiredFeature<Mark>().Word}"),
            endpoint: static endpoint => endpoint.Use(static next => connection =>
            {
                connection.Items["word"] = "item";
                connection.Features.Set(new Mark("feature"));
                return next(connection);
            }));
        using RawClient client = await application.ConnectAsync();

        Assert.Equal("item feature", (await client.GetAsync()).Body);
        Assert.Equal("item feature", (await client.GetAsync()).Body);
    }

    [Theory, EachTransport]
    public async Task Ids_of_connections_differ_and_can_be_set(TransportKind transport)
    {
        var ids = new ConcurrentDictionary<string, bool>();
        await using RunningApplication application = await RunningApplication.StartAsync(
            transport,
            static context => context.Response.WriteAsync(context.Connection.Id),
            endpoint: endpoint => endpoint.Use(next => connection =>
            {
                Assert.True(ids.TryAdd(connection.ConnectionId, true), $"{connection.ConnectionId} has come twice.");
                connection.ConnectionId = $"my-{ids.Count}";
                return next(connection);
            }));

        for (int i = 1; i <= 50; i++)
        {
            using RawClient client = await application.ConnectAsync();
            Assert.Equal($"my-{i}", (await client.GetAsync()).Body);
        }

        Assert.Equal(50, ids.Count);
    }

    [Theory, EachTransport]
    public async Task Middleware_may_put_its_own_transport_over_ours(TransportKind transport)
    {
        await using RunningApplication application = await RunningApplication.StartAsync(
            transport, Response, endpoint: static endpoint => endpoint.Use(static next => connection => CapitalizeAsync(next, connection)));
        using RawClient client = await application.ConnectAsync();

        await client.SendAsync("get / http/1.1\r\nhost: mill\r\n\r\n");

        Assert.Equal("ANSWER", (await client.ReadResponseAsync()).Body);
    }

    [Theory, EachTransport]
    public async Task Connection_logging_shows_the_bytes(TransportKind transport)
    {
        await using RunningApplication application = await RunningApplication.StartAsync(
            transport, Response, endpoint: static endpoint => endpoint.UseConnectionLogging());
        using RawClient client = await application.ConnectAsync();

        Assert.Equal("answer", (await client.GetAsync()).Body);
        AssertLogged(application, "ReadAsync", GetInHex);
        AssertLogged(application, "WriteAsync", "48 54 54 50 2F 31 2E 31");
    }

    [Theory, EachTransport]
    public async Task Connection_logging_under_tls_shows_the_clear(TransportKind transport)
    {
        await using RunningApplication application = await RunningApplication.StartAsync(
            transport,
            Response,
            endpoint: static endpoint =>
            {
                endpoint.UseHttps(Certificates.Server);
                endpoint.UseConnectionLogging();
            });
        using HttpClient client = application.NewClient();

        Assert.Equal("answer", await client.GetStringAsync("/"));
        AssertLogged(application, "ReadAsync", GetInHex);
    }

    [Theory, EachTransport]
    [Trait("Duration", "Full")]
    public async Task A_connection_that_waits_is_not_collected(TransportKind transport)
    {
        await using RunningApplication application = await RunningApplication.StartAsync(transport, Response);
        using RawClient client = await application.ConnectAsync();
        await client.GetAsync();

        for (int i = 0; i < 5; i++)
        {
            // Sleeps: the collector's decisions have no clock.
            await Task.Delay(300);
            GC.Collect();
            GC.WaitForPendingFinalizers();
        }

        Assert.Equal("answer", (await client.GetAsync()).Body);
        Assert.False(application.Log.Has("ApplicationNeverCompleted"));
    }

    private sealed record Mark(string Word);

    private static void AssertLogged(RunningApplication application, string operation, string bytes) =>
        Assert.Contains(application.Log.Entries, entry =>
            entry.Category.Contains("LoggingConnectionMiddleware", StringComparison.Ordinal)
            && entry.Text.Contains(operation, StringComparison.Ordinal)
            && entry.Text.Contains(bytes, StringComparison.Ordinal));

    private static async Task InspectAsync(TransportKind transport, Action<ConnectionContext> inspect)
    {
        var seen = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        await using RunningApplication application = await RunningApplication.StartAsync(
            transport,
            Response,
            endpoint: endpoint => endpoint.Use(next => connection =>
            {
                try
                {
                    Assert.IsType<IPEndPoint>(connection.RemoteEndPoint);
                    inspect(connection);
                    seen.SetResult();
                }
                catch (Exception error)
                {
                    seen.SetException(error);
                }

                return next(connection);
            }));
        using RawClient client = await application.ConnectAsync();

        Assert.Equal("answer", (await client.GetAsync()).Body);
        await seen.Task.Within();
    }

    /// <summary>Reads and writes through pipes of its own, which change some words to capitals, then puts ours back.</summary>
    private static async Task CapitalizeAsync(ConnectionDelegate next, ConnectionContext connection)
    {
        IDuplexPipe ours = connection.Transport;
        var input = new Pipe();
        var output = new Pipe();
        connection.Transport = new Duplex(input.Reader, output.Writer);
        Task reading = CopyAsync(ours.Input, input.Writer);
        Task writing = CopyAsync(output.Reader, ours.Output);
        try
        {
            await next(connection);
        }
        finally
        {
            connection.Transport = ours;
            await output.Writer.CompleteAsync();
            await writing;
            ours.Input.CancelPendingRead();
            await reading;
        }
    }

    private static async Task CopyAsync(PipeReader from, PipeWriter to)
    {
        ReadResult read;
        do
        {
            read = await from.ReadAsync();
            foreach (ReadOnlyMemory<byte> segment in read.Buffer)
            {
                await to.WriteAsync(Encoding.ASCII.GetBytes(Capitals(Encoding.ASCII.GetString(segment.Span))));
            }

            from.AdvanceTo(read.Buffer.End);
        }
        while (!read.IsCompleted && !read.IsCanceled);
        await to.CompleteAsync();
    }

    private static string Capitals(string text) => text.Replace("get ", "GET ", StringComparison.Ordinal)
        .Replace("http/", "HTTP/", StringComparison.Ordinal)
        .Replace("answer", "ANSWER", StringComparison.Ordinal);

    private sealed record Duplex(PipeReader Input, PipeWriter Output) : IDuplexPipe;
}
