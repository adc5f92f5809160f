using System.Collections.Concurrent;
using System.Net;
using System.Net.Sockets;
using Microsoft.AspNetCore.Http;
using Millrace.AspNetCore.Tests.Kit;

namespace Millrace.AspNetCore.Tests.Contract;

/// <summary>What Millrace promises beyond the contract: requests stay on the reactor, and what is flushed in an iteration is one send.</summary>
public class ReactorTests
{
    private const int Connections = 64;
    private const int RequestsEach = 200;

    [Fact]
    public async Task Nearly_all_requests_on_kept_connections_run_on_a_reactor()
    {
        double share = await ShareOnReactorsAsync(TransportKind.Millrace);

        Assert.True(share >= 0.99, $"{share:P2} ran on a reactor.");
    }

    [Fact]
    public async Task No_request_runs_on_a_reactor_where_there_is_none() =>
        Assert.Equal(0, await ShareOnReactorsAsync(TransportKind.Sockets));

    [Fact]
    public async Task Pipelined_requests_after_one_that_left_are_on_the_reactor_again()
    {
        var threads = new ConcurrentQueue<string?>();
        await using RunningApplication application = await RunningApplication.StartAsync(TransportKind.Millrace, async context =>
        {
            threads.Enqueue(Thread.CurrentThread.Name);
            if (context.Request.Path == "/leave")
            {
                await Task.Delay(1);
            }

            await context.Response.WriteAsync("answer");
        });
        using RawClient client = await application.ConnectAsync();
        await client.GetAsync();
        threads.Clear();

        await client.SendAsync("GET /leave HTTP/1.1\r\nHost: site\r\n\r\nGET / HTTP/1.1\r\nHost: site\r\n\r\n");
        await client.ReadResponseAsync();
        await client.ReadResponseAsync();
        await client.GetAsync();

        Assert.Equal(3, threads.Count);
        Assert.All(threads, static name => Assert.StartsWith("millrace-", name, StringComparison.Ordinal));
    }

    [Fact]
    public async Task Two_flushes_in_one_iteration_are_one_send()
    {
        await using RunningApplication application = await RunningApplication.StartAsync(TransportKind.Millrace, static async context =>
        {
            await context.Response.WriteAsync("one");
            await context.Response.Body.FlushAsync();
            if (context.Request.Path == "/apart")
            {
                // Long enough to be another iteration, and another segment.
                await Task.Delay(50);
            }

            await context.Response.WriteAsync("two");
            await context.Response.Body.FlushAsync();
        });
        using RawClient client = await application.ConnectAsync();
        await client.GetAsync();

        for (int i = 0; i < 20; i++)
        {
            Assert.Equal(1, await SegmentsOfAsync(client, "/together"));
        }

        // The control: that counter does see two sends.
        Assert.InRange(await SegmentsOfAsync(client, "/apart"), 2, 3);
    }

    [Fact]
    public async Task Sixteen_pipelined_answers_are_one_send()
    {
        await using RunningApplication application = await RunningApplication.StartAsync(
            TransportKind.Millrace, static context => context.Response.WriteAsync("answer"));
        using RawClient client = await application.ConnectAsync();
        await client.GetAsync();

        int before = SegmentsReceived(client.Socket);
        await client.SendAsync(string.Concat(Enumerable.Repeat("GET / HTTP/1.1\r\nHost: site\r\n\r\n", 16)));
        for (int i = 0; i < 16; i++)
        {
            await client.ReadResponseAsync();
        }

        Assert.Equal(1, SegmentsReceived(client.Socket) - before);
    }

    [Fact]
    public async Task A_bound_handle_can_be_handed_to_one_server_after_another()
    {
        using var owned = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        owned.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        for (int i = 0; i < 3; i++)
        {
            await using RunningApplication application = await RunningApplication.StartAsync(
                TransportKind.Millrace,
                static context => context.Response.WriteAsync("answer"),
                endpoints: kestrel => kestrel.ListenHandle((ulong)owned.Handle));
            using RawClient client = await RawClient.ConnectAsync(owned.LocalEndPoint!);
            Assert.Equal("answer", (await client.GetAsync()).Body);
        }
    }

    /// <summary>Of thousands of requests, of which every tenth leaves its thread, the share that began on a reactor's thread.</summary>
    private static async Task<double> ShareOnReactorsAsync(TransportKind transport)
    {
        int onReactor = 0;
        int all = 0;
        await using RunningApplication application = await RunningApplication.StartAsync(transport, async context =>
        {
            Interlocked.Increment(ref all);
            if (Thread.CurrentThread.Name?.StartsWith("millrace-", StringComparison.Ordinal) == true)
            {
                Interlocked.Increment(ref onReactor);
            }

            if (context.Request.Path == "/leave")
            {
                await Task.Delay(1);
            }

            await context.Response.WriteAsync("answer");
        });

        await Task.WhenAll(Enumerable.Range(0, Connections).Select(async i =>
        {
            using RawClient client = await application.ConnectAsync();
            for (int j = 0; j < RequestsEach; j++)
            {
                await client.GetAsync((i + j) % 10 == 0 ? "/leave" : "/stay");
            }
        }));

        Assert.Equal(Connections * RequestsEach, all);
        return (double)onReactor / all;
    }

    private static async Task<int> SegmentsOfAsync(RawClient client, string target)
    {
        int before = SegmentsReceived(client.Socket);
        Assert.Equal("onetwo", (await client.GetAsync(target)).Body);
        return SegmentsReceived(client.Socket) - before;
    }

    /// <summary>tcpi_data_segs_in of struct tcp_info: with no delay, and so little in each, there is one for every send of the peer.</summary>
    private static int SegmentsReceived(Socket socket)
    {
        const int Tcp = 6;
        const int TcpInfo = 11;
        const int DataSegmentsIn = 152;
        byte[] info = new byte[DataSegmentsIn + sizeof(int)];
        Assert.Equal(info.Length, socket.GetRawSocketOption(Tcp, TcpInfo, info));
        return BitConverter.ToInt32(info, DataSegmentsIn);
    }
}
