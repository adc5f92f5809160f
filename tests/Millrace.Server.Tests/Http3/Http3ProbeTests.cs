using System.Net;
using System.Net.Sockets;
using System.Text.Json;
using Millrace.Server.Commands;
using Millrace.Server.Http3;
using Millrace.Server.Tests.Kit;
using static Millrace.Server.Tests.Kit.OwnCertificate;

namespace Millrace.Server.Tests.Http3;

/// <summary><c>millrace probe --http3</c>, and the files of <c>--qlog</c> that a request leaves.</summary>
public sealed class Http3ProbeTests : IDisposable
{
    private readonly TempFolder _keys = new();

    private string Certificate => _keys.PathOf("a.crt");

    public void Dispose() => _keys.Dispose();

    [Fact]
    public async Task A_server_that_responds_over_HTTP_3_is_healthy_and_its_packets_are_in_a_file()
    {
        using var events = new TempFolder();
        await using (ServerProcess server = await StartAsync("--http3", "--qlog", events.Root))
        {
            ToolResult result = await ProbeAsync($"https://localhost:{server.Url.Port}/missing", "--ca", Certificate);
            Assert.Equal((0, ""), (result.ExitCode, result.Error));
            Assert.Contains("responded over HTTP/3 with status 404.", result.Output, StringComparison.Ordinal);
            server.Signal(System.Runtime.InteropServices.PosixSignal.SIGTERM);
            Assert.Equal(0, await server.ExitCodeAsync());
        }

        string[] records = (await File.ReadAllTextAsync(
            Assert.Single(Directory.GetFiles(events.Root, "*.sqlog")), TestContext.Current.CancellationToken)).Split('\u001e');
        Assert.Equal("", records[0]);
        string[] names = [.. records[1..].Select(NameOf)];
        Assert.Equal("", names[0]);
        Assert.Equal("transport:packet_received", names[1]);
        Assert.Contains("transport:packet_sent", names);
        Assert.Contains("recovery:metrics_updated", names);
        Assert.Equal("connectivity:connection_closed", names[^1]);
    }

    [Fact]
    public async Task An_address_of_IPv6_is_named_with_brackets()
    {
        Assert.SkipUnless(Socket.OSSupportsIPv6, "This host has no IPv6.");
        await using ServerProcess server = await ServerProcess.StartAsync(
            [Places.SampleSite, "--https", "[::1]:0", "--http3", .. Make(_keys, "a", "localhost", "::1")]);
        ToolResult result = await ProbeAsync($"https://[::1]:{server.Url.Port}/missing", "--ca", Certificate);
        Assert.Contains("with status 404.", result.Output, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_name_is_asked_at_all_its_addresses()
    {
        await using ServerProcess server = await StartAsync("--http3");
        using var limited = new CancellationTokenSource(TimeSpan.FromSeconds(60));
        ProbeResult result = await Http3Probe.AskAsync(
            new Uri($"https://localhost:{server.Url.Port}/missing"), [IPAddress.IPv6Loopback, IPAddress.Loopback], Certificate, limited);
        Assert.Contains("with status 404.", result.Text, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_certificate_that_is_not_trusted_is_named()
    {
        await using ServerProcess server = await StartAsync("--http3");
        ToolResult result = await ProbeAsync($"https://localhost:{server.Url.Port}/");
        Assert.Equal(1, result.ExitCode);
        Assert.Contains("certificate", result.Error, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Where_nobody_listens_on_UDP_nothing_is_healthy()
    {
        using var bound = new Socket(AddressFamily.InterNetwork, SocketType.Dgram, ProtocolType.Udp);
        bound.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        ToolResult result = await ProbeAsync($"https://{bound.LocalEndPoint}/", "--timeout", "1");
        Assert.Equal(1, result.ExitCode);
        Assert.Contains("within 1 s", result.Error, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Only_https_is_asked_for_over_HTTP_3()
    {
        ToolResult result = await ProbeAsync("http://127.0.0.1:1/");
        Assert.Equal(2, result.ExitCode);
        Assert.Contains("use an https URL", result.Error, StringComparison.Ordinal);
    }

    private static string NameOf(string record)
    {
        using JsonDocument parsed = JsonDocument.Parse(record);
        return parsed.RootElement.TryGetProperty("name", out JsonElement name) ? name.GetString()! : "";
    }

    private static Task<ToolResult> ProbeAsync(string url, params string[] arguments) =>
        Tool.RunAsync(Publication.Program, ["probe", url, "--http3", .. arguments]);

    private Task<ServerProcess> StartAsync(params string[] flags) => ServerProcess.StartAsync(
        [Places.SampleSite, "--https", "127.0.0.1:0", .. Make(_keys, "a", "localhost"), .. flags]);
}
