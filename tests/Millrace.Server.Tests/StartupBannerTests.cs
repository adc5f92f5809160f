using System.Text.RegularExpressions;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests;

public class StartupBannerTests
{
    [Fact]
    public async Task It_says_where_it_listens_what_it_serves_and_on_what()
    {
        await using ServerProcess server = await ServerProcess.StartAsync(Places.SampleSite, "--listen", "127.0.0.1:0", "--reactors", "2");

        Assert.Equal(2, server.Lines.Count);
        Assert.Matches(@"^Listening on http://127\.0\.0\.1:[1-9]\d*/$", server.Lines[0]);
        int files = Places.SampleTargets.Count();
        Assert.Equal($"Serving {Places.SampleSite} ({files} files) on {Backend} with 2 reactors", server.Lines[1]);
    }

    [Fact]
    public Task Epoll_serves_where_it_was_asked_for() => AskForAsync("epoll");

    [Fact]
    [Trait("Backend", "io_uring")]
    public Task Io_uring_serves_where_it_was_asked_for() => AskForAsync("io_uring");

    [Fact]
    public async Task A_port_alone_is_all_interfaces()
    {
        await using ServerProcess server = await ServerProcess.StartAsync(Places.SampleSite, "-l", "0", "--reactors", "1");

        Assert.Matches(@"^Listening on http://localhost:[1-9]\d*/ \(all interfaces\)$", server.Lines[0]);
        Assert.EndsWith("with 1 reactor", server.Lines[1], StringComparison.Ordinal);
        using var client = new HttpClient();
        foreach (string host in (string[])["127.0.0.1", "[::1]"])
        {
            string page = await client.GetStringAsync($"http://{host}:{server.Url.Port}/");
            Assert.Contains("Aldermere Mill", page, StringComparison.Ordinal);
        }
    }

    [Fact]
    public async Task Version_is_that_of_a_release_or_of_what_comes_before_one()
    {
        ToolResult result = await Tool.RunAsync(Publication.Program, "--version");

        Assert.Equal(0, result.ExitCode);
        Assert.Equal("", result.Error);
        Assert.Matches(new Regex(@"^\d+\.\d+\.\d+(-[0-9A-Za-z.]+)?\n$"), result.Output);
    }

    /// <summary>The configured backend; otherwise the best available.</summary>
    private static string Backend => Publication.BackendFlags is [_, not "auto" and string asked] ? asked : "io_uring";

    private static async Task AskForAsync(string backend)
    {
        await using ServerProcess server = await ServerProcess.StartAsync(
            Publication.Program, [Places.SampleSite, "--listen", "127.0.0.1:0", "--backend", backend], lastLine: "Serving ");
        Assert.Contains($" on {backend} with ", server.Lines[1], StringComparison.Ordinal);
    }
}
