using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Documents;

/// <summary>Every command in these documents is run, and says what the document says it does.</summary>
public class DocumentTests
{
    /// <summary>All but deployment.md, whose commands install what they are about: tests/Millrace.Packaging.Tests run them.</summary>
    private static readonly string[] Documents =
    [
        "README.md", "docs/getting-started.md", "docs/serving.md", "docs/monitoring.md", "docs/coming-from-nginx.md",
        "docs/certificates.md", "docs/coming-from-caddy.md", "docs/troubleshooting.md", "docs/performance.md",
    ];

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

    [Fact]
    public void No_document_with_commands_is_left_out() => Assert.Equal(
        Documents.Append("docs/deployment.md").Order(StringComparer.Ordinal),
        new[] { Places.Repository, Path.Combine(Places.Repository, "docs") }.SelectMany(static folder => Directory.GetFiles(folder, "*.md"))
            .Select(static path => Path.GetRelativePath(Places.Repository, path))
            .Where(static path => DocumentSection.Of(path, Places.Read(path)).Any(static section => section.IsRunnable))
            .Order(StringComparer.Ordinal));

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
        .SelectMany(static path => DocumentSection.Of(path, Places.Read(path)))
        .Where(static section => section.IsRunnable);
}
