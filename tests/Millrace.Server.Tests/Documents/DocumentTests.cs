using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Documents;

/// <summary>Every command in these documents is run, and says what the document says it does.</summary>
public class DocumentTests
{
    private static readonly string[] Documents =
        ["getting-started.md", "monitoring.md", "coming-from-nginx.md", "coming-from-caddy.md", "troubleshooting.md", "performance.md"];

    private static readonly TimeSpan Deadline = TimeSpan.FromMinutes(2);

    public static TheoryData<string, string> Sections => [.. All().Select(static section => (section.Document, section.Title))];

    [Theory]
    [MemberData(nameof(Sections))]
    public async Task A_section_does_what_it_says(string document, string title)
    {
        DocumentSection section = All().Single(section => section.Document == document && section.Title == title);

        ToolResult result = await RunAsync(section);

        Assert.True(result.ExitCode == 0, $"{document}, {title}: {result.Error}{result.Output}");
    }

    [Theory]
    [InlineData("HTTP/1.1 201 Created")]
    [InlineData("Content-Type: text/html...\nHTTP/1.1 200 OK")]
    public async Task A_line_that_is_not_said_is_found(string lines)
    {
        ToolResult result = await RunAsync(new DocumentSection(
            "", "", [("sh", "millrace ./public --listen 80\n"), ("console", $"$ curl -sI http://127.0.0.1/\n{lines}\n")]));

        Assert.Equal(1, result.ExitCode);
        Assert.Contains("does not say", result.Error, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_command_that_fails_is_found()
    {
        ToolResult result = await RunAsync(new DocumentSection("", "", [("sh", "millrace ./nowhere --listen 80\n")]));

        Assert.Equal(1, result.ExitCode);
        Assert.Contains("server does not serve", result.Error, StringComparison.Ordinal);
    }

    /// <summary>In a network of its own, where every port is free, and a process tree that ends with it.</summary>
    private static async Task<ToolResult> RunAsync(DocumentSection section)
    {
        foreach (string tool in (string[])["unshare", "ip", "ss", "curl", "openssl", "htpasswd", "wrk", section.Other ?? "bash"])
        {
            Tool.Require(tool);
        }

        using var folder = new TempFolder();
        string script = folder.PathOf("script");
        await File.WriteAllTextAsync(script, $"""
            SAMPLE_SITE='{Places.SampleSite}'
            PROGRAM='{Publication.Program}'
            cd '{folder.Root}'
            source '{Path.Combine(Places.Repository, "tests", "Millrace.Server.Tests", "Documents", "section.sh")}'
            {section.Script()}
            """);
        string[] identity = Environment.IsPrivilegedProcess ? [] : ["--user", "--map-root-user"];
        return await Tool.RunAsync(Deadline, "unshare", [.. identity, "--net", "--pid", "--fork", "--kill-child", "bash", script]);
    }

    private static IEnumerable<DocumentSection> All() => Documents
        .SelectMany(static name => DocumentSection.Of(name, File.ReadAllText(Path.Combine(Places.Repository, "docs", name))))
        .Where(static section => section.IsRunnable);
}
