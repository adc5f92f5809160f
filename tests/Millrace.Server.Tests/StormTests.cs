using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests;

/// <summary>The storm of bench/storm, for some seconds.</summary>
public class StormTests
{
    /// <summary>After the three in which it warms up.</summary>
    private const int Seconds = 5;

    /// <summary>Many times what a machine that does nothing else needs: others may be at work on this one.</summary>
    private const int FreshMs = 3000;

    [Fact]
    public async Task A_site_that_is_deployed_over_and_over_is_never_served_mixed_stale_or_failed()
    {
        using var folder = new TempFolder();

        ToolResult result = await Tool.RunAsync(
            TimeSpan.FromMinutes(2),
            Path.Combine(AppContext.BaseDirectory, "storm"),
            "--seconds", $"{Seconds}", "--fresh-ms", $"{FreshMs}", "--folder", folder.Root,
            "--server", $"\"{Publication.Program}\" {{root}} --listen 127.0.0.1:{{port}} {string.Join(' ', Publication.BackendFlags)}");

        await File.WriteAllTextAsync(Path.Combine(Places.Artifacts, "storm.txt"), result.Output + result.Error);
        Assert.True(result.ExitCode == 0, result.Output + result.Error);
        Assert.Contains("0 failed", result.Output, StringComparison.Ordinal);
        foreach (string kind in (string[])["rename", "link swap", "root swap", "truncation", "deletion", "mass creation", "precompressed", "rewrite in place"])
        {
            Assert.Contains($"\n{kind} ", result.Output, StringComparison.Ordinal);
        }
    }
}
