using System.Diagnostics;
using System.Runtime.Versioning;

namespace Millrace.Architecture.Tests;

[SupportedOSPlatform("linux")]
public class ScriptTests
{
    [Theory]
    [InlineData("run")]
    [InlineData("test")]
    [InlineData(".ci/run")]
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
}
