using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using System.Security.Cryptography;
using System.Text.Json;
using Millrace.Quic.Connections;
using Millrace.Server.Tests.Kit;
using Millrace.Tests.Shared;
using static Millrace.Server.Tests.Kit.OwnCertificate;

namespace Millrace.Server.Tests.Http3;

/// <summary>HTTP/3 as people use it: by the command line, and a configuration that is read again.</summary>
public sealed class Http3ServingTests : IDisposable
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(60);

    private readonly TempFolder _site = new();
    private readonly TempFolder _keys = new();

    public Http3ServingTests() => _site.Add("a.bin", 300_000);

    private string Certificate => _keys.PathOf("a.crt");

    public void Dispose()
    {
        _site.Dispose();
        _keys.Dispose();
    }

    [Fact]
    public async Task A_file_is_served_over_HTTP_3_on_the_port_that_HTTPS_names()
    {
        await using ServerProcess server = await StartAsync("--http3");
        Assert.EndsWith(" with HTTP/3", server.Lines[0], StringComparison.Ordinal);
        Assert.Equal($"h3=\":{server.Url.Port}\"; ma=86400", await AlternativeAsync(server.Url, "--http1.1"));
        Assert.Equal($"h3=\":{server.Url.Port}\"; ma=86400", await AlternativeAsync(server.Url));

        using var client = new Http3TestClient(Certificate);
        Http3TestConnection connection = await client.ConnectAsync(server.Url.Port);
        Http3TestResponse response = await connection.GetAsync("/a.bin");

        Assert.Equal("200", response.Status);
        Assert.Null(response["alt-svc"]);
        Assert.Equal(HashOf("a.bin"), Convert.ToHexString(SHA256.HashData(response.Content)));
    }

    [Fact]
    public async Task Without_the_option_nothing_listens_and_nothing_is_offered()
    {
        await using ServerProcess server = await StartAsync();
        Assert.Null(await AlternativeAsync(server.Url));
        using var socket = new UdpClient();
        socket.Client.Bind(new IPEndPoint(IPAddress.Loopback, server.Url.Port));
    }

    [Fact]
    public async Task Clients_are_told_another_port_where_one_is_mapped()
    {
        await using ServerProcess server = await StartAsync("--http3", "--http3-port", "443");
        Assert.Equal("h3=\":443\"; ma=86400", await AlternativeAsync(server.Url));
    }

    [Fact]
    public async Task Ngtcp2s_client_gets_files_with_their_bytes()
    {
        Tool.Require("gtlsclient");
        using var got = new TempFolder();
        _site.Add("b.bin", 5_000_000);
        await using ServerProcess server = await StartAsync("--http3");
        string port = server.Url.Port.ToString(System.Globalization.CultureInfo.InvariantCulture);
        await Tool.RunToSuccessAsync(
            Patience, "gtlsclient", "-q", "--exit-on-all-streams-close", "--download", got.Root, "127.0.0.1", port,
            $"https://localhost:{port}/a.bin", $"https://localhost:{port}/b.bin");
        foreach (string name in (string[])["a.bin", "b.bin"])
        {
            Assert.Equal(HashOf(name), Convert.ToHexString(SHA256.HashData(await File.ReadAllBytesAsync(
                got.PathOf(name), TestContext.Current.CancellationToken))));
        }
    }

    [Fact]
    public async Task A_reload_switches_it_on_and_off_and_clients_are_told()
    {
        Make(_keys, "a", "localhost");
        await using ConfiguredServer server = await ConfiguredServer.StartAsync(Configured(http3: false));
        Uri url = server.Process.Url;
        Assert.Null(await AlternativeAsync(url));

        await server.ReloadAsync(Configured(http3: true));
        Assert.Equal($"h3=\":{url.Port}\"; ma=86400", await AlternativeAsync(url));
        using var client = new Http3TestClient(Certificate);
        Http3TestConnection connection = await client.ConnectAsync(url.Port);
        Assert.Equal("200", (await connection.GetAsync("/a.bin")).Status);

        await server.ReloadAsync(Configured(http3: false));
        Assert.Equal("clear", await AlternativeAsync(url));
        await connection.Closed;
        await server.ReloadAsync(Configured(http3: true));
        Http3TestConnection again = await client.ConnectAsync(url.Port);
        Assert.Equal("200", (await again.GetAsync("/a.bin")).Status);
        again.Close();
        await server.StopAsync();
    }

    [Fact]
    public async Task A_reload_switches_it_off_and_on_while_a_download_drains()
    {
        _site.Add("large.bin", 20_000_000);
        Make(_keys, "a", "localhost");
        await using ConfiguredServer server = await ConfiguredServer.StartAsync(Configured(http3: true));
        int port = server.Process.Url.Port;
        using var client = new Http3TestClient(Certificate);
        Http3TestConnection draining = await client.ConnectAsync(port);
        Http3TestStream stream = await draining.SendAsync(Http3Bytes.Request("GET", "/large.bin", []));
        Assert.NotNull(await stream.ReadHeadAsync());

        await server.ReloadAsync(Configured(http3: false));
        await server.ReloadAsync(Configured(http3: true));
        Http3TestConnection connection = await client.ConnectAsync(port);
        Assert.Equal("200", (await connection.GetAsync("/a.bin")).Status);
        Assert.Empty(connection.GoAways);
        long received = 0;
        while (await stream.ReadDataAsync() is { } piece)
        {
            received += piece.Length;
        }

        Assert.Equal(20_000_000, received);
        Assert.Equal(Http3Codes.NoError, (await draining.Closed).Code);
        Assert.Equal("200", (await connection.GetAsync("/a.bin")).Status);
        connection.Close();
        await server.StopAsync();
    }

    [Fact]
    public async Task An_address_that_comes_back_while_its_connections_drain_serves_what_is_configured_then()
    {
        Make(_keys, "a", "localhost");
        Make(_keys, "b", "localhost");
        await using ConfiguredServer server = await ConfiguredServer.StartAsync(Configured(http3: true));
        int port = server.Process.Url.Port;
        using var client = new Http3TestClient(Certificate);
        Http3TestConnection draining = await client.ConnectAsync(port);
        Assert.Equal("200", (await draining.GetAsync("/a.bin")).Status);
        Http3TestStream request = await draining.SendAsync(Http3Bytes.Request("GET", "/a.bin", []), isEnd: false);

        await server.ReloadAsync($$"""{ "root": "{{_site.Root}}", "listen": "127.0.0.1:0" }""");
        string again = Configured(http3: true).Replace("127.0.0.1:0", $"127.0.0.1:{port}", StringComparison.Ordinal);
        await server.ReloadAsync(again.Replace("/a.", "/b.", StringComparison.Ordinal));

        using var second = new Http3TestClient(_keys.PathOf("b.crt"));
        Assert.Equal("200", (await (await second.ConnectAsync(port)).GetAsync("/a.bin")).Status);
        Assert.Equal("200", (await request.ReadResponseAsync()).Status);
        await server.StopAsync();
    }

    [Fact]
    public async Task A_reload_that_fails_leaves_what_drains_as_it_was()
    {
        Make(_keys, "a", "localhost");
        await using ConfiguredServer server = await ConfiguredServer.StartAsync(Configured(http3: true));
        int port = server.Process.Url.Port;
        using var client = new Http3TestClient(Certificate);
        Http3TestConnection draining = await client.ConnectAsync(port);
        Http3TestStream request = await draining.SendAsync(Http3Bytes.Request("GET", "/a.bin", []), isEnd: false);
        await server.ReloadAsync(Configured(http3: false));

        // HTTPS is opened first; 192.0.2.1 is nobody's.
        await server.RefuseAsync(Configured(http3: true).Replace(
            "\"https\"", "\"listen\": \"192.0.2.1:80\", \"https\"", StringComparison.Ordinal));
        Assert.Equal("clear", await AlternativeAsync(server.Process.Url));
        Assert.Equal("200", (await request.ReadResponseAsync()).Status);
        await server.ReloadAsync(Configured(http3: true));
        Assert.Equal("200", (await (await client.ConnectAsync(port)).GetAsync("/a.bin")).Status);
        await server.StopAsync();
    }

    /// <summary>The new address overlaps the one that was served before: both may share the port only as long as both are served.</summary>
    [Fact]
    public async Task A_reload_does_not_share_a_port_that_another_program_has_taken()
    {
        Make(_keys, "a", "localhost");
        await using ConfiguredServer server = await ConfiguredServer.StartAsync(Configured(http3: true));
        await server.ReloadAsync(Configured(http3: false));
        int port = server.Process.Url.Port;
        using Socket other = await BindWhenFreeAsync(new IPEndPoint(IPAddress.Loopback, port));
        const int SocketLevel = 1;
        const int ReusePort = 15;
        other.SetRawSocketOption(SocketLevel, ReusePort, BitConverter.GetBytes(1));

        await server.RefuseAsync(Configured(http3: true).Replace("127.0.0.1:0", $"0.0.0.0:{port}", StringComparison.Ordinal));
        Assert.Contains(
            $"HTTP/3 over UDP: 0.0.0.0:{port} is in use by another process", await server.StopAsync(), StringComparison.Ordinal);
    }

    [Fact]
    public async Task Overlapping_addresses_serve_HTTP_3_on_one_port_also_with_one_reactor()
    {
        string[] flags = Make(_keys, "a", "localhost");
        int port = FreePort.Find();
        await using ServerProcess server = await ServerProcess.StartAsync(
            [_site.Root, "--https", $"127.0.0.1:{port}", "--https", $"0.0.0.0:{port}", "--http3", "--reactors", "1", .. flags]);
        using var client = new Http3TestClient(Certificate);
        Assert.Equal("200", (await (await client.ConnectAsync(port)).GetAsync("/a.bin")).Status);
    }

    [Fact]
    public async Task A_renewed_certificate_is_served_to_new_connections()
    {
        Make(_keys, "a", "localhost");
        await using ConfiguredServer server = await ConfiguredServer.StartAsync(Configured(http3: true));
        using (var before = new Http3TestClient(Certificate))
        {
            Assert.Equal("200", (await (await before.ConnectAsync(server.Process.Url.Port)).GetAsync("/a.bin")).Status);
        }

        Make(_keys, "a", "localhost");
        await server.ReloadAsync(Configured(http3: true));
        using var after = new Http3TestClient(Certificate);
        Assert.Equal("200", (await (await after.ConnectAsync(server.Process.Url.Port)).GetAsync("/a.bin")).Status);
    }

    [Fact]
    public async Task Requests_are_logged_and_counted_with_their_protocol_and_TLS()
    {
        string log = _keys.PathOf("access.log");
        await using ServerProcess server = await StartAsync(
            "--http3", "--access-log", log, "--access-log-format", "json", "--admin", "0");
        using (var client = new Http3TestClient(Certificate))
        {
            Http3TestConnection connection = await client.ConnectAsync(server.Url.Port);
            Assert.Equal("404", (await connection.GetAsync("/missing")).Status);
            connection.Close();
            await connection.Closed;
        }

        string line = await FirstLineAsync(log);
        using JsonDocument entry = JsonDocument.Parse(line);
        Assert.Equal("HTTP/3.0", entry.RootElement.GetProperty("protocol").GetString());
        Assert.Equal("127.0.0.1", entry.RootElement.GetProperty("client").GetString());
        Assert.Equal("1.3", entry.RootElement.GetProperty("tls_version").GetString());
        using HttpClient admin = new();
        MetricsText metrics = MetricsText.Parse(
            await admin.GetStringAsync(new Uri(server.Admin, "metrics"), TestContext.Current.CancellationToken));
        Assert.Equal(1, metrics.Sum("millrace_requests_total", ("protocol", "3"), ("status", "404")));
        Assert.Equal(1, metrics.Sum("millrace_quic_handshakes_total", ("outcome", "complete")));
        Assert.True(metrics.Sum("millrace_quic_received_bytes_total") > 1_200);
        Assert.Equal(0, metrics.Sum("millrace_quic_datagrams_dropped_total"));
    }

    [Fact]
    public async Task A_host_that_the_certificate_does_not_cover_is_misdirected()
    {
        await using ServerProcess server = await ServerProcess.StartAsync(
            [_site.Root, "--https", "127.0.0.1:0", "--http3", "--host-check", "on", .. Make(_keys, "a", "a.example")]);
        using var client = new Http3TestClient(Certificate);
        Http3TestConnection connection = await client.ConnectAsync(server.Url.Port, new Http3TestOptions { Host = "a.example" });
        Assert.Equal("200", await StatusAsync("a.example"));
        Assert.Equal("421", await StatusAsync("b.example"));

        async Task<string> StatusAsync(string host)
        {
            byte[] request = Http3Bytes.Headers((":method", "GET"), (":scheme", "https"), (":authority", host), (":path", "/a.bin"));
            return (await (await connection.SendAsync(request)).ReadResponseAsync()).Status;
        }
    }

    [Fact]
    public async Task The_secrets_of_QUIC_are_written_where_that_was_asked_for()
    {
        string file = _keys.PathOf("keys.log");
        await using ServerProcess server = await StartAsync("--http3", "--tls-key-log", file);
        using var client = new Http3TestClient(Certificate);
        Assert.Equal("200", (await (await client.ConnectAsync(server.Url.Port)).GetAsync("/a.bin")).Status);
        string secrets = await File.ReadAllTextAsync(file, TestContext.Current.CancellationToken);
        Assert.Contains("CLIENT_TRAFFIC_SECRET_0 ", secrets, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_socket_for_datagrams_of_the_service_manager_is_used()
    {
        using var parent = new ServiceParent();
        var address = (IPEndPoint)parent.Listen("https", new IPEndPoint(IPAddress.Loopback, 0));
        parent.BindDatagrams("http3", address);
        string[] flags = Make(_keys, "a", "localhost");
        await using ServerProcess server = await parent.StartAsync([_site.Root, "--http3", .. flags]);
        using var client = new Http3TestClient(Certificate);
        Assert.Equal("200", (await (await client.ConnectAsync(address.Port)).GetAsync("/a.bin")).Status);
    }

    [Fact]
    public async Task A_stop_lets_a_download_finish_and_says_goodbye()
    {
        _site.Add("large.bin", 20_000_000);
        await using ServerProcess server = await StartAsync("--http3");
        using var client = new Http3TestClient(Certificate);
        Http3TestConnection connection = await client.ConnectAsync(server.Url.Port);
        Http3TestStream stream = await connection.SendAsync(Http3Bytes.Request("GET", "/large.bin", []));
        Assert.NotNull(await stream.ReadHeadAsync());

        server.Signal(PosixSignal.SIGTERM);
        await server.AwaitErrorAsync("Draining: 1 open connection");
        long received = 0;
        while (await stream.ReadDataAsync() is { } piece)
        {
            received += piece.Length;
        }

        Assert.Equal(20_000_000, received);
        CloseReason reason = await connection.Closed;
        Assert.Equal((CloseSource.Peer, true, Http3Codes.NoError), (reason.Source, reason.IsApplication, reason.Code));
        Assert.NotEmpty(connection.GoAways);
        Assert.Equal(0, await server.ExitCodeAsync());
    }

    /// <summary>A UDP socket on a port that a listener of HTTP/3 is about to leave.</summary>
    private static async Task<Socket> BindWhenFreeAsync(IPEndPoint address)
    {
        long began = Stopwatch.GetTimestamp();
        while (true)
        {
            var socket = new Socket(AddressFamily.InterNetwork, SocketType.Dgram, ProtocolType.Udp);
            try
            {
                socket.Bind(address);
                return socket;
            }
            catch (SocketException refusal) when (refusal.SocketErrorCode == SocketError.AddressAlreadyInUse)
            {
                socket.Dispose();
                Assert.True(Stopwatch.GetElapsedTime(began) < Patience, "The port stays in use.");

                // Sleeps: the kernel says nothing when a port becomes free.
                await Task.Delay(10, TestContext.Current.CancellationToken);
            }
        }
    }

    private Task<ServerProcess> StartAsync(params string[] flags) => ServerProcess.StartAsync(
        [_site.Root, "--https", "127.0.0.1:0", .. Make(_keys, "a", "localhost"), .. flags]);

    private string Configured(bool http3) => $$"""
        { "root": "{{_site.Root}}", "https": {
          "listen": "127.0.0.1:0", "cert": "{{Certificate}}", "key": "{{_keys.PathOf("a.key")}}",
          "http3": {{(http3 ? "true" : "false")}} } }
        """;

    private string HashOf(string name) => Convert.ToHexString(SHA256.HashData(File.ReadAllBytes(_site.PathOf(name))));

    /// <summary>As curl shows it: .NET's client parses this field, and leaves out what is a default.</summary>
    private static async Task<string?> AlternativeAsync(Uri url, string version = "--http2")
    {
        Tool.Require("curl");
        string head = await Tool.RunToSuccessAsync(Patience, "curl", "-skI", version, new Uri(url, "a.bin").ToString());
        Assert.Contains(" 200", head, StringComparison.Ordinal);
        const string Name = "alt-svc: ";
        return head.Split("\r\n").FirstOrDefault(static line => line.StartsWith(Name, StringComparison.OrdinalIgnoreCase))?[Name.Length..];
    }

    /// <summary>A thread of its own writes it.</summary>
    private static async Task<string> FirstLineAsync(string file)
    {
        using var deadline = new CancellationTokenSource(Patience);
        while (true)
        {
            string text = await File.ReadAllTextAsync(file, deadline.Token);
            if (text.Contains('\n', StringComparison.Ordinal))
            {
                return text.Split('\n')[0];
            }

            // Sleeps: the file is another process's.
            await Task.Delay(5, deadline.Token);
        }
    }
}
