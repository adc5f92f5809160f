using System.IO.Pipelines;
using System.Net;
using System.Net.Sockets;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.Extensions.DependencyInjection;
using Millrace.AspNetCore.Tests.Kit;

namespace Millrace.AspNetCore.Tests.Application;

/// <summary>What the application is done with is not held by a connection that lives on, although its memory is asked for ahead.</summary>
public class RetentionTests
{
    [Theory, EachTransport]
    public Task A_context_that_a_factory_creates_again_goes_with_its_request(TransportKind transport) =>
        ContextsGoAsync(transport, static services => services.AddSingleton<IHttpContextFactory, EachAnew>());

    [Theory, EachTransport]
    public Task A_context_that_somebody_may_ask_for_goes_with_its_request(TransportKind transport) =>
        ContextsGoAsync(transport, static services => services.AddHttpContextAccessor());

    [Fact]
    public async Task A_request_that_another_connection_let_go_on_goes_with_its_own()
    {
        using var listener = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        listener.Listen();
        ConnectionContext? other = null;
        List<WeakReference> requests = [];
        using var isWaiting = new SemaphoreSlim(0);
        await using RunningApplication application = await RunningApplication.StartAsync(
            TransportKind.Millrace,
            async context =>
            {
                if (context.Request.Path == "/await")
                {
                    // On this reactor, as its caller is.
                    other ??= await context.RequestServices.GetRequiredService<IConnectionFactory>().ConnectAsync(listener.LocalEndPoint!);
                    ValueTask<ReadResult> read = other.Transport.Input.ReadAsync();
                    isWaiting.Release();
                    other.Transport.Input.AdvanceTo((await read).Buffer.End);
                }
                else
                {
                    requests.Add(new WeakReference(context.Features));
                }
            },
            host: static host => host.ConfigureServices(
                static services => services.Configure<MillraceTransportOptions>(static options => options.ReactorCount = 1)));
        Socket? peer = null;
        try
        {
            // The second lets go of what is only noted as the last one.
            for (int i = 0; i < 2; i++)
            {
                using RawClient client = await application.ConnectAsync();
                await client.SendAsync("GET /await HTTP/1.1\r\nHost: site\r\n\r\nGET / HTTP/1.1\r\nHost: site\r\n\r\n");
                peer ??= await listener.AcceptAsync().Within();
                // What had come before would let it go on by itself.
                Assert.True(await isWaiting.WaitAsync(Waiting.Patience));
                await peer.SendAsync("."u8.ToArray()).Within();
                await client.ReadResponseAsync();
                await client.ReadResponseAsync();
            }

            await IsGoneAsync(requests[0]);
            Assert.False(other!.ConnectionClosed.IsCancellationRequested);
        }
        finally
        {
            peer?.Dispose();
            await other!.DisposeAsync().AsTask().Within();
        }
    }

    private static async Task ContextsGoAsync(TransportKind transport, Action<IServiceCollection> services)
    {
        List<WeakReference> contexts = [];
        await using RunningApplication application = await RunningApplication.StartAsync(
            transport,
            context =>
            {
                contexts.Add(new WeakReference(context));
                return Task.CompletedTask;
            },
            host: host => host.ConfigureServices(services));
        using RawClient client = await application.ConnectAsync();
        for (int i = 0; i < 4; i++)
        {
            await client.GetAsync();
        }

        await IsGoneAsync(contexts[0]);
        await IsGoneAsync(contexts[1]);
        Assert.Equal(200, (await client.GetAsync()).Status);
    }

    private static Task IsGoneAsync(WeakReference what) => Waiting.UntilAsync(
        () =>
        {
            GC.Collect();
            return !what.IsAlive;
        },
        static () => "It is held.");

    private sealed class EachAnew(IServiceScopeFactory scopes) : IHttpContextFactory
    {
        public HttpContext Create(IFeatureCollection featureCollection) =>
            new DefaultHttpContext(featureCollection) { ServiceScopeFactory = scopes };

        public void Dispose(HttpContext httpContext)
        {
        }
    }
}
