using System.Diagnostics;
using System.Globalization;
using System.Runtime.InteropServices;
using System.Runtime.Versioning;
using Millrace.Server.Tests.Kit;

namespace Millrace.Cost.Tests.Kit;

/// <summary>Which system calls a thread makes while something is done to it, counted by strace.</summary>
[SupportedOSPlatform("linux")]
internal static class CallCount
{
    private static readonly TimeSpan Deadline = TimeSpan.FromSeconds(60);

    public static async Task<IReadOnlyDictionary<string, int>> OfAsync(ServerThread thread, Action act)
    {
        string summary = Path.Combine(Places.Artifacts, "calls.txt");
        using Process strace = Process.Start(new ProcessStartInfo(
            "strace", ["-qq", "-c", "-U", "name,calls", "-o", summary, "-p", thread.Id.ToString(CultureInfo.InvariantCulture)]))!;
        try
        {
            await AwaitTracerAsync(thread, strace);
            act();
        }
        finally
        {
            _ = ServerProcess.Send(strace.Id, PosixSignal.SIGINT);
            await strace.WaitForExitAsync().WaitAsync(Deadline);
        }

        return Read(summary);
    }

    private static async Task AwaitTracerAsync(ServerThread thread, Process strace)
    {
        long startedAt = Stopwatch.GetTimestamp();
        while (!thread.IsTraced)
        {
            Assert.False(strace.HasExited, "strace may not trace the server.");
            Assert.True(Stopwatch.GetElapsedTime(startedAt) < Deadline, "strace traces nothing.");
            await Task.Delay(5);
        }
    }

    /// <summary>Lines of a name and a count, between rules and beneath a heading; their sum comes last.</summary>
    private static Dictionary<string, int> Read(string summary) => File.ReadLines(summary)
        .Select(static line => line.Split(' ', StringSplitOptions.RemoveEmptyEntries))
        .Where(static words => words.Length == 2 && words[0] != "total" && int.TryParse(words[1], out _))
        .ToDictionary(static words => words[0], static words => int.Parse(words[1], CultureInfo.InvariantCulture));
}
