using System.ComponentModel;
using System.Diagnostics;
using System.Runtime.Versioning;

namespace Millrace.Architecture.Tests;

/// <summary>The language of the benchmarks. Where it is missing, the test is skipped.</summary>
[SupportedOSPlatform("linux")]
internal static class Python
{
    /// <summary>What it wrote, in both ways.</summary>
    /// <param name="modules">Where it finds what is imported, from the repository's root.</param>
    /// <param name="arguments">Of the interpreter.</param>
    internal static string Said(string modules, params string[] arguments)
    {
        ProcessStartInfo start = new("python3", ["-B", .. arguments])
        {
            RedirectStandardError = true,
            RedirectStandardOutput = true,
        };
        start.Environment["PYTHONPATH"] = Path.Combine(Repository.Root, modules);
        using Process? process = Begun(start);
        Assert.SkipUnless(process is not null, "python3 is missing");
        string said = process.StandardOutput.ReadToEnd() + process.StandardError.ReadToEnd();
        process.WaitForExit();
        Assert.True(process.ExitCode == 0, said);
        return said;
    }

    private static Process? Begun(ProcessStartInfo start)
    {
        try
        {
            return Process.Start(start);
        }
        catch (Win32Exception)
        {
            return null;
        }
    }
}
