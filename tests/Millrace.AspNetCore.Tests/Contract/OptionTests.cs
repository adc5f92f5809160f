using System.Collections.Concurrent;
using System.Net;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Millrace.AspNetCore.Tests.Kit;
using Millrace.Engine;
using Millrace.Tests.Shared;

namespace Millrace.AspNetCore.Tests.Contract;

/// <summary>The options of the transport, seen from outside.</summary>
public class OptionTests
{
    private static Task ResponseThread(HttpContext context) => context.Response.WriteAsync(Thread.CurrentThread.Name ?? "");

    [Fact]
    public async Task FinOnError_makes_an_abort_a_fin()
    {
        await using RunningApplication application = await StartAsync(
            static context =>
            {
                context.Abort();
                return Task.CompletedTask;
            },
            static options => options.FinOnError = true);
        using RawClient client = await application.ConnectAsync();
        await client.SendAsync("GET / HTTP/1.1\r\nHost: site\r\n\r\n");

        Assert.Equal(("", Ending.Fin), await client.ReadToEndAsync());
        Assert.Contains("aborted", (await application.Log.ExpectAsync("ConnectionWriteFin")).Text, StringComparison.Ordinal);
    }

    [Fact]
    public async Task As_many_reactors_serve_as_are_asked_for()
    {
        var threads = new ConcurrentDictionary<string, bool>();
        await using RunningApplication application = await StartAsync(
            context =>
            {
                threads[Thread.CurrentThread.Name ?? ""] = true;
                return ResponseThread(context);
            },
            static options => options.ReactorCount = 3);

        // The kernel deals connections out by a hash of their ports: 200 of them miss one of three once in 10^35 times.
        for (int i = 0; i < 200; i++)
        {
            using RawClient client = await application.ConnectAsync();
            await client.GetAsync();
            await client.GetAsync();
        }

        Assert.Equal(
            ["millrace-0", "millrace-1", "millrace-2"],
            threads.Keys.Where(static name => name.StartsWith("millrace-", StringComparison.Ordinal)).Order(StringComparer.Ordinal));
    }

    [Fact]
    public async Task One_endpoint_can_have_other_options_than_the_others()
    {
        await using RunningApplication application = await StartAsync(
            ResponseThread,
            static options => options.ConfigureEndPoint = static (endPoint, own) =>
                own.Scheduling = endPoint is IPEndPoint { Address: var address } && address.Equals(IPAddress.IPv6Loopback)
                    ? TransportScheduling.ThreadPool
                    : TransportScheduling.Inline,
            endpoints: static kestrel =>
            {
                kestrel.Listen(IPAddress.Loopback, 0);
                kestrel.Listen(IPAddress.IPv6Loopback, 0);
            });
        using RawClient inline = await application.ConnectAsync();
        using RawClient pooled = await RawClient.ConnectAsync(new IPEndPoint(IPAddress.IPv6Loopback, new Uri(application.Addresses[1]).Port));
        await inline.GetAsync();

        Assert.StartsWith("millrace-", (await inline.GetAsync()).Body, StringComparison.Ordinal);
        for (int i = 0; i < 20; i++)
        {
            Assert.DoesNotContain("millrace-", (await pooled.GetAsync()).Body, StringComparison.Ordinal);
        }
    }

    [Fact]
    public async Task A_group_can_be_shared_by_two_applications_and_outlives_both()
    {
        await using ReactorGroup group = await ReactorGroup.StartAsync(new EngineOptions { Reactors = 1, Backend = AskedBackend.Kind });
        await using (RunningApplication one = await StartAsync(ResponseThread, options => options.ReactorGroup = group))
        {
            await using RunningApplication other = await StartAsync(ResponseThread, options => options.ReactorGroup = group);
            foreach (RunningApplication application in (RunningApplication[])[one, other])
            {
                using RawClient client = await application.ConnectAsync();
                await client.GetAsync();
                Assert.Equal("millrace-0", (await client.GetAsync()).Body);
            }

            await other.StopAsync().Within();
            using RawClient later = await one.ConnectAsync();
            Assert.Equal(200, (await later.GetAsync()).Status);
        }

        await using RunningApplication next = await StartAsync(ResponseThread, options => options.ReactorGroup = group);
        using RawClient last = await next.ConnectAsync();
        Assert.Equal(200, (await last.GetAsync()).Status);
    }

    [Fact]
    public async Task Two_applications_run_beside_each_other()
    {
        await using RunningApplication one = await RunningApplication.StartAsync(TransportKind.Millrace, static context => context.Response.WriteAsync("one"));
        await using RunningApplication two = await RunningApplication.StartAsync(TransportKind.Millrace, static context => context.Response.WriteAsync("two"));
        using HttpClient client = one.NewClient();

        Assert.Equal("one", await client.GetStringAsync(one.Url));
        Assert.Equal("two", await client.GetStringAsync(two.Url));
        await one.StopAsync().Within();
        Assert.Equal("two", await client.GetStringAsync(two.Url));
    }

    /// <summary>The transport is registered twice over, as an application may do it; the last word counts.</summary>
    private static Task<RunningApplication> StartAsync(
        RequestDelegate response,
        Action<MillraceTransportOptions> configure,
        Action<KestrelServerOptions>? endpoints = null) =>
        RunningApplication.StartAsync(TransportKind.Millrace, response, endpoints: endpoints, host: host => host.UseMillrace(configure));
}
