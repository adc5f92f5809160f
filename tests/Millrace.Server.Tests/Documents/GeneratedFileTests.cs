using Millrace.DocGenerator;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Documents;

/// <summary>The generated files in the repository are those that tools/Millrace.DocGenerator writes.</summary>
public class GeneratedFileTests
{
    private const string Command = "dotnet run --project tools/Millrace.DocGenerator";

    private static readonly TimeSpan Deadline = TimeSpan.FromMinutes(1);

    public static TheoryData<string> Paths => [.. GeneratedFile.All.Select(static file => file.Path)];

    [Theory]
    [MemberData(nameof(Paths))]
    public void A_committed_file_is_what_the_generator_writes(string path) => Assert.True(
        GeneratedFile.All.Single(file => file.Path == path).IsCurrent(Places.Repository),
        $"{path} is out of date: run '{Command}' and commit the result.");

    [Fact]
    public async Task The_generator_writes_what_is_missing_or_out_of_date()
    {
        using var folder = new TempFolder();
        string[] paths = [.. GeneratedFile.All.Select(static file => file.Path)];

        Assert.Equal(paths.Select(static path => $"written    {path}"), await GenerateAsync(folder.Root));
        Assert.All(GeneratedFile.All, file => Assert.Equal(file.Text, File.ReadAllText(folder.PathOf(file.Path))));
        Assert.Equal(paths.Select(static path => $"unchanged  {path}"), await GenerateAsync(folder.Root));

        File.AppendAllText(folder.PathOf(paths[^1]), "#\n");
        Assert.False(GeneratedFile.All[^1].IsCurrent(folder.Root));
        Assert.Equal($"written    {paths[^1]}", (await GenerateAsync(folder.Root))[^1]);
        Assert.True(GeneratedFile.All[^1].IsCurrent(folder.Root));
    }

    [Fact]
    public void The_command_that_mends_is_documented() =>
        Assert.Contains(Command, Places.Read("CONTRIBUTING.md"), StringComparison.Ordinal);

    private static async Task<string[]> GenerateAsync(string root)
    {
        string output = await Tool.RunToSuccessAsync(Deadline, "dotnet", typeof(GeneratedFile).Assembly.Location, root);
        return output.Split('\n', StringSplitOptions.RemoveEmptyEntries);
    }
}
