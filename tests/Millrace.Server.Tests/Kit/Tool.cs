using System.Diagnostics;

namespace Millrace.Server.Tests.Kit;

/// <summary>What a program that was run to its end said.</summary>
internal sealed record ToolResult(int ExitCode, string Output, string Error)
{
    /// <summary>The server ended at once, and said why in one line, with each of these words.</summary>
    public void AssertRefused(int exitCode, params IEnumerable<string> words)
    {
        Assert.Equal("", Output);
        Assert.StartsWith("millrace: ", Error, StringComparison.Ordinal);
        Assert.Equal(Error.Length - 1, Error.IndexOf('\n', StringComparison.Ordinal));
        Assert.All(words, word => Assert.Contains(word, Error, StringComparison.Ordinal));
        Assert.Equal(exitCode, ExitCode);
    }
}

/// <summary>Other people's programs, run with a deadline.</summary>
internal static class Tool
{
    private static readonly TimeSpan Deadline = TimeSpan.FromSeconds(60);

    /// <summary>Skips the test where a program is missing.</summary>
    public static void Require(string name) => Assert.SkipUnless(
        Environment.GetEnvironmentVariable("PATH")!.Split(':').Any(folder => File.Exists(Path.Combine(folder, name))), $"{name} is not installed.");

    /// <summary>Removes the variable that configures the run's backend, which the server would read too: tests pass flags instead.</summary>
    public static ProcessStartInfo WithoutBackend(ProcessStartInfo start)
    {
        start.Environment.Remove("MILLRACE_BACKEND");
        return start;
    }

    public static Task<ToolResult> RunAsync(string name, params string[] arguments) => RunAsync(Deadline, name, arguments);

    public static async Task<ToolResult> RunAsync(TimeSpan deadline, string name, params string[] arguments)
    {
        using Process process = Process.Start(WithoutBackend(new ProcessStartInfo(name, arguments)
        {
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        }))!;
        process.StandardInput.Close();
        Task<string> output = process.StandardOutput.ReadToEndAsync();
        Task<string> error = process.StandardError.ReadToEndAsync();
        try
        {
            await Task.WhenAll(output, error, process.WaitForExitAsync()).WaitAsync(deadline);
        }
        catch (TimeoutException)
        {
            process.Kill(entireProcessTree: true);
            throw;
        }

        return new ToolResult(process.ExitCode, await output, await error);
    }

    /// <summary>Runs it and demands that it succeeds.</summary>
    public static async Task<string> RunToSuccessAsync(TimeSpan deadline, string name, params string[] arguments)
    {
        ToolResult result = await RunAsync(deadline, name, arguments);
        Assert.True(result.ExitCode == 0, $"{name} {string.Join(' ', arguments)} ended with {result.ExitCode}:\n{result.Output}{result.Error}");
        return result.Output;
    }
}
