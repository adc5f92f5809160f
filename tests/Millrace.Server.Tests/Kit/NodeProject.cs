using System.Security.Cryptography;
using System.Text;
using System.Text.RegularExpressions;

namespace Millrace.Server.Tests.Kit;

/// <summary>
/// A folder with a package.json of this repository, with its packages, in the artifacts. Made once for each state of its sources, since
/// fetching the packages takes longer than all tests of it.
/// </summary>
internal static partial class NodeProject
{
    public static readonly TimeSpan Deadline = TimeSpan.FromMinutes(3);

    /// <summary>Makes it where that was not done, and returns the folder.</summary>
    /// <param name="source">The folder in the repository.</param>
    /// <param name="name">The folder in the artifacts.</param>
    /// <param name="build">What is to be done with it once it has its packages.</param>
    public static async Task<string> MakeAsync(string source, string name, Func<string, Task>? build = null)
    {
        Tool.Require("node");
        Tool.Require("npm");
        string[] files = [.. Directory.GetFiles(source, "*", SearchOption.AllDirectories)
            .Select(path => Path.GetRelativePath(source, path))
            .Where(static path => !path.StartsWith("node_modules/", StringComparison.Ordinal) && !path.StartsWith("dist/", StringComparison.Ordinal))
            .Order(StringComparer.Ordinal)];
        string work = Path.Combine(Places.Repository, "artifacts", name, HashOf(source, files));
        if (!File.Exists(Path.Combine(work, "built")))
        {
            await FetchAsync(source, files, work);
            await (build?.Invoke(work) ?? Task.CompletedTask);
            File.WriteAllText(Path.Combine(work, "built"), "");
        }

        return work;
    }

    private static async Task FetchAsync(string source, string[] files, string work)
    {
        foreach (string file in files)
        {
            string copy = Path.Combine(work, file);
            Directory.CreateDirectory(Path.GetDirectoryName(copy)!);
            File.Copy(Path.Combine(source, file), copy, overwrite: true);
        }

        // Without a lock file: packages whose versions package.json names exactly.
        string command = File.Exists(Path.Combine(work, "package-lock.json")) ? "ci" : "install";
        ToolResult fetched = await Tool.RunAsync(Deadline, "npm", command, "--prefix", work, "--no-audit", "--no-fund", "--no-update-notifier");
        Assert.SkipWhen(fetched.ExitCode != 0 && NetworkTrouble().IsMatch(fetched.Error), $"npm does not reach its registry: {fetched.Error}");
        Assert.True(fetched.ExitCode == 0, $"npm {command} ended with {fetched.ExitCode}: {fetched.Output}{fetched.Error}");
    }

    private static string HashOf(string source, string[] files)
    {
        using var hash = IncrementalHash.CreateHash(HashAlgorithmName.SHA256);
        foreach (string file in files)
        {
            hash.AppendData(Encoding.UTF8.GetBytes($"{file}\n"));
            hash.AppendData(File.ReadAllBytes(Path.Combine(source, file)));
        }

        return Convert.ToHexStringLower(hash.GetHashAndReset())[..16];
    }

    [GeneratedRegex("ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|ERR_SOCKET_TIMEOUT")]
    private static partial Regex NetworkTrouble();
}
