using Millrace.Architecture.Tests.Rules;

namespace Millrace.Architecture.Tests;

public class TraceTests
{
    // Examples are put together here: written out, this file would break the rule.
    private const string Slash = "/";
    private const string Dot = ".";

    [Fact]
    public void No_file_names_a_folder_of_one_machine() => Finding.AssertNone(Repository.Files.SelectMany(TraceRules.MachinePaths));

    [Fact]
    public void No_file_names_a_package_registry() => Finding.AssertNone(Repository.Files.SelectMany(TraceRules.Registries));

    [Theory]
    [InlineData("cd " + Slash + "work/main")]
    [InlineData("\"" + Slash + "root\"")]
    [InlineData("file:" + Slash + "home/ada/site")]
    [InlineData("path=" + Slash + "tmp/millrace.sock")]
    [InlineData("[link](" + Slash + "home/ada)")]
    public void A_folder_of_a_machine_is_found(string text) =>
        Assert.Single(TraceRules.MachinePaths(new SourceFile("docs/sample.md", text)));

    [Theory]
    [InlineData("https://example.com/home/index")]
    [InlineData("src/work/x and ~/work and ../tmp/a")]
    [InlineData("/workers/a and /rooted and /homepage")]
    [InlineData("$folder/tmp/a and ${folder}/tmp/a")]
    public void A_path_below_something_else_is_accepted(string text) =>
        Assert.Empty(TraceRules.MachinePaths(new SourceFile("docs/sample.md", text)));

    [Theory]
    [InlineData("https://api.nuget" + Dot + "org/v3/index.json")]
    [InlineData("https://registry.npmjs" + Dot + "org")]
    [InlineData("https://packages-mirror" + Dot + "example.internal/simple")]
    public void A_registry_is_found(string text) =>
        Assert.Single(TraceRules.Registries(new SourceFile("nuget.config", text)));

    [Fact]
    public void The_list_of_files_knows_the_solution_and_no_output()
    {
        Assert.Contains(Repository.Files, file => file.Path == "Millrace.slnx");
        Assert.DoesNotContain(Repository.Files, file => file.Path.Contains("/bin/", StringComparison.Ordinal));
    }

    [Fact]
    public void Without_git_a_walk_lists_the_files()
    {
        string[] walked = [.. Repository.ListByWalk(Repository.Root)];

        Assert.Contains("src/Millrace.Http/Millrace.Http.csproj", walked);
        Assert.DoesNotContain(walked, path => path.Contains("/obj/", StringComparison.Ordinal));
    }
}
