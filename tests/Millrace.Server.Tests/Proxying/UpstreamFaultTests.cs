using System.Diagnostics;
using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using Millrace.Server.Tests.Kit;
using Millrace.Server.Tests.Proxying.Kit;
using Millrace.Tests.Shared;

namespace Millrace.Server.Tests.Proxying;

/// <summary>Upstreams that die, hang, are slow or full; and what others notice of it.</summary>
public class UpstreamFaultTests
{
    private const PosixSignal Kill = (PosixSignal)9;
    private const PosixSignal Stop = (PosixSignal)19;
    private const PosixSignal Continue = (PosixSignal)18;

    public static TheoryData<string> Versions => ProxiedSite.Versions;

    [Theory]
    [MemberData(nameof(Versions))]
    public async Task An_upstream_that_is_killed_fails_its_requests_and_is_used_again_when_it_is_back(string version)
    {
        using var folder = new TempFolder();
        string address = $"unix:{folder.PathOf("app")}";
        await using ProxiedSite site = await ProxiedSite.StartAsync(address);
        Assert.Equal(502, await site.StatusAsync(version, "/api/echo"));
        Task<int>[] waiting;
        await using (ServerProcess upstream = await Upstreams.StartKestrelAsync(address))
        {
            await UntilServedAsync(site, version);
            waiting = [.. Enumerable.Range(0, 5).Select(_ => site.StatusAsync(version, "/api/hang"))];
            // Sleeps: nobody tells when the requests have reached the application.
            await Task.Delay(300, TestContext.Current.CancellationToken);
        }

        Assert.All(await Task.WhenAll(waiting), static status => Assert.Equal(502, status));
        Assert.Equal(502, await site.StatusAsync(version, "/api/echo"));
        File.Delete(folder.PathOf("app"));
        await using ServerProcess again = await Upstreams.StartKestrelAsync(address);
        await UntilServedAsync(site, version);
        Assert.Equal(ProxiedSite.Page, await site.GetAsync(version, "/"));
    }

    [Theory]
    [MemberData(nameof(Versions))]
    public async Task An_upstream_that_dies_within_its_response_cuts_it(string version)
    {
        await using ServerProcess upstream = await Upstreams.StartKestrelAsync();
        await using ProxiedSite site = await ProxiedSite.StartAsync(ProxiedSite.Upstream(upstream));
        await Assert.ThrowsAnyAsync<Exception>(() => site.GetAsync(version, "/api/cut"));
        using HttpResponseMessage response = await site.SendAsync(
            version, HttpMethod.Get, "/api/download/1000000000", completion: HttpCompletionOption.ResponseHeadersRead);
        await using Stream body = await response.Content.ReadAsStreamAsync(TestContext.Current.CancellationToken);
        await body.ReadExactlyAsync(new byte[1_000_000], TestContext.Current.CancellationToken);
        upstream.Signal(Kill);
        await Assert.ThrowsAnyAsync<Exception>(() => body.CopyToAsync(Stream.Null, TestContext.Current.CancellationToken));
        Assert.Equal(ProxiedSite.Page, await site.GetAsync(version, "/"));
    }

    /// <summary>SIGSTOP: the kernel accepts connections and bytes, and nothing answers.</summary>
    [Theory]
    [MemberData(nameof(Versions))]
    public async Task An_upstream_that_hangs_is_given_up_in_time_and_harms_nobody_else(string version)
    {
        await using ServerProcess upstream = await Upstreams.StartKestrelAsync();
        await using ProxiedSite site = await ProxiedSite.StartAsync(ProxiedSite.Upstream(upstream), "--proxy-timeout", "2");
        await site.GetAsync(version, "/api/echo");
        upstream.Signal(Stop);
        long startedAt = Stopwatch.GetTimestamp();
        Task<int>[] waiting = [.. Enumerable.Range(0, 50).Select(_ => site.StatusAsync(version, "/api/echo"))];
        TimeSpan slowest = await SlowestPageAsync(site, version, until: Task.WhenAll(waiting));
        Assert.All(waiting, static status => Assert.Equal(504, status.Result));
        Assert.InRange(Stopwatch.GetElapsedTime(startedAt).TotalSeconds, 1.9, 10);
        Assert.True(slowest < TimeSpan.FromSeconds(1), $"A page of the site took {slowest}.");
        upstream.Signal(Continue);
        await UntilServedAsync(site, version);
    }

    [Theory]
    [MemberData(nameof(Versions))]
    public async Task An_upstream_that_hangs_within_its_response_cuts_it_in_time(string version)
    {
        await using ServerProcess upstream = await Upstreams.StartKestrelAsync();
        await using ProxiedSite site = await ProxiedSite.StartAsync(ProxiedSite.Upstream(upstream), "--proxy-idle-timeout", "1");
        using HttpResponseMessage response = await site.SendAsync(
            version, HttpMethod.Get, "/api/download/1000000000", completion: HttpCompletionOption.ResponseHeadersRead);
        await using Stream body = await response.Content.ReadAsStreamAsync(TestContext.Current.CancellationToken);
        await body.ReadExactlyAsync(new byte[1_000_000], TestContext.Current.CancellationToken);
        upstream.Signal(Stop);
        long startedAt = Stopwatch.GetTimestamp();
        await Assert.ThrowsAnyAsync<Exception>(() => body.CopyToAsync(Stream.Null, TestContext.Current.CancellationToken));
        Assert.InRange(Stopwatch.GetElapsedTime(startedAt).TotalSeconds, 0.9, 10);
        Assert.Equal(ProxiedSite.Page, await site.GetAsync(version, "/"));
        upstream.Signal(Continue);
        await UntilServedAsync(site, version);
    }

    [Theory]
    [MemberData(nameof(Versions))]
    public async Task An_upstream_that_is_killed_within_an_upload_fails_it_and_nothing_else(string version)
    {
        await using ServerProcess upstream = await Upstreams.StartKestrelAsync();
        await using ProxiedSite site = await ProxiedSite.StartAsync(ProxiedSite.Upstream(upstream));
        await site.GetAsync(version, "/api/echo");
        using var content = new ByteArrayContent(new byte[400_000_000]);
        Task<HttpResponseMessage> uploading = site.SendAsync(version, HttpMethod.Post, "/api/upload/50", content);
        // Sleeps: nobody tells when the upload is under way; with its pauses it takes more than two seconds.
        await Task.Delay(500, TestContext.Current.CancellationToken);
        upstream.Signal(Kill);
        await Task.WhenAny(uploading, Task.Delay(TimeSpan.FromSeconds(30), TestContext.Current.CancellationToken));
        Assert.True(uploading.IsCompleted, "The upload did not end.");

        // A client that still sends when its connection ends may not see the response.
        Assert.True(uploading.IsFaulted || (await uploading).StatusCode == HttpStatusCode.BadGateway, uploading.Status.ToString());
        Assert.Equal(ProxiedSite.Page, await site.GetAsync(version, "/"));
        Assert.Equal(502, await site.StatusAsync(version, "/api/echo"));
    }

    /// <summary>Its port is the same; requests of many clients go on all the time.</summary>
    [Theory]
    [MemberData(nameof(Versions))]
    public async Task An_upstream_that_is_restarted_under_load_is_missed_for_a_moment_only(string version)
    {
        string address = string.Create(CultureInfo.InvariantCulture, $"http://127.0.0.1:{FreePort.Find()}");
        ServerProcess upstream = await Upstreams.StartKestrelAsync(address);
        try
        {
            await using ProxiedSite site = await ProxiedSite.StartAsync(address);
            using var end = new CancellationTokenSource();
            Task<int[]>[] clients = [.. Enumerable.Range(0, 8).Select(_ => AskUntilAsync(site, version, end.Token))];
            for (int restart = 0; restart < 2; restart++)
            {
                await UntilServedAsync(site, version);
                upstream.Signal(Kill);
                await upstream.DisposeAsync();
                Assert.Equal(502, await site.StatusAsync(version, "/api/echo"));
                upstream = await Upstreams.StartKestrelAsync(address);
            }

            await UntilServedAsync(site, version);
            await end.CancelAsync();
            int[] statuses = [.. (await Task.WhenAll(clients)).SelectMany(static one => one)];
            Assert.All(statuses, static status => Assert.True(status is 200 or 502, $"{status}"));
            Assert.Contains(200, statuses);
            for (int i = 0; i < 20; i++)
            {
                Assert.Equal(200, await site.StatusAsync(version, "/api/echo"));
            }
        }
        finally
        {
            await upstream.DisposeAsync();
        }
    }

    /// <summary>An upstream that reads the request and writes its response one byte at a time.</summary>
    [Theory]
    [MemberData(nameof(Versions))]
    public async Task An_upstream_that_is_slow_at_each_byte_is_waited_for(string version)
    {
        using var listener = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        listener.Listen();
        Task<string> serving = ServeByBytesAsync(listener);

        // Each byte begins these times again.
        await using ProxiedSite site = await ProxiedSite.StartAsync(
            AddressOf(listener), "--proxy-timeout", "1", "--proxy-idle-timeout", "1");
        using var body = new StringContent(new string('b', 100));
        using HttpResponseMessage response = await site.SendAsync(version, HttpMethod.Post, "/api/x", body);
        Assert.Equal((HttpStatusCode.OK, new string('r', 100)), (
            response.StatusCode, await response.Content.ReadAsStringAsync(TestContext.Current.CancellationToken)));
        Assert.EndsWith(new string('b', 100), await serving, StringComparison.Ordinal);
    }

    [Theory]
    [MemberData(nameof(Versions))]
    public async Task Responses_byte_by_byte_arrive_as_they_come(string version)
    {
        await using ServerProcess upstream = await Upstreams.StartKestrelAsync();
        await using ProxiedSite site = await ProxiedSite.StartAsync(ProxiedSite.Upstream(upstream));
        Task slow = Task.WhenAll(Enumerable.Range(0, 20).Select(async _ =>
        {
            using HttpResponseMessage response = await site.SendAsync(
                version, HttpMethod.Get, "/api/slow/40/25", completion: HttpCompletionOption.ResponseHeadersRead);
            await using Stream body = await response.Content.ReadAsStreamAsync(TestContext.Current.CancellationToken);
            byte[] buffer = new byte[100];
            int reads = 0;
            int bytes = 0;
            while (await body.ReadAsync(buffer, TestContext.Current.CancellationToken) is var count and > 0)
            {
                reads++;
                bytes += count;
            }

            Assert.Equal(40, bytes);
            Assert.True(reads > 20, $"40 bytes arrived in {reads} pieces.");
        }));
        TimeSpan slowest = await SlowestPageAsync(site, version, until: slow);
        Assert.True(slowest < TimeSpan.FromSeconds(1), $"A page of the site took {slowest}.");
    }

    [Theory]
    [MemberData(nameof(Versions))]
    public async Task A_closed_port_and_a_full_queue_are_told_apart(string version)
    {
        using var closed = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        closed.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        await using ProxiedSite refused = await ProxiedSite.StartAsync(AddressOf(closed));
        Assert.Equal(502, await refused.StatusAsync(version, "/api/echo"));

        // A queue of one, which the test fills: further SYNs are dropped.
        using var full = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        full.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        full.Listen(0);
        using var first = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        await first.ConnectAsync(full.LocalEndPoint!, TestContext.Current.CancellationToken);
        using var second = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        _ = second.ConnectAsync(full.LocalEndPoint!, TestContext.Current.CancellationToken).AsTask().ContinueWith(static _ => { }, TaskScheduler.Default);
        await using ProxiedSite site = await ProxiedSite.StartAsync(
            AddressOf(full), "--proxy-connect-timeout", "1", "--proxy-timeout", "1");
        long startedAt = Stopwatch.GetTimestamp();
        Task<int>[] waiting = [.. Enumerable.Range(0, 20).Select(_ => site.StatusAsync(version, "/api/echo"))];
        TimeSpan slowest = await SlowestPageAsync(site, version, until: Task.WhenAll(waiting));
        Assert.All(waiting, static status => Assert.Equal(504, status.Result));
        Assert.InRange(Stopwatch.GetElapsedTime(startedAt).TotalSeconds, 0.9, 10);
        Assert.True(slowest < TimeSpan.FromSeconds(1), $"A page of the site took {slowest}.");
    }

    private static async Task<int[]> AskUntilAsync(ProxiedSite site, string version, CancellationToken end)
    {
        var statuses = new List<int>();
        while (!end.IsCancellationRequested)
        {
            statuses.Add(await site.StatusAsync(version, "/api/echo"));
            // Sleeps: an unhurried client.
            await Task.Delay(5, TestContext.Current.CancellationToken);
        }

        return [.. statuses];
    }

    private static async Task<string> ServeByBytesAsync(Socket listener)
    {
        using Socket socket = await listener.AcceptAsync(TestContext.Current.CancellationToken);
        socket.NoDelay = true;
        byte[] one = new byte[1];
        string request = "";
        while (!request.EndsWith(new string('b', 100), StringComparison.Ordinal))
        {
            Assert.Equal(1, await socket.ReceiveAsync(one, TestContext.Current.CancellationToken));
            request += (char)one[0];
        }

        foreach (char character in $"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{new string('r', 100)}")
        {
            one[0] = (byte)character;
            await socket.SendAsync(one, TestContext.Current.CancellationToken);
            // Sleeps: so that each byte comes alone; all together take longer than the deadlines.
            await Task.Delay(15, TestContext.Current.CancellationToken);
        }

        return request;
    }

    private static string AddressOf(Socket socket) =>
        string.Create(CultureInfo.InvariantCulture, $"http://127.0.0.1:{((IPEndPoint)socket.LocalEndPoint!).Port}");

    /// <summary>Asks for a file of the site, again and again, as a client that has nothing to do with the upstream.</summary>
    private static async Task<TimeSpan> SlowestPageAsync(ProxiedSite site, string version, Task until)
    {
        TimeSpan slowest = TimeSpan.Zero;
        do
        {
            long startedAt = Stopwatch.GetTimestamp();
            Assert.Equal(ProxiedSite.Page, await site.GetAsync(version, "/"));
            TimeSpan time = Stopwatch.GetElapsedTime(startedAt);
            slowest = time > slowest ? time : slowest;
            // Sleeps: an unhurried client.
            await Task.Delay(5, TestContext.Current.CancellationToken);
        }
        while (!until.IsCompleted);

        await until;
        return slowest;
    }

    private static async Task UntilServedAsync(ProxiedSite site, string version)
    {
        for (long startedAt = Stopwatch.GetTimestamp(); await site.StatusAsync(version, "/api/echo") is var status and not 200;)
        {
            Assert.True(Stopwatch.GetElapsedTime(startedAt) < TimeSpan.FromSeconds(30), $"The upstream is still answered for with {status}.");
            // Sleeps: the upstream is avoided for a time after it has failed.
            await Task.Delay(50, TestContext.Current.CancellationToken);
        }
    }
}
