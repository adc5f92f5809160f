using System.Net.Sockets;
using System.Runtime.InteropServices;
using System.Text;
using System.Text.Json.Nodes;
using System.Text.RegularExpressions;
using Millrace.Server.Configuration;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Configuration;

/// <summary>SIGHUP with another configuration, as clients see it.</summary>
public class ReloadTests
{
    private static readonly byte[] Request = Encoding.ASCII.GetBytes("GET /a.txt HTTP/1.1\r\nHost: a.example\r\n\r\n");

    [Fact]
    public async Task Options_of_sites_change_on_connections_that_are_open()
    {
        using var folder = new TempFolder();
        using var site = new TempFolder();
        site.Add("a.txt", 10);
        Write(folder, $$"""{ "root": "{{site.Root}}", "listen": "127.0.0.1:0", "header": "X-A: one" }""");
        await using ServerProcess server = await ServerProcess.StartAsync("--config", folder.PathOf("m.json"));
        using Wire open = Wire.Open(server.Url);
        Assert.Equal("one", open.Send(Request).Field("X-A"));

        Write(folder, $$"""{ "root": "{{site.Root}}", "listen": "127.0.0.1:0", "header": "X-A: two" }""");
        server.Signal(PosixSignal.SIGHUP);

        await AwaitAsync(() => open.Send(Request).Field("X-A") == "two");
        Assert.Equal("two", Wire.Get(server.Url, "/a.txt").Field("X-A"));
        await server.AwaitErrorAsync(" applied: ");
        open.Dispose();
        await AssertEndAsync(server, " applied: 1 site on http://127.0.0.1:");
    }

    [Fact]
    public async Task Hosts_come_and_go()
    {
        using var folder = new TempFolder();
        using var site = new TempFolder();
        using var other = new TempFolder();
        site.Add("a.txt", 10);
        other.Add("a.txt", 20);
        string rest = $$"""{ "root": "{{site.Root}}", "listen": "127.0.0.1:0" """;
        Write(folder, $"{rest} }}");
        await using ServerProcess server = await ServerProcess.StartAsync("--config", folder.PathOf("m.json"));
        using Wire open = Wire.Open(server.Url);
        Assert.Equal(10, open.Send(Request).Body.Length);

        Write(folder, $$"""{{rest}}, "hosts": { "a.example": "{{other.Root}}" } }""");
        server.Signal(PosixSignal.SIGHUP);
        await AwaitAsync(() => open.Send(Request).Body.Length == 20);

        Write(folder, $"{rest} }}");
        server.Signal(PosixSignal.SIGHUP);
        await AwaitAsync(() => open.Send(Request).Body.Length == 10);
        open.Dispose();
        await AssertEndAsync(server);
    }

    [Fact]
    public async Task Addresses_come_and_go_and_connections_stay()
    {
        using var folder = new TempFolder();
        using var site = new TempFolder();
        byte[] large = site.Add("large.bin", 16 * 1024 * 1024);
        site.Add("a.txt", 10);
        string first = folder.PathOf("1.sock");
        string second = folder.PathOf("2.sock");
        Write(folder, $$"""{ "root": "{{site.Root}}", "listen": ["127.0.0.1:0", "unix:{{first}}"] }""");
        await using ServerProcess server = await ServerProcess.StartAsync("--config", folder.PathOf("m.json"));
        using Wire open = Wire.Open(server.Url);
        Assert.Equal(200, open.Send(Request).Status);
        using SlowDownload download = await SlowDownload.StartAsync(new Uri(server.Url, "large.bin"));

        Write(folder, $$"""{ "root": "{{site.Root}}", "listen": ["unix:2.sock"] }""");
        server.Signal(PosixSignal.SIGHUP);

        await AwaitAsync(() => File.Exists(second) && !File.Exists(first));
        Assert.Equal(200, open.Send(Request).Status);
        await AwaitAsync(() => !Accepts(server.Url));
        using (var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified))
        {
            await socket.ConnectAsync(new UnixDomainSocketEndPoint(second), TestContext.Current.CancellationToken);
        }

        await server.AwaitErrorAsync(" applied: ");
        // A connection that came by an address of before is served on, and drained with the others.
        server.Signal(PosixSignal.SIGTERM);
        Assert.True((await download.ReadToEndAsync()).AsSpan().EndsWith(large), "The download was cut off.");
        open.Dispose();
        Assert.Equal(0, await server.ExitCodeAsync());
        Assert.Contains($" applied: 1 site on unix:{second}", await server.ErrorAsync(), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("{ \"lisen\": 1 }", ":1:3: 'lisen' is not an option. Did you mean 'listen'?")]
    [InlineData("{ \"root\": \"nowhere\" }", "nowhere' does not exist")]
    [InlineData("{ \"root\": \"SITE\", \"listen\": [\"127.0.0.1:0\", \"192.0.2.1:0\"], \"header\": \"X-A: two\" }", "192.0.2.1:0 is not an address of this machine")]
    [InlineData("{ \"root\": \"SITE\", \"https\": { \"listen\": \"127.0.0.1:0\", \"cert\": \"no.pem\" } }", "no.pem' does not exist")]
    [InlineData("{ \"root\": \"SITE\", \"https\": { \"listen\": \"127.0.0.1:0\", \"cert\": \"\" } }", "'' is not a file name")]
    [InlineData("{ \"root\": \"SITE\", \"https\": { \"listen\": \"127.0.0.1:0\", \"client-ca\": \"a\\u0000b\" } }", "is not a file name")]
    public async Task A_configuration_that_cannot_be_applied_changes_nothing_and_is_logged(string text, string reason)
    {
        using var folder = new TempFolder();
        using var site = new TempFolder();
        site.Add("a.txt", 10);
        Write(folder, $$"""{ "root": "{{site.Root}}", "listen": "127.0.0.1:0", "header": "X-A: one" }""");
        await using ServerProcess server = await ServerProcess.StartAsync("--config", folder.PathOf("m.json"));
        using Wire open = Wire.Open(server.Url);
        Assert.Equal("one", open.Send(Request).Field("X-A"));

        Write(folder, text.Replace("SITE", site.Root, StringComparison.Ordinal));
        server.Signal(PosixSignal.SIGHUP);
        await server.AwaitErrorAsync("Reload failed; keeping the current configuration: ");
        Assert.Equal("one", open.Send(Request).Field("X-A"));
        open.Dispose();
        await AssertEndAsync(server, reason);
    }

    [Fact]
    public async Task What_needs_a_restart_is_logged()
    {
        using var folder = new TempFolder();
        using var site = new TempFolder();
        site.Add("a.txt", 10);
        Write(folder, $$"""{ "root": "{{site.Root}}", "listen": "127.0.0.1:0" }""");
        await using ServerProcess server = await ServerProcess.StartAsync("--config", folder.PathOf("m.json"), "--reactors", "1");
        Write(folder, $$"""{ "root": "{{site.Root}}", "listen": "127.0.0.1:0", "header": "X-A: two", "engine": { "reactors": 2, "backlog": 100 } }""");
        server.Signal(PosixSignal.SIGHUP);

        await server.AwaitErrorAsync(" applied: ");
        string error = await AssertEndAsync(server, "engine.backlog has changed, which takes effect after a restart.");
        Assert.DoesNotContain("engine.reactors", error, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Each_option_that_needs_a_restart_is_named_when_it_changes()
    {
        using var site = new TempFolder();
        string[] certificate = OwnCertificate.Make(site, "own", "a.example");
        string same = $$"""
            {
              "root": "{{site.Root}}", "listen": "127.0.0.1:0",
              "https": { "listen": "127.0.0.1:0", "cert": "{{certificate[1]}}", "key": "{{certificate[3]}}" }
            }
            """;
        await using ConfiguredServer server = await ConfiguredServer.StartAsync(same);
        ServerOption[] options = [.. OptionTable.All.Where(static option =>
            option.Change == OptionChange.AtRestart && !Publication.BackendFlags.Contains(option.Flag))];

        // Those that exclude another one come by themselves.
        foreach (IGrouping<bool, ServerOption> part in options.GroupBy(
            static option => option.Key is "acme-staging" or "acme-dns-hook" or "qlog"))
        {
            JsonObject other = JsonNode.Parse(same)!.AsObject();
            foreach (ServerOption option in part.Append(OptionTable.Get("domain")).Append(OptionTable.Get("acme")))
            {
                // A mode without a unix socket is refused.
                SampleValues.Put(other, option, option.Key == "admin" ? "unix:" + site.PathOf("admin.sock") : SampleValues.Of(option));
            }

            if (part.Key)
            {
                // Which --qlog is about, and which an address that expects the PROXY protocol has not.
                SampleValues.Put(other, OptionTable.Get("http3"), true);
            }

            // Without these, limits of applications and of the memory for rates have no effect, and are refused.
            other["proxy"] = JsonNode.Parse("""[{ "path": "/a/*", "to": "https://127.0.0.1:5000" }]""");
            other["rate-limit"] = JsonNode.Parse("""[{ "path": "/a/*", "rate": "5/m", "burst": 10 }]""");
            await server.ReloadAsync(other.ToJsonString());
            await server.ReloadAsync(same);
        }

        string error = await server.StopAsync();
        Assert.All(options, option => Assert.Equal(
            option.Key == "acme" ? 2 : 1, Regex.Count(error, $" {Regex.Escape(option.Path)} has changed")));
    }

    [Theory]
    [InlineData("""["10.0.0.0/8", "127.0.0.1"]""", """["127.0.0.1"]""", true)]
    [InlineData("""["10.0.0.0/8", "127.0.0.1"]""", """["10.1.0.0/16", "127.0.0.1"]""", true)]
    [InlineData("""["127.0.0.1"]""", "\"127.0.0.1\"", false)]
    public async Task Of_a_list_each_item_counts(string before, string after, bool isReported)
    {
        using var site = new TempFolder();
        string file = $$"""{ "root": "{{site.Root}}", "listen": "127.0.0.1:0", "proxies": { "trusted": LIST } }""";
        await using ConfiguredServer server = await ConfiguredServer.StartAsync(file.Replace("LIST", before, StringComparison.Ordinal));
        await server.ReloadAsync(file.Replace("LIST", after, StringComparison.Ordinal));
        Assert.Equal(isReported, (await server.StopAsync()).Contains("proxies.trusted has changed", StringComparison.Ordinal));
    }

    [Fact]
    public async Task Https_comes_and_plain_connections_are_sent_there()
    {
        using var folder = new TempFolder();
        using var site = new TempFolder();
        site.Add("a.txt", 10);
        string[] certificate = OwnCertificate.Make(folder, "a", "a.example");
        Write(folder, $$"""{ "root": "{{site.Root}}", "listen": "127.0.0.1:0" }""");
        await using ServerProcess server = await ServerProcess.StartAsync("--config", folder.PathOf("m.json"));
        Assert.Equal(200, Wire.Get(server.Url, "/a.txt").Status);
        Write(
            folder,
            $$"""{ "root": "{{site.Root}}", "listen": "127.0.0.1:0", "https": { "listen": "127.0.0.1:0", "cert": "{{certificate[1]}}", "key": "{{certificate[3]}}", "redirect": true } }""");
        server.Signal(PosixSignal.SIGHUP);

        await Wire.AwaitAsync(server.Url, "/a.txt", static response => response.Status == 308);
        string location = Wire.Get(server.Url, "/a.txt").Field("Location")!;
        string port = location.Split(':')[2].Split('/')[0];
        using HttpClient client = OwnCertificate.Trusting();
        Assert.Equal(10, (await client.GetByteArrayAsync(new Uri($"https://127.0.0.1:{port}/a.txt"), TestContext.Current.CancellationToken)).Length);
        await server.AwaitErrorAsync(" applied: ");
        client.Dispose();
        await AssertEndAsync(server, " applied: 1 site on https://127.0.0.1:");
    }

    private static void Write(TempFolder folder, string text) => File.WriteAllText(folder.PathOf("m.json"), text);

    private static bool Accepts(Uri url)
    {
        try
        {
            using var socket = new TcpClient(url.Host, url.Port);
            return true;
        }
        catch (SocketException)
        {
            return false;
        }
    }

    /// <summary>A signal has no answer: asked until it has done its work.</summary>
    private static async Task AwaitAsync(Func<bool> holds)
    {
        for (int i = 0; i < 3_000 && !holds(); i++)
        {
            await Task.Delay(10);
        }

        Assert.True(holds());
    }

    /// <summary>Clients are gone by now: one that has not acknowledged all is waited for, up to two seconds.</summary>
    private static async Task<string> AssertEndAsync(ServerProcess server, params string[] said)
    {
        server.Signal(PosixSignal.SIGTERM);
        Assert.Equal(0, await server.ExitCodeAsync());
        string error = await server.ErrorAsync();
        Assert.All(said, words => Assert.Contains(words, error, StringComparison.Ordinal));
        return error;
    }
}
