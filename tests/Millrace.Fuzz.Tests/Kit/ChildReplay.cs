using System.Diagnostics;

namespace Millrace.Fuzz.Tests.Kit;

/// <summary>How a child process took an input.</summary>
internal enum ChildExit
{
    Passed,
    Failed,
    Crashed,
}

/// <summary>Checks an input in a process of its own, so that one that ends the process can be looked into.</summary>
internal static class ChildReplay
{
    /// <summary>128 and a signal's number: SIGABRT, which the runtime raises after a fault, SIGSEGV, SIGBUS, SIGILL.</summary>
    private const int FirstSignalExit = 128;

    private static readonly TimeSpan Deadline = TimeSpan.FromSeconds(60);

    public static bool Fails(string target, byte[] input)
    {
        string path = Path.Combine(FuzzSettings.Folder, $"{target}-child.txt");
        File.WriteAllText(path, Escaped.Write(input));
        return Run(target, path) != ChildExit.Passed;
    }

    public static ChildExit Run(string target, string inputPath)
    {
        string[] arguments = ["-noLogo", "-noColor", "-method", "*.Known_inputs_are_read_as_the_model_reads_them"];
        var start = new ProcessStartInfo(Environment.ProcessPath!, arguments)
        {
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };
        start.Environment["MILLRACE_FUZZ_TARGET"] = target;
        start.Environment["MILLRACE_FUZZ_INPUT"] = inputPath;
        // A fault is expected: no dump of some hundred MB.
        start.Environment["DOTNET_DbgEnableMiniDump"] = "0";
        using Process child = Process.Start(start)!;
        Task<string> output = child.StandardOutput.ReadToEndAsync();
        Task<string> error = child.StandardError.ReadToEndAsync();
        if (!child.WaitForExit(Deadline))
        {
            child.Kill();
            throw new TimeoutException($"{target}: {output.Result}{error.Result}");
        }

        return child.ExitCode == 0 ? ChildExit.Passed : child.ExitCode >= FirstSignalExit ? ChildExit.Crashed : ChildExit.Failed;
    }
}
