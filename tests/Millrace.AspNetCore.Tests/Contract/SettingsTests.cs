using System.Net;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.AspNetCore.Server.Kestrel.Transport.Sockets;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;
using Millrace.AspNetCore.Tests.Kit;
using Millrace.AspNetCore.Transport;
using Millrace.Engine;
using Millrace.Tests.Shared;

namespace Millrace.AspNetCore.Tests.Contract;

/// <summary>Where the transport's options come from, and what is said of them at start.</summary>
public class SettingsTests
{
    private static Task ResponseThread(HttpContext context) => context.Response.WriteAsync(Thread.CurrentThread.Name ?? "");

    [Fact]
    public async Task One_line_at_start_says_that_Millrace_serves_and_by_which_backend()
    {
        await using RunningApplication application = await RunningApplication.StartAsync(
            TransportKind.Millrace,
            ResponseThread,
            endpoints: static kestrel =>
            {
                kestrel.Listen(IPAddress.Loopback, 0);
                kestrel.Listen(IPAddress.Loopback, 0);
            },
            host: static host => host.UseMillrace(static options => options.ReactorCount = 2));

        LogEntry line = Assert.Single(application.Log.Entries, static entry => entry.Event.Name == "Serving");
        Assert.Equal((LogLevel.Information, "Millrace.AspNetCore"), (line.Level, line.Category));
        Assert.Contains(AskedBackend.Kind == BackendKind.Epoll ? "2 reactors on epoll" : "2 reactors on ", line.Text, StringComparison.Ordinal);
        Assert.Matches("(epoll|io_uring)", line.Text);
        await using RunningApplication sockets = await RunningApplication.StartAsync(TransportKind.Sockets, ResponseThread);
        Assert.False(sockets.Log.Has("Serving"));
    }

    [Fact]
    public void Options_are_bound_from_the_section_Millrace_and_code_has_the_last_word()
    {
        MillraceTransportOptions options = OptionsOf(
            new()
            {
                ["Millrace:ReactorCount"] = "3",
                ["Millrace:backend"] = "epoll",
                ["Millrace:WatchForStalls"] = "false",
                ["Millrace:Backlog"] = "77",
                ["Millrace:NoDelay"] = "False",
                ["Millrace:MaxReadBufferSize"] = "4096",
                ["Millrace:MaxWriteBufferSize"] = "",
                ["Millrace:Scheduling"] = "ThreadPool",
                ["Millrace:UseSynchronizationContext"] = "true",
                ["Millrace:FinOnError"] = "true",
            },
            static options => options.Backlog = 99);

        Assert.Equal(
            (3, BackendKind.Epoll, false, 99, false, 4096L, null, TransportScheduling.ThreadPool, true, true),
            (options.ReactorCount, options.Backend, options.WatchForStalls, options.Backlog, options.NoDelay, options.MaxReadBufferSize,
                options.MaxWriteBufferSize, options.Scheduling, options.UseSynchronizationContext, options.FinOnError));
    }

    /// <summary>An option that is added is not forgotten there.</summary>
    [Fact]
    public void Every_option_that_a_text_can_say_is_one_of_the_section()
    {
        var log = new LogCapture();
        string[] names =
        [
            .. from property in typeof(MillraceTransportOptions).GetProperties()
               let type = Nullable.GetUnderlyingType(property.PropertyType) ?? property.PropertyType
               where type.IsPrimitive || type.IsEnum
               select property.Name,
        ];
        Assert.InRange(names.Length, 10, int.MaxValue);

        foreach (string name in names)
        {
            InvalidOperationException refusal = Assert.Throws<InvalidOperationException>(
                () => OptionsOf(new() { [$"Millrace:{name}"] = "no such value" }, log: log));
            Assert.Contains($"Millrace:{name} = 'no such value'", refusal.Message, StringComparison.Ordinal);
        }

        Assert.Empty(log.Entries);
    }

    [Theory]
    [InlineData("Scheduling", "Pool", "Inline, ThreadPool")]
    [InlineData("Scheduling", "7", "Inline, ThreadPool")]
    [InlineData("NoDelay", "yes", "true or false")]
    [InlineData("ReactorCount", "-1", "a whole number up to 2147483647")]
    [InlineData("Backlog", "3000000000", "a whole number up to 2147483647")]
    public void A_value_that_an_option_cannot_have_is_refused_with_what_it_can_be(string name, string value, string expected)
    {
        InvalidOperationException refusal = Assert.Throws<InvalidOperationException>(() => OptionsOf(new() { [$"Millrace:{name}"] = value }));
        Assert.Contains(expected, refusal.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void A_key_that_is_no_option_is_warned_of()
    {
        var log = new LogCapture();
        OptionsOf(new() { ["Millrace:Reactors"] = "3" }, log: log);
        LogEntry line = Assert.Single(log.Entries);
        Assert.Equal((LogLevel.Warning, "UnknownOption"), (line.Level, line.Event.Name));
        Assert.Contains("Millrace:Reactors", line.Text, StringComparison.Ordinal);
        Assert.Contains("ReactorCount", line.Text, StringComparison.Ordinal);
    }

    [Fact]
    public async Task An_address_has_options_of_its_own_by_its_ListenOptions()
    {
        await using RunningApplication application = await RunningApplication.StartAsync(
            TransportKind.Millrace,
            ResponseThread,
            endpoints: static kestrel =>
            {
                kestrel.Listen(IPAddress.Loopback, 0);
                kestrel.Listen(IPAddress.Loopback, 0, static listen => listen
                    .ConfigureMillrace(static own => own.Scheduling = TransportScheduling.Inline)
                    .ConfigureMillrace(static own => own.Scheduling = TransportScheduling.ThreadPool));
                kestrel.Listen(IPAddress.Loopback, 0);
            });

        for (int i = 0; i < 3; i++)
        {
            using RawClient client = await RawClient.ConnectAsync(new IPEndPoint(IPAddress.Loopback, new Uri(application.Addresses[i]).Port));
            await client.GetAsync();
            Assert.Equal(i != 1, (await client.GetAsync()).Body.StartsWith("millrace-", StringComparison.Ordinal));
        }
    }

    [Theory]
    [InlineData(TransportKind.Sockets)]
    [InlineData(TransportKind.Millrace)]
    public async Task Localhost_has_its_options_in_both_families_and_other_transports_none(TransportKind transport)
    {
        int port = FreePort.Find();
        int configured = 0;
        await using RunningApplication application = await RunningApplication.StartAsync(
            transport, ResponseThread, endpoints: kestrel => kestrel.ListenLocalhost(port, listen => listen.ConfigureMillrace(own =>
            {
                configured++;
                own.Scheduling = TransportScheduling.ThreadPool;
            })));

        using RawClient client = await RawClient.ConnectAsync(new IPEndPoint(IPAddress.Loopback, port));
        await client.GetAsync();
        Assert.DoesNotContain("millrace-", (await client.GetAsync()).Body, StringComparison.Ordinal);
        Assert.InRange(configured, transport == TransportKind.Millrace ? 1 : 0, transport == TransportKind.Millrace ? 2 : 0);
    }

    [Fact]
    public async Task Ignored_options_of_UseSockets_are_logged()
    {
        await using RunningApplication application = await StartWithSocketsAsync(static sockets =>
        {
            sockets.Backlog = 1000;
            sockets.NoDelay = false;
            sockets.CreateBoundListenSocket = SocketTransportOptions.CreateDefaultBoundListenSocket;
            sockets.IOQueueCount = 7;
            sockets.MaxReadBufferSize = 4096;
        });

        LogEntry line = Assert.Single(application.Log.Entries, static entry => entry.Event.Name == "SocketOptionsIgnored");
        Assert.Equal(LogLevel.Warning, line.Level);
        Assert.Contains(": Backlog, NoDelay, IOQueueCount.", line.Text, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Options_of_UseSockets_that_Millrace_has_too_are_not_logged()
    {
        await using RunningApplication application = await StartWithSocketsAsync(static sockets =>
        {
            sockets.MaxReadBufferSize = 4096;
            sockets.UnsafePreferInlineScheduling = true;
        });
        Assert.False(application.Log.Has("SocketOptionsIgnored"));
    }

    [Fact]
    public async Task The_limit_of_a_server_that_was_made_by_hand_is_that_of_its_own_options()
    {
        WebApplicationBuilder builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        builder.WebHost.UseKestrel().UseMillrace(static options => options.Backend = AskedBackend.Kind);
        await using WebApplication application = builder.Build();
        IServiceProvider services = application.Services;
        var options = new KestrelServerOptions { ApplicationServices = services };
        options.Limits.MaxConcurrentConnections = 1;
        options.Listen(IPAddress.Loopback, 0, static listen => listen.UseMillraceHttps(Certificates.Server));
        using var server = new KestrelServer(
            Options.Create(options), services.GetServices<IConnectionListenerFactory>().Last(), services.GetRequiredService<ILoggerFactory>());
        await server.StartAsync(new Echo(), TestContext.Current.CancellationToken).Within();
        await server.StopAsync(TestContext.Current.CancellationToken).Within();

        Assert.NotNull(services.GetRequiredService<EndPointBuilds>().Quota);
    }

    private static Task<RunningApplication> StartWithSocketsAsync(Action<SocketTransportOptions> configure) => RunningApplication.StartAsync(
        TransportKind.Millrace,
        ResponseThread,
        host: host => host.UseSockets(configure).UseMillrace(static options => options.MaxReadBufferSize = 4096));

    private static MillraceTransportOptions OptionsOf(
        Dictionary<string, string?> settings, Action<MillraceTransportOptions>? configure = null, LogCapture? log = null)
    {
        using ServiceProvider services = new ServiceCollection()
            .AddLogging(logging => logging.AddProvider(log ?? new LogCapture()))
            .AddSingleton<IConfiguration>(new ConfigurationBuilder().AddInMemoryCollection(settings).Build())
            .AddMillraceTransport(configure)
            .BuildServiceProvider();
        return services.GetRequiredService<IOptions<MillraceTransportOptions>>().Value;
    }

    private sealed class Echo : Microsoft.AspNetCore.Hosting.Server.IHttpApplication<HttpContext>
    {
        public HttpContext CreateContext(Microsoft.AspNetCore.Http.Features.IFeatureCollection contextFeatures) =>
            new DefaultHttpContext(contextFeatures);

        public void DisposeContext(HttpContext context, Exception? exception)
        {
        }

        public Task ProcessRequestAsync(HttpContext context) => Task.CompletedTask;
    }
}
