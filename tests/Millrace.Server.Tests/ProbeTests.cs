using System.Net;
using System.Net.Sockets;
using System.Text;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests;

/// <summary><c>millrace probe</c>, which health checks call.</summary>
public class ProbeTests
{
    [Theory]
    [InlineData("")]
    [InlineData("nothing/of/the/kind")]
    public async Task A_server_that_answers_is_healthy(string path)
    {
        await using ServerProcess server = await ServerProcess.StartAsync(Places.SampleSite, "-l", "127.0.0.1:0");

        ToolResult result = await ProbeAsync(new Uri(server.Url, path));

        Assert.Equal((0, ""), (result.ExitCode, result.Error));
        Assert.Contains(" responded with status ", result.Output, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("HTTP/1.1 503 Service Unavailable\r\n\r\n", "responded with status 503.")]
    [InlineData("SSH-2.0-OpenSSH_9.2\r\n", "did not respond with HTTP.")]
    [InlineData("HTTP/1.1", "did not respond with HTTP.")]
    public async Task A_server_that_cannot_answer_or_is_another_one_is_not(string response, string words)
    {
        using var listener = new TcpListener(IPAddress.Loopback, 0);
        listener.Start();
        Task answering = ResponseAsync(listener, response);

        ToolResult result = await ProbeAsync(new Uri($"http://{listener.LocalEndpoint}/"));

        await answering.WaitAsync(TimeSpan.FromSeconds(30));
        Assert.Equal(1, result.ExitCode);
        Assert.Contains(words, result.Error, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_server_that_is_silent_is_given_up()
    {
        using var listener = new TcpListener(IPAddress.Loopback, 0);
        listener.Start();

        ToolResult result = await ProbeAsync(new Uri($"http://{listener.LocalEndpoint}/"), "--timeout", "1");

        Assert.Equal(1, result.ExitCode);
        Assert.Contains("within 1 s", result.Error, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Where_nobody_listens_nothing_is_healthy()
    {
        using var bound = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        bound.Bind(new IPEndPoint(IPAddress.Loopback, 0)); // and does not listen

        ToolResult result = await ProbeAsync(new Uri($"http://{bound.LocalEndPoint}/"));

        Assert.Equal(1, result.ExitCode);
        Assert.Contains("does not respond", result.Error, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("127.0.0.1:8080")]
    [InlineData("https://127.0.0.1/")]
    [InlineData("/healthz")]
    public async Task What_is_no_url_of_http_is_refused(string url)
    {
        ToolResult result = await Tool.RunAsync(Publication.Program, "probe", url);

        Assert.Equal(2, result.ExitCode);
        Assert.Contains(url, result.Error, StringComparison.Ordinal);
    }

    private static Task<ToolResult> ProbeAsync(Uri url, params string[] arguments) =>
        Tool.RunAsync(Publication.Program, ["probe", url.ToString(), .. arguments]);

    private static async Task ResponseAsync(TcpListener listener, string response)
    {
        using TcpClient client = await listener.AcceptTcpClientAsync();
        byte[] request = new byte[1024];
        Assert.NotEqual(0, await client.GetStream().ReadAsync(request));
        await client.GetStream().WriteAsync(Encoding.ASCII.GetBytes(response));
    }
}
