using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Millrace.AspNetCore.Tests.Kit;

namespace Millrace.AspNetCore.Tests.Contract;

/// <summary>Handlers that block their thread, which is legal: it costs time, and ends.</summary>
public class BlockingTests
{
    [Theory, EachTransport]
    public async Task A_handler_that_waits_for_its_own_task_is_answered(TransportKind transport)
    {
        await using RunningApplication application = await RunningApplication.StartAsync(transport, static context =>
        {
            switch (context.Request.Path)
            {
                case "/delay":
                    Task.Delay(10).Wait();
                    break;
                case "/own":
                    WorkAsync().GetAwaiter().GetResult();
                    break;
                case "/run":
                    Task.Run(WorkAsync).Wait();
                    break;
            }

            return context.Response.WriteAsync(context.Request.Path);
        });
        using RawClient client = await application.ConnectAsync();

        foreach (string target in (string[])["/delay", "/own", "/run", "/none", "/own", "/delay"])
        {
            Assert.Equal(target, (await client.GetAsync(target)).Body);
        }
    }

    [Theory, EachTransport(TakesSeconds = true)]
    [Trait("Duration", "Full")]
    public async Task Handlers_that_block_on_every_connection_are_all_answered(TransportKind transport)
    {
        await using RunningApplication application = await RunningApplication.StartAsync(transport, static context =>
        {
            WorkAsync().GetAwaiter().GetResult();
            return context.Response.WriteAsync("answer");
        });
        using HttpClient client = application.NewClient();

        string[] bodies = await Task.WhenAll(Enumerable.Range(0, 60).Select(_ => client.GetStringAsync("/"))).Within();

        Assert.All(bodies, static body => Assert.Equal("answer", body));
    }

    [Theory, EachTransport]
    public async Task A_body_that_is_there_can_be_read_synchronously(TransportKind transport)
    {
        await using RunningApplication application = await RunningApplication.StartAsync(transport, static context =>
        {
            context.Features.GetRequiredFeature<IHttpBodyControlFeature>().AllowSynchronousIO = true;
            using var reader = new StreamReader(context.Request.Body);
            return context.Response.WriteAsync($"got {reader.ReadToEnd()}");
        });
        using RawClient client = await application.ConnectAsync();

        await client.SendAsync("POST / HTTP/1.1\r\nHost: site\r\nContent-Length: 5\r\n\r\nbytes");

        Assert.Equal("got bytes", (await client.ReadResponseAsync()).Body);
    }

    [Theory]
    [InlineData(TransportKind.Sockets)]
    [InlineData(TransportKind.MillraceOnThePool)]
    public async Task A_body_that_is_yet_to_come_can_be_waited_for_synchronously_off_the_reactor(TransportKind transport)
    {
        var reading = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        await using RunningApplication application = await RunningApplication.StartAsync(transport, context =>
        {
            context.Features.GetRequiredFeature<IHttpBodyControlFeature>().AllowSynchronousIO = true;
            reading.SetResult();
            using var reader = new StreamReader(context.Request.Body);
            return context.Response.WriteAsync($"got {reader.ReadToEnd()}");
        });
        using RawClient client = await application.ConnectAsync();

        await client.SendAsync("POST / HTTP/1.1\r\nHost: site\r\nContent-Length: 5\r\n\r\n");
        await reading.Task.Within();
        await client.SendAsync("bytes");

        Assert.Equal("got bytes", (await client.ReadResponseAsync()).Body);
    }

    private static async Task WorkAsync()
    {
        await Task.Delay(5);
        await Task.Yield();
    }
}
