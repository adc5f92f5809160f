using Millrace.Server.Tests.Kit;

namespace Millrace.AspNetCore.Tests.Kit;

/// <summary>The programs under samples, which are built along with this suite.</summary>
internal static class SampleProgram
{
    public static string Of(string sample)
    {
        // The same configuration and framework as this suite's.
        var output = new DirectoryInfo(AppContext.BaseDirectory.TrimEnd(Path.DirectorySeparatorChar));
        return Path.Combine(Places.Repository, "samples", sample, "bin", output.Parent!.Name, output.Name, sample);
    }
}
