using System.Net;
using System.Text;
using Microsoft.AspNetCore.Http;
using Millrace.AspNetCore.Tests.Kit;

namespace Millrace.AspNetCore.Tests.Contract;

/// <summary>HTTP/1.1 in the clear: requests in every shape a client may give them.</summary>
public class RequestTests
{
    private static readonly AsyncLocal<string?> Ambient = new();

    private static Task EchoTarget(HttpContext context) => context.Response.WriteAsync(context.Request.Path + context.Request.QueryString);

    [Theory, EachTransport]
    public async Task A_request_is_answered(TransportKind transport)
    {
        await using RunningApplication application = await RunningApplication.StartAsync(transport, EchoTarget);
        using HttpClient client = application.NewClient();

        Assert.Equal("/wheel?turns=9", await client.GetStringAsync("/wheel?turns=9"));
    }

    [Theory, EachTransport]
    public async Task A_thousand_requests_are_answered_on_one_connection(TransportKind transport)
    {
        await using RunningApplication application = await RunningApplication.StartAsync(transport, EchoTarget);
        using RawClient client = await application.ConnectAsync();

        for (int i = 0; i < 1000; i++)
        {
            Assert.Equal($"/{i}", (await client.GetAsync($"/{i}")).Body);
        }
    }

    [Theory, EachTransport]
    public async Task A_hundred_connections_are_served_at_once(TransportKind transport)
    {
        using var all = new CountdownEvent(100);
        var gate = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        await using RunningApplication application = await RunningApplication.StartAsync(transport, async context =>
        {
            if (all.Signal())
            {
                gate.SetResult();
            }

            await gate.Task;
            await EchoTarget(context);
        });
        using HttpClient client = application.NewClient();

        // No handler goes on before all of them are there: no connection waits for another.
        string[] bodies = await Task.WhenAll(Enumerable.Range(0, 100).Select(i => client.GetStringAsync($"/{i}"))).Within();

        Assert.Equal(Enumerable.Range(0, 100).Select(static i => $"/{i}"), bodies);
    }

    [Theory, EachTransport]
    public async Task A_head_that_comes_byte_by_byte_is_read(TransportKind transport)
    {
        await using RunningApplication application = await RunningApplication.StartAsync(transport, EchoTarget);
        using RawClient client = await application.ConnectAsync();

        foreach (byte one in Encoding.ASCII.GetBytes("GET /drops HTTP/1.1\r\nHost: site\r\n\r\n"))
        {
            await client.SendAsync(new[] { one });
        }

        Assert.Equal("/drops", (await client.ReadResponseAsync()).Body);
    }

    [Theory, EachTransport]
    public async Task Sixteen_pipelined_requests_are_answered_in_order(TransportKind transport)
    {
        await using RunningApplication application = await RunningApplication.StartAsync(transport, async context =>
        {
            if (context.Request.Path == "/5")
            {
                await Task.Delay(20);
            }

            await EchoTarget(context);
        });
        using RawClient client = await application.ConnectAsync();

        for (int round = 0; round < 20; round++)
        {
            await client.SendAsync(string.Concat(Enumerable.Range(0, 16).Select(static i => $"GET /{i} HTTP/1.1\r\nHost: site\r\n\r\n")));
            for (int i = 0; i < 16; i++)
            {
                Assert.Equal($"/{i}", (await client.ReadResponseAsync()).Body);
            }
        }
    }

    [Theory, EachTransport]
    public async Task Pipelined_requests_before_a_fin_are_all_answered(TransportKind transport)
    {
        await using RunningApplication application = await RunningApplication.StartAsync(transport, EchoTarget);
        using RawClient client = await application.ConnectAsync();

        await client.SendAsync("GET /a HTTP/1.1\r\nHost: site\r\n\r\nGET /b HTTP/1.1\r\nHost: site\r\nConnection: close\r\n\r\n");

        Assert.Equal("/a", (await client.ReadResponseAsync()).Body);
        Assert.Equal("/b", (await client.ReadResponseAsync()).Body);
        Assert.Equal(("", Ending.Fin), await client.ReadToEndAsync());
    }

    [Theory, EachTransport]
    public async Task A_client_that_expects_100_gets_a_100(TransportKind transport)
    {
        await using RunningApplication application = await RunningApplication.StartAsync(transport, async context =>
        {
            using var reader = new StreamReader(context.Request.Body);
            await context.Response.WriteAsync($"got {await reader.ReadToEndAsync()}");
        });
        using RawClient client = await application.ConnectAsync();

        await client.SendAsync("POST / HTTP/1.1\r\nHost: site\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
        Assert.Equal(100, (await client.ReadResponseAsync()).Status);
        await client.SendAsync("bytes");

        Assert.Equal("got bytes", (await client.ReadResponseAsync()).Body);
    }

    [Theory, EachTransport]
    public async Task A_handler_that_throws_answers_500_and_the_connection_lives_on(TransportKind transport)
    {
        await using RunningApplication application = await RunningApplication.StartAsync(
            transport,
            static context => context.Request.Path == "/bad" ? throw new InvalidOperationException("Broken.") : EchoTarget(context));
        using RawClient client = await application.ConnectAsync();

        Assert.Equal(500, (await client.GetAsync("/bad")).Status);
        Assert.Equal("/good", (await client.GetAsync("/good")).Body);
    }

    [Theory, EachTransport]
    public async Task Requests_after_a_handler_that_went_elsewhere_are_answered(TransportKind transport)
    {
        await using RunningApplication application = await RunningApplication.StartAsync(transport, async context =>
        {
            switch (context.Request.Path)
            {
                case "/delay":
                    await Task.Delay(1);
                    break;
                case "/run":
                    await Task.Run(static () => Thread.SpinWait(1000));
                    break;
                case "/configured":
                    await Task.Delay(1).ConfigureAwait(false);
                    break;
                case "/yield":
                    await Task.Yield();
                    break;
            }

            await EchoTarget(context);
        });
        using RawClient client = await application.ConnectAsync();

        string[] targets = ["/delay", "/run", "/configured", "/yield", "/none"];
        for (int i = 0; i < 100; i++)
        {
            string target = targets[i % targets.Length];
            Assert.Equal(target, (await client.GetAsync(target)).Body);
        }

        await client.SendAsync(string.Concat(targets.Select(static target => $"GET {target} HTTP/1.1\r\nHost: site\r\n\r\n")));
        foreach (string target in targets)
        {
            Assert.Equal(target, (await client.ReadResponseAsync()).Body);
        }
    }

    [Theory, EachTransport]
    public async Task Ambient_values_of_one_request_are_not_seen_by_another(TransportKind transport)
    {
        await using RunningApplication application = await RunningApplication.StartAsync(transport, async context =>
        {
            string before = Ambient.Value ?? "nothing";
            Ambient.Value = context.Request.Path;
            await Task.Yield();
            Assert.Equal(context.Request.Path, Ambient.Value);
            await context.Response.WriteAsync(before);
        });
        using RawClient one = await application.ConnectAsync();
        using RawClient other = await application.ConnectAsync();

        for (int i = 0; i < 50; i++)
        {
            Assert.Equal("nothing", (await one.GetAsync("/one")).Body);
            Assert.Equal("nothing", (await other.GetAsync("/other")).Body);
        }
    }

    [Theory, EachTransport]
    public async Task A_handler_that_waits_in_vain_holds_up_nobody_else(TransportKind transport)
    {
        var gate = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        await using RunningApplication application = await RunningApplication.StartAsync(transport, async context =>
        {
            if (context.Request.Path == "/slow")
            {
                await gate.Task;
            }

            await EchoTarget(context);
        });
        using RawClient slow = await application.ConnectAsync();
        await slow.SendAsync("GET /slow HTTP/1.1\r\nHost: site\r\n\r\n");

        using HttpClient client = application.NewClient();
        await Task.WhenAll(Enumerable.Range(0, 50).Select(i => client.GetStringAsync($"/{i}"))).Within();
        gate.SetResult();

        Assert.Equal("/slow", (await slow.ReadResponseAsync()).Body);
    }

    [Theory, EachTransport]
    public async Task An_answer_in_many_flushes_arrives_piece_by_piece(TransportKind transport)
    {
        var next = new SemaphoreSlim(0);
        await using RunningApplication application = await RunningApplication.StartAsync(transport, async context =>
        {
            for (int i = 0; i < 5; i++)
            {
                await context.Response.WriteAsync($"piece {i};");
                await context.Response.Body.FlushAsync();
                await next.WaitAsync();
            }
        });
        using RawClient client = await application.ConnectAsync();
        await client.SendAsync("GET / HTTP/1.1\r\nHost: site\r\n\r\n");

        // Each piece must be here before the next one is let go: nothing is kept for company.
        for (int i = 0; i < 5; i++)
        {
            await client.ReadThroughAsync($"piece {i};");
            next.Release();
        }

        await client.ReadThroughAsync("0\r\n\r\n");
    }

    [Theory, EachTransport]
    public async Task The_request_knows_both_ends_of_its_connection(TransportKind transport)
    {
        await using RunningApplication application = await RunningApplication.StartAsync(transport, static context =>
        {
            ConnectionInfo connection = context.Connection;
            return context.Response.WriteAsync(
                $"{connection.RemoteIpAddress}:{connection.RemotePort} {connection.LocalIpAddress}:{connection.LocalPort} {connection.Id}");
        });
        using RawClient client = await application.ConnectAsync();
        using RawClient other = await application.ConnectAsync();

        string[] ends = (await client.GetAsync()).Body.Split(' ');
        Assert.Equal([client.Socket.LocalEndPoint!.ToString()!, client.Socket.RemoteEndPoint!.ToString()!], ends[..2]);
        Assert.Equal(ends[2], (await client.GetAsync()).Body.Split(' ')[2]);
        Assert.NotEqual(ends[2], (await other.GetAsync()).Body.Split(' ')[2]);
    }

    [Theory, EachTransport]
    public async Task Noise_is_refused_and_the_next_connection_is_served(TransportKind transport)
    {
        await using RunningApplication application = await RunningApplication.StartAsync(transport, EchoTarget);
        using (RawClient noisy = await application.ConnectAsync())
        {
            await noisy.SendAsync("\x16\x03\x01 this is no request\r\n\r\n");
            Assert.Equal((int)HttpStatusCode.BadRequest, (await noisy.ReadResponseAsync()).Status);
        }

        using RawClient client = await application.ConnectAsync();
        Assert.Equal("/after", (await client.GetAsync("/after")).Body);
    }
}
