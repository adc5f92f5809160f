using System.Diagnostics;

namespace Millrace.Tests.Shared;

/// <summary>
/// OpenSSL 3.5 or later, which has X25519MLKEM768: its libraries and program in the folder <c>artifacts/openssl</c> of the repository,
/// built there the first time.
/// </summary>
internal static class NewerOpenSsl
{
    private static readonly TimeSpan Deadline = TimeSpan.FromMinutes(30);

    /// <summary>What a process needs to use it. Skips the test where it cannot be had.</summary>
    public static async Task<IReadOnlyList<(string Name, string Value)>> RequireAsync()
    {
        string root = RootOf(AppContext.BaseDirectory);
        string folder = Path.Combine(root, "artifacts", "openssl");
        var start = new ProcessStartInfo(Path.Combine(root, "tests", "Shared", "build-openssl"), [folder])
        {
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };
        using Process process = Process.Start(start)!;
        Task<string> output = process.StandardOutput.ReadToEndAsync();
        Task<string> error = process.StandardError.ReadToEndAsync();
        await Task.WhenAll(output, error, process.WaitForExitAsync()).WaitAsync(Deadline);
        Assert.SkipUnless(process.ExitCode == 0, $"OpenSSL 3.5 cannot be built here: {LastLineOf(await error)}");
        return [("LD_LIBRARY_PATH", folder), ("PATH", $"{folder}:{Environment.GetEnvironmentVariable("PATH")}")];
    }

    private static string RootOf(string folder) =>
        File.Exists(Path.Combine(folder, "Millrace.slnx")) ? folder : RootOf(Path.GetDirectoryName(folder)!);

    private static string LastLineOf(string text) => text.TrimEnd().Split('\n')[^1];
}
