using System.Diagnostics;
using System.Runtime.Versioning;
using System.Text.RegularExpressions;

namespace Millrace.Architecture.Tests;

[SupportedOSPlatform("linux")]
public partial class ScriptTests
{
    [Theory]
    [InlineData("run")]
    [InlineData("test")]
    [InlineData(".ci/run")]
    [InlineData("deploy/archive")]
    [InlineData("deploy/release-notes")]
    [InlineData("deploy/debian/build")]
    [InlineData("tests/Shared/fetch-brotli")]
    public void A_script_is_executable_and_stops_at_errors(string script)
    {
        string path = Path.Combine(Repository.Root, script);

        Assert.True(File.GetUnixFileMode(path).HasFlag(UnixFileMode.UserExecute), $"{script} is not executable");
        Assert.StartsWith("#!/usr/bin/env bash\n", File.ReadAllText(path), StringComparison.Ordinal);
        Assert.Contains("\nset -euo pipefail\n", File.ReadAllText(path), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("run")]
    [InlineData("test")]
    public void Without_the_sdk_a_script_says_what_to_install(string script)
    {
        ProcessStartInfo start = new("/bin/bash", [Path.Combine(Repository.Root, script)]) { RedirectStandardError = true };
        start.Environment["PATH"] = "/nonexistent";

        using Process process = Process.Start(start)!;
        string error = process.StandardError.ReadToEnd();
        process.WaitForExit();

        Assert.Equal(2, process.ExitCode);
        Assert.Contains(".NET 10 SDK", Assert.Single(error.Split('\n', StringSplitOptions.RemoveEmptyEntries)), StringComparison.Ordinal);
    }

    /// <summary>Programs that install and build are there as traps, and what is measured with is not.</summary>
    [Theory]
    [InlineData("test", "--help")]
    [InlineData("test", "-h")]
    [InlineData("bench/run", "--help")]
    [InlineData("bench/run", "--plan")]
    [InlineData("bench/quick", "--help")]
    [InlineData("bench/quick", "-h")]
    [InlineData("bench/kestrel", "--help")]
    [InlineData("bench/idle", "--help")]
    [InlineData("bench/storm", "--help")]
    [InlineData("bench/start", "--help")]
    [InlineData("bench/acme", "--help")]
    [InlineData("bench/soak", "--help")]
    [InlineData("bench/https", "--help")]
    [InlineData("bench/http3", "--help")]
    [InlineData("bench/proxy", "-h")]
    [InlineData("bench/arena", "--help")]
    public void Help_and_a_plan_install_and_build_nothing(string script, string flag)
    {
        Assert.SkipUnless(File.Exists("/usr/bin/python3"), "There is no python3.");
        string folder = Directory.CreateTempSubdirectory("millrace-scripts-").FullName;
        try
        {
            foreach (string tool in (string[])["bash", "env", "dirname", "sed", "mkdir", "grep", "cat", "nproc", "python3"])
            {
                File.CreateSymbolicLink(Path.Combine(folder, tool), Path.Combine("/usr/bin", tool));
            }

            foreach (string trap in (string[])["apt-get", "dotnet", "gcc", "make", "systemctl"])
            {
                string path = Path.Combine(folder, trap);
                File.WriteAllText(path, $"#!/usr/bin/env bash\necho \"$0 $*\" >>'{folder}/trapped'\nexit 1\n");
                File.SetUnixFileMode(path, UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute);
            }

            ProcessStartInfo start = new(Path.Combine(Repository.Root, script), [flag]) { RedirectStandardOutput = true };
            start.Environment["PATH"] = folder;
            using Process process = Process.Start(start)!;
            string output = process.StandardOutput.ReadToEnd();
            process.WaitForExit();

            Assert.Equal(0, process.ExitCode);
            Assert.Contains(flag == "--plan" ? "windows of" : Path.GetFileName(script), output, StringComparison.Ordinal);
            Assert.False(File.Exists(Path.Combine(folder, "trapped")), string.Join('\n', Directory.GetFiles(folder, "trapped").Select(File.ReadAllText)));
        }
        finally
        {
            Directory.Delete(folder, recursive: true);
        }
    }

    [Fact]
    public void What_workflows_run_exists()
    {
        string[] runs =
        [
            .. Repository.Files.Where(static file => file.Path.StartsWith(".github/workflows/", StringComparison.Ordinal))
                .SelectMany(static file => OwnPath().Matches(file.Text)).Select(static match => match.Value).Distinct(),
        ];

        Assert.Contains("./test", runs);
        Assert.All(runs, static path => Assert.True(Path.Exists(Path.Combine(Repository.Root, path)), $"{path} does not exist"));
    }

    /// <summary>Words of a command that are files or folders of this repository.</summary>
    [GeneratedRegex(@"(?<=[\s(])(?:\./[a-z]+|(?:deploy|src|samples)/[\w./-]+)", RegexOptions.Multiline)]
    private static partial Regex OwnPath();
}
