using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Runtime.Versioning;
using System.Text;
using Millrace.Server.Tests.Kit;
using Millrace.Tests.Shared;

namespace Millrace.Server.Tests.Configuration;

/// <summary>SIGHUP with another configuration: addresses that are HTTP's and HTTPS's in turn, and sockets that were handed over.</summary>
[SupportedOSPlatform("linux")]
public sealed class ReloadAddressTests : IDisposable
{
    private const int Iterations = 6;

    private static readonly IPEndPoint AnyPort = new(IPAddress.Loopback, 0);

    private readonly TempFolder _site = new();
    private readonly TempFolder _keys = new();
    private readonly string _certificate;

    public ReloadAddressTests()
    {
        _site.Add("a.txt", 10);
        string[] flags = OwnCertificate.Make(_keys, "a", "a.example");
        _certificate = $"""
            "cert": "{flags[1]}", "key": "{flags[3]}"
            """;
    }

    public void Dispose()
    {
        _site.Dispose();
        _keys.Dispose();
    }

    [Fact]
    public async Task An_address_moves_to_HTTPS_and_back_with_its_socket_and_connections_stay_what_they_are()
    {
        await using ConfiguredServer server = await ConfiguredServer.StartAsync(Plain("127.0.0.1:0"));
        Uri plain = server.Process.Url;
        var secure = new UriBuilder(plain) { Scheme = Uri.UriSchemeHttps }.Uri;
        using Wire first = Wire.Open(plain);
        Assert.Equal(200, first.Ask("/a.txt").Status);

        // Port 0 is any: only its own socket has this one.
        await server.ReloadAsync(Secure("127.0.0.1:0"));
        Assert.Equal(200, first.Ask("/a.txt").Status);
        using Wire second = Wire.Open(secure);
        Assert.Equal(200, second.Ask("/a.txt").Status);
        Assert.Equal(400, Wire.Get(plain, "/a.txt").Status);

        await server.ReloadAsync(Plain("127.0.0.1:0"));
        Assert.Equal(200, second.Ask("/a.txt").Status);
        Assert.Equal(200, first.Ask("/a.txt").Status);
        Assert.Equal(200, Wire.Get(plain, "/a.txt").Status);
        string error = await server.StopAsync();
        Assert.Contains($" applied: 1 site on https://127.0.0.1:{plain.Port}/", error, StringComparison.Ordinal);
        Assert.Contains($" applied: 1 site on http://127.0.0.1:{plain.Port}/", error, StringComparison.Ordinal);
    }

    [Fact]
    public async Task An_address_becomes_all_of_its_port_and_one_again_and_nobody_is_turned_away()
    {
        await using ConfiguredServer server = await ConfiguredServer.StartAsync(Plain("127.0.0.1:0"));
        Uri url = server.Process.Url;
        using Wire first = Wire.Open(url);
        foreach (string address in (string[])["0.0.0.0", "127.0.0.1", "[::]", "127.0.0.1"])
        {
            Task reload = server.ReloadAsync(Plain($"{address}:{url.Port}"));
            do
            {
                Assert.Equal(200, Wire.Get(url, "/a.txt").Status);
            }
            while (!reload.IsCompleted);

            await reload;
            Assert.Equal(200, first.Ask("/a.txt").Status);
            var other = new Uri($"http://127.0.0.2:{url.Port}/");
            if (address == "127.0.0.1")
            {
                Assert.Throws<SocketException>(() => Wire.Get(other, "/a.txt"));
            }
            else
            {
                Assert.Equal(200, Wire.Get(other, "/a.txt").Status);
            }
        }

        await server.StopAsync();
    }

    [Fact]
    public async Task Two_that_come_together_may_overlap_as_at_the_start()
    {
        await using ConfiguredServer server = await ConfiguredServer.StartAsync(Plain("127.0.0.1:0"));
        int port = FreePort.Find();

        await server.ReloadAsync(Plain($"0.0.0.0:{port}", $"[::]:{port}"));

        Assert.Equal(200, Wire.Get(new Uri($"http://127.0.0.1:{port}/"), "/a.txt").Status);
        Assert.Equal(200, Wire.Get(new Uri($"http://[::1]:{port}/"), "/a.txt").Status);
        await server.StopAsync();
    }

    [Fact]
    public async Task An_address_that_another_user_bound_before_is_refused_by_its_name()
    {
        Nobody.RequireRoot();
        File.SetUnixFileMode(_site.Root, Nobody.ForAll);
        await using ConfiguredServer server = await ConfiguredServer.StartAsync(
            Plain("127.0.0.1:0"),
            static flags =>
            {
                File.SetUnixFileMode(Path.GetDirectoryName(flags[1])!, Nobody.ForAll);
                return ServerProcess.StartAsync([.. flags, "--user", Nobody.UserAndGroup]);
            });
        int port = server.Process.Url.Port;

        await server.RefuseAsync(Plain($"0.0.0.0:{port}"));

        Assert.Equal(200, Wire.Get(server.Process.Url, "/a.txt").Status);
        string error = await server.StopAsync();
        Assert.Contains($"0.0.0.0:{port} overlaps 127.0.0.1:{port}, which this server listens on", error, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Two_addresses_change_places_and_the_redirect_leads_to_the_one_that_speaks_TLS()
    {
        await using ConfiguredServer server = await ConfiguredServer.StartAsync(Both("127.0.0.1:0", "127.0.0.1:0"));
        (int secure, int plain) = (new Uri(server.Process.Addresses[0]).Port, new Uri(server.Process.Addresses[1]).Port);
        for (int iteration = 0; iteration < Iterations; iteration++)
        {
            Assert.Equal(200, Wire.Get(new Uri($"https://127.0.0.1:{secure}/"), "/a.txt").Status);
            WireResponse response = Wire.Get(new Uri($"http://127.0.0.1:{plain}/"), "/a.txt");
            Assert.Equal($"https://millrace:{secure}/a.txt", response.Field("Location"));
            (secure, plain) = (plain, secure);
            await server.ReloadAsync(Both($"127.0.0.1:{plain}", $"127.0.0.1:{secure}"));
        }

        await server.StopAsync();
    }

    [Fact]
    public async Task Nobody_is_turned_away_while_an_address_moves()
    {
        await using ConfiguredServer server = await ConfiguredServer.StartAsync(Plain("127.0.0.1:0"));
        Uri plain = server.Process.Url;
        string address = $"127.0.0.1:{plain.Port}";
        using var stop = new CancellationTokenSource();
        Task<int> client = Task.Run(() =>
        {
            int asked = 0;
            for (; !stop.IsCancellationRequested; asked++)
            {
                // Whatever the address speaks, whoever speaks plain HTTP is answered: 200, or 400 from TLS.
                Assert.Contains(Wire.Get(plain, "/a.txt").Status, (int[])[200, 400]);
            }

            return asked;
        });
        for (int iteration = 0; iteration < Iterations; iteration++)
        {
            await server.ReloadAsync(iteration % 2 == 0 ? Secure(address) : Plain(address));
        }

        await stop.CancelAsync();
        Assert.True(await client > 0);
        await server.StopAsync();
    }

    [Fact]
    public async Task Who_has_connected_before_an_address_moves_meets_what_it_was()
    {
        await using ConfiguredServer server = await ConfiguredServer.StartAsync(Both("127.0.0.1:0", "127.0.0.1:0"));
        (int secure, int plain) = (new Uri(server.Process.Addresses[0]).Port, new Uri(server.Process.Addresses[1]).Port);

        // Its handshake has not begun: only connections accepted without TLS are redirected, whatever the address is now.
        using var late = new TcpClient("127.0.0.1", secure);
        using (Wire after = Wire.Open(new Uri($"https://127.0.0.1:{secure}/")))
        {
            Assert.Equal(200, after.Ask("/a.txt").Status);
        }

        await server.ReloadAsync(Both($"127.0.0.1:{secure}", $"127.0.0.1:{plain}"));
        await using var stream = new SslStream(late.GetStream(), leaveInnerStreamOpen: false, OwnCertificate.IsAnything);
        await stream.AuthenticateAsClientAsync("localhost");
        await stream.WriteAsync("GET /a.txt HTTP/1.1\r\nHost: millrace\r\n\r\n"u8.ToArray());
        byte[] status = new byte["HTTP/1.1 200".Length];
        await stream.ReadExactlyAsync(status);
        Assert.Equal("HTTP/1.1 200", Encoding.ASCII.GetString(status));
        await stream.DisposeAsync();
        await server.StopAsync();
    }

    [Fact]
    public async Task What_is_refused_leaves_no_address_behind_and_closes_and_moves_none()
    {
        await using ConfiguredServer server = await ConfiguredServer.StartAsync(Plain("127.0.0.1:0"));
        Uri plain = server.Process.Url;
        string socket = _site.PathOf("new.sock");

        // The address with TLS is the first that is seen to, and 192.0.2.1, which nobody has, the last.
        await server.RefuseAsync($$"""
            { "root": "{{_site.Root}}", "listen": ["unix:{{socket}}", "192.0.2.1:80"],
              "https": { "listen": "127.0.0.1:{{plain.Port}}", {{_certificate}} } }
            """);
        Assert.Equal(200, Wire.Get(plain, "/a.txt").Status);
        Assert.False(File.Exists(socket));
        await server.StopAsync();
    }

    [Fact]
    public async Task Any_port_that_is_configured_twice_is_two_and_both_stay()
    {
        string reported = $$"""{ "root": "{{_site.Root}}", "listen": ["127.0.0.1:0", "127.0.0.1:0"] }""";
        await using ConfiguredServer server = await ConfiguredServer.StartAsync(reported);
        Uri[] two = [.. server.Process.Addresses.Select(static address => new Uri(address))];
        await server.ReloadAsync(reported);
        Assert.Equal(2, two.Distinct().Count());
        Assert.All(two, static url => Assert.Equal(200, Wire.Get(url, "/a.txt").Status));
        await server.StopAsync();
    }

    [Fact]
    public async Task An_inherited_socket_is_served_whatever_is_configured_of_its_address()
    {
        using var parent = new ServiceParent();
        var address = (IPEndPoint)parent.Listen("web", AnyPort);
        var plain = new Uri($"http://{address}/");
        await using ConfiguredServer server = await ConfiguredServer.StartAsync(Plain($"{address}"), parent.StartAsync);
        Assert.Equal(200, Wire.Get(plain, "/a.txt").Status);

        await server.ReloadAsync(Secure($"{address}"));
        Assert.Equal(200, Wire.Get(new Uri($"https://{address}/"), "/a.txt").Status);

        foreach (string reported in (string[])["127.0.0.1:0", $"{address}", "127.0.0.1:0"])
        {
            await server.ReloadAsync(Plain(reported));
            Assert.Equal(200, Wire.Get(plain, "/a.txt").Status);
        }

        await server.StopAsync();
    }

    [Fact]
    public async Task A_socket_that_the_admin_pages_have_or_will_have_stays_what_it_is_until_a_restart()
    {
        using var parent = new ServiceParent();
        var site = (IPEndPoint)parent.Listen("web", AnyPort);
        var admin = (IPEndPoint)parent.Listen("admin", AnyPort);
        await using ConfiguredServer server = await ConfiguredServer.StartAsync(WithAdmin(admin), parent.StartAsync);

        // Without, and with the site's own.
        foreach (string reported in (string[])[Plain($"{site}"), WithAdmin(site), WithAdmin(admin)])
        {
            await server.ReloadAsync(reported);
            Assert.Equal(200, Wire.Get(new Uri($"http://{site}/"), "/a.txt").Status);
            using Wire wire = Wire.Open(new Uri($"http://{admin}/"));
            Assert.Equal(200, wire.Send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"u8).Status);
        }

        await server.StopAsync();
    }

    [Fact]
    public async Task The_address_of_the_admin_pages_is_refused_for_pages_and_a_later_one_of_theirs_is_not_judged()
    {
        int admin = FreePort.Find();
        await using ConfiguredServer server = await ConfiguredServer.StartAsync(Text("127.0.0.1:0", admin));
        int port = server.Process.Url.Port;

        await server.RefuseAsync(Text($"127.0.0.1:{admin}", admin));
        await server.RefuseAsync(Plain($"127.0.0.1:{admin}"));
        await server.RefuseAsync(Plain($"0.0.0.0:{admin}"));
        await server.ReloadAsync(Text($"127.0.0.1:{port}", port));

        Assert.Equal(200, Wire.Get(server.Process.Url, "/a.txt").Status);
        string error = await server.StopAsync();
        Assert.Equal(3, error.Split($"listen: 127.0.0.1:{admin} is used by the admin pages until a restart.").Length - 1);
        Assert.Contains("admin.listen has changed, which takes effect after a restart.", error, StringComparison.Ordinal);

        string Text(string address, int adminPort) =>
            $$"""{ "root": "{{_site.Root}}", "listen": "{{address}}", "admin": { "listen": "127.0.0.1:{{adminPort}}" } }""";
    }

    private string WithAdmin(IPEndPoint admin) => $$"""{ "root": "{{_site.Root}}", "admin": { "listen": "{{admin}}" } }""";

    private string Plain(params string[] addresses) =>
        $$"""{ "root": "{{_site.Root}}", "listen": [{{string.Join(", ", addresses.Select(static address => $"\"{address}\""))}}] }""";

    private string Secure(string address) =>
        $$"""{ "root": "{{_site.Root}}", "https": { "listen": "{{address}}", {{_certificate}} } }""";

    private string Both(string plain, string secure) =>
        $$"""{ "root": "{{_site.Root}}", "listen": "{{plain}}", "https": { "listen": "{{secure}}", "redirect": true, {{_certificate}} } }""";
}
