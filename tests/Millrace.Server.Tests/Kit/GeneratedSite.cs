using System.Security.Cryptography;
using System.Text;
using System.Text.RegularExpressions;

namespace Millrace.Server.Tests.Kit;

/// <summary>
/// samples/spa as Vite builds it. Built once for each state of its sources and kept in the artifacts,
/// since fetching the packages takes longer than all tests of it.
/// </summary>
internal static partial class GeneratedSite
{
    private static readonly TimeSpan Deadline = TimeSpan.FromMinutes(3);

    private static readonly string Source = Path.Combine(Places.Repository, "samples", "spa");

    /// <summary>Builds it where that was not done, and returns the folder to serve.</summary>
    public static async Task<string> BuildAsync()
    {
        Tool.Require("node");
        Tool.Require("npm");
        string[] files = [.. Directory.GetFiles(Source, "*", SearchOption.AllDirectories)
            .Select(static path => Path.GetRelativePath(Source, path))
            .Where(static path => !path.StartsWith("node_modules/", StringComparison.Ordinal) && !path.StartsWith("dist/", StringComparison.Ordinal))
            .Order(StringComparer.Ordinal)];
        string work = Path.Combine(Places.Repository, "artifacts", "spa", HashOf(files));
        string built = Path.Combine(work, "dist");
        if (!File.Exists(Path.Combine(work, "built")))
        {
            await BuildAsync(files, work);
            File.WriteAllText(Path.Combine(work, "built"), "");
        }

        return built;
    }

    private static async Task BuildAsync(string[] files, string work)
    {
        foreach (string file in files)
        {
            string copy = Path.Combine(work, file);
            Directory.CreateDirectory(Path.GetDirectoryName(copy)!);
            File.Copy(Path.Combine(Source, file), copy, overwrite: true);
        }

        ToolResult fetched = await Tool.RunAsync(Deadline, "npm", "ci", "--prefix", work, "--no-audit", "--no-fund", "--no-update-notifier");
        Assert.SkipWhen(fetched.ExitCode != 0 && NetworkTrouble().IsMatch(fetched.Error), $"npm does not reach its registry: {fetched.Error}");
        Assert.True(fetched.ExitCode == 0, $"npm ci ended with {fetched.ExitCode}: {fetched.Output}{fetched.Error}");
        await Tool.RunToSuccessAsync(Deadline, "npm", "run", "build", "--prefix", work);
    }

    private static string HashOf(string[] files)
    {
        using var hash = IncrementalHash.CreateHash(HashAlgorithmName.SHA256);
        foreach (string file in files)
        {
            hash.AppendData(Encoding.UTF8.GetBytes($"{file}\n"));
            hash.AppendData(File.ReadAllBytes(Path.Combine(Source, file)));
        }

        return Convert.ToHexStringLower(hash.GetHashAndReset())[..16];
    }

    [GeneratedRegex("ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|ERR_SOCKET_TIMEOUT")]
    private static partial Regex NetworkTrouble();
}
