using System.Net.Sockets;
using System.Text;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.RateLimits;

/// <summary>The published program with rate limits.</summary>
public class RateLimitTests
{
    [Fact]
    public async Task Clients_beyond_the_limit_get_429_which_metrics_and_one_line_count()
    {
        await using ServerProcess server = await ServerProcess.StartAsync(
            Places.SampleSite, "--listen", "127.0.0.1:0", "--rate-limit", "1/h burst 3", "--admin", "127.0.0.1:0");
        int[] statuses = [.. Enumerable.Range(0, 8).Select(_ => Wire.Get(server.Url, "/").Status)];

        Assert.Equal([200, 200, 200, 429, 429, 429, 429, 429], statuses);
        using var client = new HttpClient();
        string metrics = await client.GetStringAsync(new Uri(server.Admin, "/metrics"), TestContext.Current.CancellationToken);
        Assert.Contains("millrace_rate_limit_refused_total 5\n", metrics, StringComparison.Ordinal);
        Assert.Contains("millrace_rate_limit_forgotten_total 0\n", metrics, StringComparison.Ordinal);
        await server.AwaitErrorAsync("Requests refused by rate limits: 1; the last by '1/h', from 127.0.0.1.", 1);
        Assert.Equal(1, server.CountErrors("refused by rate limits"));
    }

    /// <summary>Those that a trusted proxy reports, over its connections; each sends one request, and some a second one.</summary>
    [Theory]
    [Trait("Duration", "Full")]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(8)]
    public async Task A_million_clients_are_known_in_the_memory_that_the_documents_state(int reactors)
    {
        const int Clients = 1_000_000;
        const int Connections = 8;
        const int TableKib = 32 * 1024;
        const int OtherKib = 48 * 1024;
        await using ServerProcess server = await ServerProcess.StartAsync(
            Places.SampleSite, "--listen", "127.0.0.1:0", "--reactors", $"{reactors}", "--rate-limit", "1/h", "--trusted-proxy", "127.0.0.1",
            "--admin", "127.0.0.1:0");
        Assert.Equal([200, 429], new ForwardedClients(server.Url).Ask([Clients, Clients]));
        int before = server.ResidentKib();

        await Task.WhenAll(Enumerable.Range(0, Connections).Select(connection => Task.Run(() =>
        {
            var proxy = new ForwardedClients(server.Url);
            for (int first = connection; first < Clients; first += 250 * Connections)
            {
                int[] statuses = proxy.Ask([.. Enumerable.Range(0, 250).Select(i => first + (i * Connections))]);
                Assert.All(statuses, static status => Assert.Equal(200, status));
            }
        })));

        int grown = server.ResidentKib() - before;
        Assert.True(grown < TableKib + OtherKib, $"The server grew by {grown} KiB.");
        int[] known = new ForwardedClients(server.Url).Ask([.. Enumerable.Range(0, 10_000).Select(static i => i * 100)]);
        Assert.InRange(known.Count(static status => status == 429), 9_990, 10_000);
        using var client = new HttpClient();
        MetricsText metrics = MetricsText.Parse(
            await client.GetStringAsync(new Uri(server.Admin, "/metrics"), TestContext.Current.CancellationToken));
        Assert.InRange(metrics.Sum("millrace_rate_limit_forgotten_total"), 0, 1_000);
    }

    [Fact]
    public async Task A_reload_changes_rules_and_forgets_no_client_of_the_others()
    {
        string Text(string rules) => $$"""
            {
              "root": "{{Places.SampleSite}}", "listen": "127.0.0.1:0", "rate-limit": {{rules}},
              "hosts": { "b.example": { "root": "{{Places.SampleSite}}", "rate-limit": [{ "path": "/api/*", "rate": "1/h", "burst": "2" }] } }
            }
            """;
        await using ConfiguredServer server = await ConfiguredServer.StartAsync(Text("""["1/h", "/x 1/h"]"""));
        Uri url = server.Process.Url;
        Assert.Equal((200, 429), (Wire.Get(url, "/").Status, Wire.Get(url, "/").Status));

        await server.ReloadAsync(Text("""["1/h", "/y 9/h"]"""));
        Assert.Equal(429, Wire.Get(url, "/").Status);

        await server.ReloadAsync(Text("""["2/h"]"""));
        Assert.Equal((200, 200, 429), (Wire.Get(url, "/").Status, Wire.Get(url, "/").Status, Wire.Get(url, "/").Status));

        await server.RefuseAsync(Text("""["2/d"]"""));
        await server.ReloadAsync(Text("[]"));
        Assert.Equal((200, 200, 200), (Wire.Get(url, "/").Status, Wire.Get(url, "/").Status, Wire.Get(url, "/").Status));
        Assert.Equal([404, 404, 429], Enumerable.Range(0, 3).Select(_ => Ask(url, "b.example", "/api/a")));
        Assert.Equal(404, Ask(url, "a.example", "/api/a"));
    }

    [Fact]
    public async Task A_unix_socket_has_no_limit_but_for_the_clients_of_a_trusted_proxy()
    {
        using var folder = new TempFolder();
        string path = folder.PathOf("m.sock");
        await using (ServerProcess plain = await ServerProcess.StartAsync(
            Places.SampleSite, "--listen", "127.0.0.1:0", "--listen", $"unix:{path}", "--rate-limit", "1/h"))
        {
            Assert.Equal([200, 200, 200], [AskUnix(path, "192.0.2.1"), AskUnix(path, "192.0.2.1"), AskUnix(path, "192.0.2.1")]);
        }

        await using ServerProcess trusting = await ServerProcess.StartAsync(
            Places.SampleSite, "--listen", "127.0.0.1:0", "--listen", $"unix:{path}", "--rate-limit", "1/h", "--trusted-proxy", "unix");
        Assert.Equal([200, 429, 200], [AskUnix(path, "192.0.2.1"), AskUnix(path, "192.0.2.1"), AskUnix(path, "192.0.2.2")]);
    }

    [Theory]
    [InlineData("is not a rate limit", "--rate-limit", "100")]
    [InlineData("a number that is not valid", "--rate-limit", "0/s")]
    [InlineData("is not valid", "--rate-limit-memory", "1k")]
    public async Task A_mistake_is_answered_in_one_line(string words, params string[] arguments) =>
        (await Tool.RunAsync(Publication.Program, [Places.SampleSite, .. arguments])).AssertRefused(2, words);

    private static int Ask(Uri url, string host, string target)
    {
        using Wire wire = Wire.Open(url);
        return wire.Send(Encoding.ASCII.GetBytes($"GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n")).Status;
    }

    private static int AskUnix(string path, string client)
    {
        using var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        socket.Connect(new UnixDomainSocketEndPoint(path));
        socket.Send(Encoding.ASCII.GetBytes($"GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: {client}\r\nConnection: close\r\n\r\n"));
        using var reader = new StreamReader(new NetworkStream(socket));
        return int.Parse(reader.ReadLine()!.Split(' ')[1], System.Globalization.CultureInfo.InvariantCulture);
    }
}
