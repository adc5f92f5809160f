using System.Globalization;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.Win32.SafeHandles;
using Millrace.AspNetCore.Tests.Kit;
using Millrace.Engine;

namespace Millrace.AspNetCore.Tests.Application;

/// <summary>What a request finds of the reactor that serves it.</summary>
public class ReactorFeatureTests
{
    [Fact]
    public async Task A_request_has_the_reactor_whose_thread_it_is_on()
    {
        Reactor? got = null;
        Reactor? current = null;
        await using RunningApplication application = await RunningApplication.StartAsync(TransportKind.Millrace, context =>
        {
            (got, current) = (context.GetReactor(), Reactor.Current);
            return context.Response.WriteAsync("answer");
        });
        using RawClient client = await application.ConnectAsync();
        await client.GetAsync();
        Assert.NotNull(got);
        Assert.Same(current, got);
    }

    [Theory]
    [InlineData("1.1")]
    [InlineData("2.0")]
    public async Task A_request_after_tls_has_it_too(string version)
    {
        Reactor? got = null;
        await using RunningApplication application = await RunningApplication.StartAsync(
            TransportKind.Millrace,
            context =>
            {
                got = context.GetReactor();
                return context.Response.WriteAsync("answer");
            },
            endpoint: static endpoint => endpoint.UseHttps(Certificates.Server));
        using HttpClient client = application.NewClient(Version.Parse(version));
        Assert.Equal("answer", await client.GetStringAsync("/"));
        Assert.NotNull(got);
    }

    [Fact]
    public async Task A_request_on_the_pool_has_it_and_may_go_there()
    {
        bool wasHome = true;
        bool isReactorThread = false;
        await using RunningApplication application = await RunningApplication.StartAsync(TransportKind.MillraceOnThePool, async context =>
        {
            Reactor reactor = context.GetReactor()!;
            wasHome = reactor.IsReactorThread;
            await reactor.SwitchTo();
            isReactorThread = reactor.IsReactorThread;
            await context.Response.WriteAsync("answer");
        });
        using RawClient client = await application.ConnectAsync();
        Assert.Equal("answer", (await client.GetAsync()).Body);
        Assert.Equal((false, true), (wasHome, isReactorThread));
    }

    [Fact]
    public async Task A_request_over_another_transport_has_none()
    {
        Reactor? got = null;
        bool asked = false;
        await using RunningApplication application = await RunningApplication.StartAsync(TransportKind.Sockets, context =>
        {
            (got, asked) = (context.GetReactor(), true);
            return context.Response.WriteAsync("answer");
        });
        using RawClient client = await application.ConnectAsync();
        await client.GetAsync();
        Assert.True(asked);
        Assert.Null(got);
        Assert.Null(new DefaultHttpContext().GetReactor());
    }

    [Fact]
    public async Task A_handler_that_waits_and_reads_never_leaves_its_reactor()
    {
        string path = Path.GetTempFileName();
        await File.WriteAllTextAsync(path, "the words of a file");
        using SafeFileHandle file = File.OpenHandle(path);
        File.Delete(path);
        await using RunningApplication application = await RunningApplication.StartAsync(TransportKind.Millrace, async context =>
        {
            Reactor reactor = context.GetReactor()!;
            int thread = Environment.CurrentManagedThreadId;
            byte[] words = new byte[100];
            await reactor.Delay(TimeSpan.FromMilliseconds(5), context.RequestAborted);
            int read = await reactor.ReadFileAsync(file, words, offset: 4, context.RequestAborted);
            await reactor.Yield();
            bool stayed = thread == Environment.CurrentManagedThreadId && reactor.IsReactorThread;
            context.Response.Headers["Stayed"] = stayed.ToString(CultureInfo.InvariantCulture);
            await context.Response.Body.WriteAsync(words.AsMemory(0, read));
        });
        using RawClient client = await application.ConnectAsync();
        for (int i = 0; i < 3; i++)
        {
            Response response = await client.GetAsync();
            Assert.Equal("words of a file", response.Body);
            Assert.Contains("Stayed: True", response.Head, StringComparison.Ordinal);
        }
    }

    [Fact]
    public async Task A_stop_lets_go_of_a_handler_that_waits()
    {
        var waits = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var ended = new TaskCompletionSource<Exception?>(TaskCreationOptions.RunContinuationsAsynchronously);
        await using RunningApplication application = await RunningApplication.StartAsync(TransportKind.Millrace, async context =>
        {
            Task wait = context.GetReactor()!.Delay(Timeout.InfiniteTimeSpan, context.RequestAborted).AsTask();
            waits.SetResult();
            ended.SetResult(await Record.ExceptionAsync(() => wait));
        });
        using RawClient client = await application.ConnectAsync();
        await client.SendAsync("GET / HTTP/1.1\r\nHost: site\r\n\r\n");
        await waits.Task.Within();
        await application.StopAsync(TimeSpan.FromMilliseconds(50));
        Assert.IsAssignableFrom<OperationCanceledException>(await ended.Task.Within());
    }
}
