using System.Text.RegularExpressions;
using Millrace.Server.Tests.Documents;
using Millrace.Server.Tests.Kit;

namespace Millrace.Packaging.Tests;

/// <summary>
/// The commands of docs/deployment.md do what it says; those about the package are followed by <see cref="OperatorStoryTests"/>. Behind
/// HAProxy, all instances are restarted under a load that loses nothing.
/// </summary>
[Trait("Duration", "Long")]
public partial class DeploymentDocumentTests
{
    private const string Document = "deployment.md";
    private const string Container = "millrace-test-site";
    private const string Image = "localhost/millrace-test";

    private static readonly TimeSpan Deadline = TimeSpan.FromMinutes(4);

    [Fact]
    public Task One_executable() => AssertRunsAsync("One executable");

    [Fact]
    public async Task A_container()
    {
        await DebianBase.RequireAsync();
        Array.ForEach(["podman", "runc", "jq"], Tool.Require);
        try
        {
            await AssertRunsAsync("Container");
        }
        finally
        {
            await Tool.RunAsync(Deadline, "podman", "--runtime", "runc", "rm", "--force", "--ignore", Container);
            await Tool.RunAsync(Deadline, "buildah", "rmi", Image);
        }
    }

    [Fact]
    public async Task Kubernetes_manifests()
    {
        Tool.Require("kubectl");
        await AssertRunsAsync("Kubernetes");
    }

    [Fact]
    public Task Instances_behind_haproxy_are_restarted_one_by_one_without_a_lost_request() =>
        AssertRunsBehindHaproxyAsync("Behind HAProxy");

    [Fact]
    public Task The_same_with_https_that_ends_at_haproxy() => AssertRunsBehindHaproxyAsync("HTTPS that ends at HAProxy", RollOf("millrace"));

    [Fact]
    public Task The_same_with_https_that_haproxy_passes_through() =>
        AssertRunsBehindHaproxyAsync("HTTPS that HAProxy passes through", RollOf("millrace-https"));

    [Fact]
    public void Every_section_with_commands_is_run()
    {
        string folder = Path.Combine(Places.Repository, "tests", "Millrace.Packaging.Tests");
        string tests = string.Concat(((string[])["DeploymentDocumentTests.cs", "OperatorStoryTests.cs"])
            .Select(file => File.ReadAllText(Path.Combine(folder, file))));

        Assert.All(Sections().Where(static section => section.IsRunnable), section =>
            Assert.Matches($@"(AssertRuns|AssertRunsBehindHaproxy|Follow)Async\(""{Regex.Escape(section.Title)}""", tests));
    }

    /// <summary>Restarts the servers of a backend one by one, as "Behind HAProxy" shows.</summary>
    private static string RollOf(string backend) => $$"""
        roll() { deploy/haproxy/roll /run/haproxy/admin.sock "{{backend}}/$1" systemctl restart "millrace-$1"; }
        roll a && roll b && roll c

        """;

    private static async Task AssertRunsBehindHaproxyAsync(string title, string afterwards = "")
    {
        Array.ForEach(["haproxy", "socat", "wrk"], Tool.Require);
        await AssertRunsAsync(title, afterwards + "all_answered");
    }

    internal static IEnumerable<DocumentSection> Sections() =>
        DocumentSection.Of(Document, File.ReadAllText(Path.Combine(Places.Repository, "docs", Document)));

    private static async Task AssertRunsAsync(string title, string afterwards = "")
    {
        Assert.SkipUnless(Environment.UserName == "root", "Only root may install, and make containers.");
        Array.ForEach(["unshare", "ip", "curl", "openssl", "htpasswd"], Tool.Require);
        await Publication.ReadyAsync();
        using var folder = new TempFolder();
        string tests = Path.Combine(Places.Repository, "tests");
        await File.WriteAllTextAsync(folder.PathOf("script"), $"""
            REPOSITORY='{Places.Repository}'
            SAMPLE_SITE='{Places.SampleSite}'
            PROGRAM='{Publication.Program}'
            cd '{folder.Root}'
            source '{Path.Combine(tests, "Millrace.Server.Tests", "Documents", "section.sh")}'
            source '{Path.Combine(tests, "Millrace.Packaging.Tests", "deployment.sh")}'
            {WithNamesOfTests(Sections().Single(section => section.Title == title).Script())}
            {afterwards}
            """);

        ToolResult result = await Tool.RunAsync(Deadline, "unshare", "--net", "--mount", "bash", folder.PathOf("script"));

        Assert.True(result.ExitCode == 0, $"{title}: {result.Error}{result.Output}");
    }

    /// <summary>The machine may have an image and a container that are called as in the document.</summary>
    private static string WithNamesOfTests(string script) => ContainerName().Replace(
        ImageName().Replace(script.Replace("millrace-base", DebianBase.Image, StringComparison.Ordinal), Image), Container);

    [GeneratedRegex(@"(?<=-t |:ro )millrace\b")]
    private static partial Regex ImageName();

    [GeneratedRegex(@"(?<=(?:--name|logs|run|stop|rm) )site\b")]
    private static partial Regex ContainerName();
}
