using System.Text.Json;
using System.Text.RegularExpressions;
using Millrace.Arena.Tests.Kit;
using Millrace.Server.Tests.Kit;

namespace Millrace.Arena.Tests;

/// <summary>What the board asks of a folder that is sent in.</summary>
public partial class EntryFolderTests
{
    private static readonly string[] Profiles =
    [
        "baseline", "pipelined", "limited-conn", "json", "json-comp", "json-tls", "static", "static-tls", "latency-1m", "latency-10k",
        "baseline-h2", "static-h2", "baseline-h2c", "json-h2c", "unary-grpc", "unary-grpc-tls", "echo-ws",
    ];

    public static TheoryData<string> Names => [.. EntryFolder.Names];

    [Theory]
    [MemberData(nameof(Names))]
    public void The_description_has_what_the_board_reads(string name)
    {
        JsonElement meta = new EntryFolder(name).Meta;

        Assert.Equal("C#", meta.GetProperty("language").GetString());
        Assert.Contains(meta.GetProperty("type").GetString(), (string[])["infrastructure", "engine", "emerging"]);
        Assert.True(meta.GetProperty("enabled").GetBoolean());
        Assert.All(
            (string[])["display_name", "engine", "description"], field => Assert.NotEqual("", meta.GetProperty(field).GetString()));
        Assert.All(meta.GetProperty("tests").EnumerateArray(), static test => Assert.Contains(test.GetString(), Profiles));
    }

    [Theory]
    [MemberData(nameof(Names))]
    public void The_image_is_made_from_pinned_images_and_a_project_that_exists(string name)
    {
        var entry = new EntryFolder(name);
        string[] images = [.. FromLine().Matches(entry.Dockerfile).Select(static match => match.Groups["image"].Value)];

        Assert.Equal(2, images.Length);
        Assert.All(images, static image => Assert.Matches(@"^mcr\.microsoft\.com/dotnet/[a-z-]+:10\.0(-[a-z-]+)?$", image));
        string project = Assert.Single(Directory.GetFiles(entry.Project, "*.csproj"));
        Assert.Equal(
            Path.GetFileName(entry.EntryPoint[0]), AssemblyName().Match(File.ReadAllText(project)).Groups["name"].Value);
    }

    [Fact]
    public async Task A_folder_that_is_sent_in_holds_the_sources_of_its_program()
    {
        Tool.Require("python3");
        Tool.Require("git");
        string target = Path.Combine(Places.Artifacts, $"sent-{Guid.NewGuid():N}");
        try
        {
            await Tool.RunToSuccessAsync(
                TimeSpan.FromMinutes(1), "python3", "-B", Path.Combine(Places.Repository, "bench", "board"),
                "--send-in", target, "--repository", "https://example.org/millrace");

            foreach (string name in EntryFolder.Names)
            {
                var entry = new EntryFolder(name);
                string folder = Path.Combine(target, name);
                Assert.Equal(entry.Dockerfile, await File.ReadAllTextAsync(Path.Combine(folder, "Dockerfile")));
                string meta = await File.ReadAllTextAsync(Path.Combine(folder, "meta.json"));
                Assert.Contains("https://example.org/millrace", meta, StringComparison.Ordinal);
                string project = Path.Combine(folder, "source", Path.GetRelativePath(Places.Repository, entry.Project));
                AssertComplete(Assert.Single(Directory.GetFiles(project, "*.csproj")), []);
            }
        }
        finally
        {
            Directory.Delete(target, recursive: true);
        }
    }

    /// <summary>All that it refers to is there.</summary>
    private static void AssertComplete(string project, HashSet<string> seen)
    {
        Assert.True(File.Exists(project), $"{project} is missing");
        if (!seen.Add(project))
        {
            return;
        }

        foreach (Match reference in ProjectReference().Matches(File.ReadAllText(project)))
        {
            AssertComplete(Path.GetFullPath(reference.Groups["path"].Value, Path.GetDirectoryName(project)!), seen);
        }
    }

    [GeneratedRegex(@"^FROM (?<image>\S+)", RegexOptions.Multiline | RegexOptions.ExplicitCapture)]
    private static partial Regex FromLine();

    [GeneratedRegex("<AssemblyName>(?<name>[^<]+)</AssemblyName>", RegexOptions.ExplicitCapture)]
    private static partial Regex AssemblyName();

    [GeneratedRegex("<ProjectReference Include=\"(?<path>[^\"]+)\"", RegexOptions.ExplicitCapture)]
    private static partial Regex ProjectReference();
}
