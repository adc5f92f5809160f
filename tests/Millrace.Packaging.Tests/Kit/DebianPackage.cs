using Millrace.Server.Tests.Kit;

namespace Millrace.Packaging.Tests;

/// <summary>deploy/debian/build, and what dpkg-deb says of its package.</summary>
internal static class DebianPackage
{
    private static readonly TimeSpan Deadline = TimeSpan.FromMinutes(3);

    /// <summary>Builds the package of a program, and gives its path.</summary>
    public static async Task<string> BuildAsync(TempFolder folder, string program, string version)
    {
        ToolResult result = await TryBuildAsync(folder, program, $"VERSION={version}");
        Assert.True(result.ExitCode == 0, result.Output + result.Error);
        return Directory.GetFiles(folder.Root, $"millrace_{version}_*.deb").Single();
    }

    /// <summary>Builds it with these words of env(1) before the script, or not.</summary>
    public static Task<ToolResult> TryBuildAsync(TempFolder folder, string program, params string[] environment) => Tool.RunAsync(
        Deadline,
        "env", ["-u", "VERSION", "-u", "MAINTAINER", "-u", "SOURCE_DATE_EPOCH", .. environment,
            Path.Combine(Places.Repository, "deploy", "debian", "build"), folder.Root, program]);

    public static Task<string> FieldAsync(string package, string field) => SayAsync("--field", package, field);

    /// <summary>Rights, owner and path of each entry.</summary>
    public static async Task<string[]> ContentsAsync(string package) =>
    [
        .. (await SayAsync("--contents", package)).Split('\n', StringSplitOptions.RemoveEmptyEntries)
            .Select(static line => line.Split(' ', StringSplitOptions.RemoveEmptyEntries))
            .Select(static words => $"{words[0]} {words[1]} {words[5][1..]}"),
    ];

    public static async Task<string> SayAsync(params string[] arguments) =>
        (await Tool.RunToSuccessAsync(Deadline, "dpkg-deb", arguments)).TrimEnd('\n');
}
