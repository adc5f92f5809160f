using System.Diagnostics;
using System.Net.Security;
using System.Security.Authentication;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Millrace.AspNetCore.Tests.Https.Kit;
using Millrace.AspNetCore.Tests.Kit;
using static Millrace.AspNetCore.Tests.Kit.ProtocolEcho;

namespace Millrace.AspNetCore.Tests.Https;

/// <summary>Handshakes: what is agreed on, and what becomes of those that are not finished.</summary>
public class HttpsHandshakeTests
{
    [Theory, EachHttps]
    public async Task What_is_offered_is_what_the_endpoint_speaks(HttpsKind kind)
    {
        foreach ((HttpProtocols protocols, string expected) in ((HttpProtocols, string)[])
            [(HttpProtocols.Http1, "http/1.1"), (HttpProtocols.Http2, "h2"), (HttpProtocols.Http1AndHttp2, "h2")])
        {
            // Called after UseHttps, as it may be.
            await using RunningApplication application = await HttpsApplication.StartAsync(
                kind, EchoProtocol, endpoint: endpoint => endpoint.Protocols = protocols);
            await using HttpsClient client = await HttpsClient.ConnectAsync(application, static options =>
                options.ApplicationProtocols = [SslApplicationProtocol.Http11, SslApplicationProtocol.Http2]);

            Assert.Equal(expected, client.Stream.NegotiatedApplicationProtocol.ToString());
        }
    }

    [Theory, EachHttps]
    public async Task A_client_that_offers_nothing_that_is_spoken_is_refused(HttpsKind kind)
    {
        await using RunningApplication application = await HttpsApplication.StartAsync(
            kind, EchoProtocol, endpoint: static endpoint => endpoint.Protocols = HttpProtocols.Http2);

        Assert.IsType<AuthenticationException>(await HttpsClient.RefusedAsync(
            application, static options => options.ApplicationProtocols = [SslApplicationProtocol.Http11]));
        Assert.Empty(application.Log.AboveDebug);
    }

    [Theory, EachHttps]
    [Trait("Duration", "Full")]
    public async Task A_handshake_that_stands_still_is_ended(HttpsKind kind)
    {
        await using RunningApplication application = await HttpsApplication.StartAsync(
            kind, EchoProtocol, static https => https.HandshakeTimeout = TimeSpan.FromSeconds(1));
        using RawClient silent = await application.ConnectAsync();
        using RawClient half = await application.ConnectAsync();
        await half.SendAsync("\x16\x03\x01\x02");

        await silent.ReadToEndAsync();
        await half.ReadToEndAsync();

        using HttpClient client = application.NewClient();
        Assert.Equal("HTTP/1.1 https /after", await client.GetStringAsync("/after"));
        Assert.Empty(application.Log.AboveDebug);
    }

    [Theory, EachHttps]
    public async Task Handshakes_under_way_count_for_the_limit_of_connections(HttpsKind kind)
    {
        await using RunningApplication application = await RunningApplication.StartAsync(
            kind.Transport(),
            EchoProtocol,
            static limits => limits.MaxConcurrentConnections = 2,
            listen => listen.UseHttps(kind, static options => options.ServerCertificate = Certificates.Server));
        await using HttpsClient first = await HttpsClient.ConnectAsync(application);
        await first.SendAsync("GET /first HTTP/1.1\r\nHost: site\r\n\r\n");
        await first.ReadThroughAsync("\r\n0\r\n\r\n");
        var reached = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        using var gate = new SemaphoreSlim(0);

        // It has the server's flight, and keeps its own back.
        Task<HttpsClient> second = Task.Run(() => HttpsClient.ConnectAsync(application, options =>
            options.RemoteCertificateValidationCallback = (_, _, _, _) =>
            {
                reached.SetResult();
                return gate.Wait(TimeSpan.FromSeconds(30));
            }));
        await reached.Task.Within();

        Exception refusal = await HttpsClient.RefusedAsync(application, static _ => { });
        Assert.IsNotType<TimeoutException>(refusal);

        gate.Release();
        await using (HttpsClient late = await second)
        {
            await late.SendAsync("GET /second HTTP/1.1\r\nHost: site\r\nConnection: close\r\n\r\n");
            Assert.Contains("/second", await late.ReadToEndAsync(), StringComparison.Ordinal);
        }

        // Its slot is free for another, when the server has seen that it is gone.
        for (var watch = Stopwatch.StartNew(); !await IsServedAsync(application); await Task.Delay(5))
        {
            Assert.True(watch.Elapsed < Waiting.Patience, application.Log.ToString());
        }

        Assert.DoesNotContain(application.Log.AboveDebug, static entry => entry.Event.Name != "ConnectionRejected");
    }

    [Theory, EachHttps]
    public async Task Plain_http_reaches_no_application(HttpsKind kind)
    {
        bool wasAsked = false;
        await using RunningApplication application = await HttpsApplication.StartAsync(kind, context =>
        {
            wasAsked = true;
            return EchoProtocol(context);
        });
        using RawClient client = await application.ConnectAsync();
        await client.SendAsync("GET / HTTP/1.1\r\nHost: site\r\n\r\n");

        (string text, _) = await client.ReadToEndAsync();

        // An SslStream ends without a word that such a client could read.
        Assert.Equal(kind != HttpsKind.Kestrel, text.StartsWith("HTTP/1.1 400 ", StringComparison.Ordinal));
        Assert.False(wasAsked);
        Assert.Empty(application.Log.AboveDebug);
    }

    [Theory, EachHttps]
    public async Task Handshakes_that_are_left_or_nonsense_harm_nobody(HttpsKind kind)
    {
        await using RunningApplication application = await HttpsApplication.StartAsync(kind, EchoProtocol);
        for (int i = 0; i < 40; i++)
        {
            using RawClient left = await application.ConnectAsync();
            await left.SendAsync((i % 4) switch
            {
                0 => "GET / HTTP/1.1\r\nHost: site\r\n\r\n",
                1 => "\x16\x03\x01\x02",
                2 => "\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00",
                _ => "\0\0\0\0",
            });
            if (i % 8 == 1)
            {
                left.Reset();
            }
        }

        using HttpClient client = application.NewClient();
        Assert.Equal("HTTP/1.1 https /after", await client.GetStringAsync("/after"));
        Assert.Empty(application.Log.AboveDebug);
    }

    [Theory, EachHttps]
    public async Task A_failed_handshake_is_logged_at_debug_level(HttpsKind kind)
    {
        await using RunningApplication application = await HttpsApplication.StartAsync(kind, EchoProtocol);
        using (RawClient client = await application.ConnectAsync())
        {
            await client.SendAsync("\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00");
            await client.ReadToEndAsync();
        }

        await application.Log.ExpectAsync(kind == HttpsKind.Kestrel ? "AuthenticationFailed" : "HandshakeFailed");
    }

    [Theory, EachHttps]
    public async Task Connections_that_come_and_go_leave_nothing_behind(HttpsKind kind)
    {
        const int Connections = 300;
        await using RunningApplication application = await HttpsApplication.StartAsync(kind, EchoProtocol);
        await LiveAsync(application, 0);
        await application.Log.ExpectAsync("ConnectionStop");
        int before = Descriptors.CountSockets();
        int next = 0;

        await Task.WhenAll(Enumerable.Range(0, 4).Select(_ => Task.Run(async () =>
        {
            int mine;
            while ((mine = Interlocked.Increment(ref next)) <= Connections)
            {
                await LiveAsync(application, mine % 5);
            }
        })));

        await Descriptors.ReturnToAsync(before);
        await Waiting.UntilAsync(
            () => Count(application, "ConnectionStart") == Count(application, "ConnectionStop"), application.Log.ToString);
        Assert.Empty(application.Log.AboveDebug);
    }

    /// <summary>
    /// Memory of the process, which clients and other tests share: those grow at times, a leak of a session (some 10 KB with OpenSSL's) by
    /// 10 MB each time.
    /// </summary>
    [Theory]
    [InlineData(HttpsKind.Millrace)]
    [Trait("Duration", "Full")]
    public async Task Memory_stays_where_it_was(HttpsKind kind)
    {
        await using RunningApplication application = await HttpsApplication.StartAsync(kind, EchoProtocol);
        const int Times = 5;
        const long LeakBytes = 5L << 20;
        await ChurnAsync(application, 500);
        var grown = new List<long>();
        do
        {
            long before = ResidentBytes();
            await ChurnAsync(application, 1000);
            grown.Add(ResidentBytes() - before);
        }
        while (grown[^1] > LeakBytes && grown.Count < Times);

        Assert.True(grown[^1] <= LeakBytes, $"Bytes more each time: {string.Join(", ", grown)}");
    }

    private static async Task<bool> IsServedAsync(RunningApplication application)
    {
        using HttpClient client = application.NewClient();
        try
        {
            return await client.GetStringAsync("/third") == "HTTP/1.1 https /third";
        }
        catch (HttpRequestException)
        {
            return false;
        }
    }

    private static async Task ChurnAsync(RunningApplication application, int connections)
    {
        for (int i = 0; i < connections; i++)
        {
            await LiveAsync(application, 1);
            application.Log.Entries.Clear();
        }
    }

    private static long ResidentBytes()
    {
        GC.Collect();
        GC.WaitForPendingFinalizers();
        GC.Collect();
        using var self = Process.GetCurrentProcess();
        return self.WorkingSet64;
    }

    private static int Count(RunningApplication application, string name) =>
        application.Log.Entries.Count(entry => entry.Event.Name == name);

    private static async Task LiveAsync(RunningApplication application, int way)
    {
        if (way == 2)
        {
            using RawClient left = await application.ConnectAsync();
            await left.SendAsync("\x16\x03\x01\x02");
            return;
        }

        await using HttpsClient client = await HttpsClient.ConnectAsync(application);
        await client.SendAsync("GET / HTTP/1.1\r\nHost: site\r\n" + (way == 1 ? "Connection: close\r\n\r\n" : "\r\n"));
        if (way == 1)
        {
            Assert.Contains("https /", await client.ReadToEndAsync(), StringComparison.Ordinal);
        }
        else
        {
            await client.ReadThroughAsync("\r\n0\r\n\r\n");
        }

        if (way == 3)
        {
            // Without close_notify.
            client.Socket.Shutdown(System.Net.Sockets.SocketShutdown.Both);
        }
        else if (way == 4)
        {
            client.Socket.Close(0);
        }
    }
}
