using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using System.Text;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Host;

/// <summary>Sockets that a service manager has bound.</summary>
public class SocketActivationTests
{
    private const int Clients = 4;

    private static readonly IPEndPoint AnyPort = new(IPAddress.Loopback, 0);

    /// <summary>A start of the runtime is waited for in it, on a machine that does other things too.</summary>
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(60);

    [Fact]
    public async Task What_was_handed_over_is_served_instead_of_the_default_address()
    {
        using var parent = new ServiceParent();
        var address = (IPEndPoint)parent.Listen("web", AnyPort);
        await using ServerProcess server = await parent.StartAsync(Places.SampleSite);
        Assert.Equal([$"http://127.0.0.1:{address.Port}/"], server.Addresses);
        Assert.Equal(200, Wire.Get(server.Url, "/").Status);
        await StopAsync(server);
    }

    [Fact]
    public async Task An_address_that_is_asked_for_takes_the_socket_that_equals_it_and_others_are_bound()
    {
        using var parent = new ServiceParent();
        var address = (IPEndPoint)parent.Listen("web", AnyPort);
        await using ServerProcess server = await parent.StartAsync(
            Places.SampleSite, "--listen", $"127.0.0.1:{address.Port}", "--listen", "127.0.0.1:0");
        Assert.Equal(2, server.Addresses.Count);
        Assert.Equal($"http://127.0.0.1:{address.Port}/", server.Addresses[0]);
        Assert.All(server.Addresses, static url => Assert.Equal(200, Wire.Get(new Uri(url), "/").Status));
        await StopAsync(server);
    }

    [Fact]
    public async Task A_socket_called_https_speaks_TLS()
    {
        using var parent = new ServiceParent();
        using var folder = new TempFolder();
        var plain = (IPEndPoint)parent.Listen("web", AnyPort);
        var secure = (IPEndPoint)parent.Listen("web-https", AnyPort);
        await using ServerProcess server = await parent.StartAsync(
            [Places.SampleSite, "--https-redirect", .. OwnCertificate.Make(folder, "site", "localhost")]);
        using HttpClient client = OwnCertificate.Trusting();
        Assert.Contains("Aldermere Mill", await client.GetStringAsync($"https://localhost:{secure.Port}/"), StringComparison.Ordinal);
        WireResponse response = Wire.Get(new Uri($"http://127.0.0.1:{plain.Port}/"), "/");
        Assert.Equal($"https://millrace:{secure.Port}/", response.Field("Location"));
        await StopAsync(server);
    }

    [Fact]
    public async Task A_socket_without_a_telling_name_speaks_TLS_where_its_address_is_asked_for_so()
    {
        using var parent = new ServiceParent();
        using var folder = new TempFolder();
        var secure = (IPEndPoint)parent.Listen("", AnyPort);
        await using ServerProcess server = await parent.StartAsync(
            [Places.SampleSite, "--https", $"127.0.0.1:{secure.Port}", "--hsts", .. OwnCertificate.Make(folder, "site", "localhost")]);
        using HttpClient client = OwnCertificate.Trusting();
        Assert.Contains("Aldermere Mill", await client.GetStringAsync($"https://localhost:{secure.Port}/"), StringComparison.Ordinal);
        await StopAsync(server);
    }

    [Fact]
    public async Task A_unix_socket_that_was_handed_over_is_served_and_its_file_stays()
    {
        using var parent = new ServiceParent();
        using var folder = new TempFolder();
        string path = folder.PathOf("web.sock");
        parent.Listen("web", new UnixDomainSocketEndPoint(path));
        await using (ServerProcess server = await parent.StartAsync(Places.SampleSite))
        {
            Assert.Equal([$"unix:{path}"], server.Addresses);
            Assert.StartsWith("HTTP/1.1 200 ", await AskAsync(new UnixDomainSocketEndPoint(path)), StringComparison.Ordinal);
            await StopAsync(server);
        }

        Assert.True(File.Exists(path));
    }

    [Fact]
    public async Task Sockets_meant_for_another_process_are_left_alone()
    {
        using var parent = new ServiceParent();
        parent.Listen("web", AnyPort);
        parent.Variables["LISTEN_PID"] = "1";
        await using ServerProcess server = await parent.StartAsync(Places.SampleSite, "--listen", "127.0.0.1:0");
        Assert.Single(server.Addresses);
        await StopAsync(server);
    }

    [Fact]
    public async Task What_cannot_be_listened_on_is_an_error_that_names_it()
    {
        using var parent = new ServiceParent();
        parent.Variables["LISTEN_PID"] = "$$";
        parent.Variables["LISTEN_FDS"] = "1";
        parent.Variables["LISTEN_FDNAMES"] = "odd";
        await using ServerProcess server = parent.Launch(Places.SampleSite);
        Assert.Equal(1, await server.ExitCodeAsync());
        Assert.Matches(@"^millrace: Descriptor 3 \(odd\)[^\n]*ListenStream=[^\n]*\n$", await server.ErrorAsync());
    }

    /// <summary>A deployment: one process ends, the next one starts, and connections wait in the socket's queue meanwhile.</summary>
    [Fact]
    public async Task No_request_fails_while_the_server_is_restarted_under_load()
    {
        using var parent = new ServiceParent();
        EndPoint address = parent.Listen("web", AnyPort);
        using var stop = new CancellationTokenSource();
        int answered = 0;
        ServerProcess server = await parent.StartAsync(Places.SampleSite, "--reactors", "2");
        Task[] clients = [.. Enumerable.Range(0, Clients).Select(_ => Task.Run(async () =>
        {
            while (!stop.IsCancellationRequested)
            {
                Assert.StartsWith("HTTP/1.1 200 ", await AskAsync(address), StringComparison.Ordinal);
                Interlocked.Increment(ref answered);
            }
        }))];
        try
        {
            for (int restart = 0; restart < 3; restart++)
            {
                await AwaitMoreAsync();
                await StopAsync(server);
                await server.DisposeAsync();
                server = await parent.StartAsync(Places.SampleSite, "--reactors", "2");
            }

            await AwaitMoreAsync();
        }
        finally
        {
            await stop.CancelAsync();
            await Task.WhenAll(clients).WaitAsync(Patience);
            await server.DisposeAsync();
        }

        async Task AwaitMoreAsync()
        {
            int target = Volatile.Read(ref answered) + 100;
            using var deadline = new CancellationTokenSource(Patience);
            while (Volatile.Read(ref answered) < target)
            {
                Task ended = await Task.WhenAny([.. clients, Task.Delay(10, deadline.Token)]);
                await ended;
            }
        }
    }

    /// <summary>
    /// One request on a connection of its own, whose answer is read to its end. A server that ends waits for half a second for the request
    /// of a connection it has accepted: a client that was kept from sending it for longer asks again.
    /// </summary>
    private static async Task<string> AskAsync(EndPoint address)
    {
        using var deadline = new CancellationTokenSource(Patience);
        while (true)
        {
            using var socket = new Socket(address.AddressFamily, SocketType.Stream, ProtocolType.Unspecified);
            long startedAt = Stopwatch.GetTimestamp();
            await socket.ConnectAsync(address, deadline.Token);
            await socket.SendAsync("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"u8.ToArray(), deadline.Token);
            bool isLate = Stopwatch.GetElapsedTime(startedAt) > TimeSpan.FromMilliseconds(250);
            using var stream = new NetworkStream(socket);
            using var response = new MemoryStream();
            try
            {
                await stream.CopyToAsync(response, deadline.Token);
            }
            catch (IOException) when (isLate && response.Length == 0)
            {
                // Reset, as the request came to a connection that was closed by then.
            }

            if (response.Length > 0 || !isLate)
            {
                string text = Encoding.Latin1.GetString(response.ToArray());
                Assert.EndsWith("</html>", text.TrimEnd(), StringComparison.Ordinal);
                return text;
            }
        }
    }

    private static async Task StopAsync(ServerProcess server)
    {
        server.Signal(PosixSignal.SIGTERM);
        Assert.Equal(0, await server.ExitCodeAsync());
    }
}
