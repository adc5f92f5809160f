using System.Net;
using System.Net.Sockets;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Server.Kestrel.Transport.Sockets;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using Millrace.AspNetCore.Tests.Kit;
using Millrace.Engine;
using Millrace.Server.Tests.Kit;
using Millrace.Tests.Shared;

namespace Millrace.AspNetCore.Tests.Contract;

/// <summary>What Millrace does not serve, whoever was there before serves, endpoint by endpoint.</summary>
public class FallbackTests
{
    private static readonly RequestDelegate ResponseThread = static context =>
        context.Response.WriteAsync(Thread.CurrentThread.Name ?? "");

    [Fact]
    public async Task An_endpoint_that_is_not_ours_is_served_by_the_transport_before_us()
    {
        DirectoryInfo folder = Directory.CreateTempSubdirectory("millrace-pipe-");
        string path = Path.Combine(folder.FullName, "pipe.sock");
        await using (RunningApplication application = await RunningApplication.StartAsync(
            TransportKind.Sockets,
            ResponseThread,
            endpoints: static kestrel =>
            {
                kestrel.Listen(IPAddress.Loopback, 0);
                kestrel.Listen(new NamedPipeEndPoint("mill"));
            },
            host: host => host
                .ConfigureServices(services => services.AddSingleton<IConnectionListenerFactory>(
                    provider => new PipesOverSockets(ActivatorUtilities.CreateInstance<SocketTransportFactory>(provider), path)))
                .UseTransport(TransportKind.Millrace)))
        {
            using RawClient ours = await application.ConnectAsync();
            await ours.GetAsync();
            Assert.StartsWith("millrace-", (await ours.GetAsync()).Body, StringComparison.Ordinal);

            using RawClient theirs = await RawClient.ConnectAsync(new UnixDomainSocketEndPoint(path));
            await theirs.GetAsync();
            Assert.DoesNotContain("millrace-", (await theirs.GetAsync()).Body, StringComparison.Ordinal);
            Assert.Single(application.Log.AboveDebug, static entry => entry.Level == LogLevel.Warning);
        }

        folder.Delete(recursive: true);
    }

    [Fact]
    public async Task An_application_that_asks_for_io_uring_is_served_whether_or_not_it_is_to_be_had()
    {
        // A run on epoll is one behind the filter.
        bool isRefused = AskedBackend.Kind == BackendKind.Epoll;
        await using RunningApplication application = await RunningApplication.StartAsync(
            TransportKind.Sockets,
            ResponseThread,
            endpoints: static kestrel =>
            {
                kestrel.Listen(IPAddress.Loopback, 0);
                kestrel.Listen(IPAddress.Loopback, 0);
            },
            host: static host => host.UseMillrace(static options => options.Backend = BackendKind.IoUring));
        using RawClient client = await application.ConnectAsync();
        await client.GetAsync();

        string thread = (await client.GetAsync()).Body;

        Assert.NotEqual(isRefused, thread.StartsWith("millrace-", StringComparison.Ordinal));
        // One warning for both endpoints.
        Assert.Equal(isRefused ? 1 : 0, application.Log.AboveDebug.Count(static entry => entry.Level == LogLevel.Warning));
    }

    [Fact]
    public async Task Where_io_uring_is_refused_sockets_serve()
    {
        Tool.Require("gcc");

        // The test above, in a process of its own, behind the filter that most containers have.
        ToolResult result = await Tool.RunAsync(
            TimeSpan.FromMinutes(4),
            Path.Combine(Places.Repository, "tests", "Shared", "refuse-io-uring"),
            "env", "MILLRACE_BACKEND=epoll", Environment.ProcessPath!,
            "-method",
            $"{typeof(FallbackTests).FullName}.{nameof(An_application_that_asks_for_io_uring_is_served_whether_or_not_it_is_to_be_had)}");

        Assert.True(result.ExitCode == 0 && result.Output.Contains("Total: 1,", StringComparison.Ordinal), result.Output + result.Error);
    }

    /// <summary>A transport for named pipes, such as Windows has, over unix sockets.</summary>
    private sealed class PipesOverSockets(SocketTransportFactory sockets, string path) : IConnectionListenerFactory, IConnectionListenerFactorySelector
    {
        public bool CanBind(EndPoint endpoint) => endpoint is NamedPipeEndPoint;

        public ValueTask<IConnectionListener> BindAsync(EndPoint endpoint, CancellationToken cancellationToken = default) =>
            sockets.BindAsync(new UnixDomainSocketEndPoint(path), cancellationToken);
    }
}
