using System.Text.Json;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Doctor;

/// <summary><c>millrace doctor</c> on this host, whatever it is.</summary>
public class DoctorTests
{
    private static readonly string[] Subjects =
    [
        "kernel", "io_uring", "locked memory", "descriptors", "root", "file system", "watches", "compression", "processors",
        "congestion control", "accept queue",
    ];

    [Fact]
    public async Task A_host_that_serves_is_not_broken_and_each_line_has_its_result()
    {
        ToolResult result = await Tool.RunAsync(Publication.Program, "doctor", Places.SampleSite);

        Assert.InRange(result.ExitCode, 0, 1);
        Assert.Equal("", result.Error);
        string[] lines = result.Output.Split('\n');
        Assert.All(Subjects, subject => Assert.Single(lines, line => line.StartsWith($"ok      {subject} ", StringComparison.Ordinal)
            || line.StartsWith($"slower  {subject} ", StringComparison.Ordinal)));
        Assert.Contains(result.ExitCode == 0 ? "Everything is fine." : "can be improved.", result.Output, StringComparison.Ordinal);
    }

    [Fact]
    public async Task The_json_report_says_the_same()
    {
        ToolResult text = await Tool.RunAsync(Publication.Program, "doctor", Places.SampleSite);
        ToolResult json = await Tool.RunAsync(Publication.Program, "doctor", Places.SampleSite, "--json");

        using JsonDocument report = JsonDocument.Parse(json.Output);
        JsonElement[] findings = [.. report.RootElement.GetProperty("findings").EnumerateArray()];
        Assert.Equal(text.ExitCode, json.ExitCode);
        Assert.Equal(json.ExitCode == 0 ? "ok" : "slower", report.RootElement.GetProperty("result").GetString());
        Assert.Equal(Subjects, findings.Select(finding => finding.GetProperty("subject").GetString()));
        Assert.All(findings, finding => Assert.Contains(finding.GetProperty("finding").GetString()!, text.Output, StringComparison.Ordinal));
    }

    [Theory]
    [InlineData("no-such-folder", "does not exist")]
    [InlineData("index.html", "is not a directory")]
    public async Task A_root_that_cannot_be_served_is_broken(string name, string words)
    {
        ToolResult result = await Tool.RunAsync(Publication.Program, "doctor", Path.Combine(Places.SampleSite, name));

        Assert.Equal(2, result.ExitCode);
        Assert.Contains(words, result.Output, StringComparison.Ordinal);
        Assert.Contains("broken  root", result.Output, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Without_io_uring_the_cause_is_named()
    {
        Tool.Require("gcc");
        string launcher = Path.Combine(Places.Repository, "tests", "Shared", "refuse-io-uring");

        ToolResult result = await Tool.RunAsync(launcher, Publication.Program, "doctor", Places.SampleSite);

        Assert.Equal(1, result.ExitCode);
        Assert.Contains("seccomp", result.Output, StringComparison.Ordinal);
        Assert.Contains("io_uring_setup", result.Output, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("io_uring", 2, "broken  io_uring")]
    [InlineData("epoll", 0, "epoll is configured, and works")]
    public async Task The_report_on_the_engine_is_of_a_trial(string backend, int least, string words)
    {
        ToolResult result = await RefusedUring.RunAsync([], "doctor", Places.SampleSite, "--backend", backend);

        Assert.InRange(result.ExitCode, least, Math.Max(least, 1));
        Assert.Contains(words, result.Output, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Few_descriptors_are_named()
    {
        Tool.Require("prlimit");
        ToolResult result = await Tool.RunAsync("prlimit", "--nofile=500:500", Publication.Program, "doctor", Places.SampleSite);

        Assert.Equal(1, result.ExitCode);
        Assert.Contains("slower  descriptors", result.Output, StringComparison.Ordinal);
        Assert.Contains("LimitNOFILE=", result.Output, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("is not an option", "doctor", "--jsn")]
    [InlineData("Unexpected argument", "doctor", "one", "two")]
    public async Task A_mistake_is_answered_in_one_line(string words, params string[] arguments) =>
        (await Tool.RunAsync(Publication.Program, arguments)).AssertRefused(2, words);
}
