using System.Globalization;
using System.Runtime.Versioning;
using System.Text.RegularExpressions;
using Millrace.Server.Tests.Kit;

namespace Millrace.Cost.Tests.Kit;

/// <summary>A server under wrk, and what a request costs it.</summary>
/// <remarks>
/// The cost is the processor time of the server's process. A shared machine's core holds the work of others, too, which is gone in the next
/// window; to the process is charged what it did, and over loopback the kernel delivers what was sent within the call that sends it.
/// </remarks>
[SupportedOSPlatform("linux")]
internal sealed partial class Pressure(ServerProcess server, Uri url)
{
    private const int Connections = 64;

    /// <summary>Windows whose costs are as near as this ran the same code, as far as a shared machine can tell.</summary>
    private const double AgreeingShareMax = 0.06;

    /// <summary>Of a window. The compiler's threads belong to the process, and rest once there is nothing left that is hot.</summary>
    private const double CompilingShareMax = 0.02;

    private const int WarmUpWindowsMax = 12;

    private static readonly TimeSpan Deadline = TimeSpan.FromSeconds(60);

    /// <summary>Presses until what is hot was compiled and two windows agree, as they do before the compiler begins, too.</summary>
    public async Task WarmUpAsync()
    {
        double previous = double.PositiveInfinity;
        bool hasCompiled = false;
        for (int i = 0; i < WarmUpWindowsMax; i++)
        {
            TimeSpan before = CompilerTime();
            double cost = await MeasureAsync();
            double compiledS = (CompilerTime() - before).TotalSeconds;
            bool isSettled = hasCompiled && compiledS < CompilingShareMax;
            if (isSettled && Math.Abs(cost - previous) < AgreeingShareMax * previous)
            {
                return;
            }

            hasCompiled |= compiledS >= CompilingShareMax;
            previous = isSettled ? cost : double.PositiveInfinity;
        }
    }

    /// <summary>Presses for a second; microseconds of the server's processor time for each request that was answered.</summary>
    public async Task<double> MeasureAsync()
    {
        TimeSpan before = server.ProcessorTime;
        string report = await Tool.RunToSuccessAsync(
            Deadline, "taskset", Cores.ForLoad("wrk", "-t1", $"-c{Connections}", "-d1s", "--timeout", "10s", url.ToString()));
        TimeSpan worked = server.ProcessorTime - before;

        Assert.DoesNotContain("Socket errors", report, StringComparison.Ordinal);
        Assert.DoesNotContain("Non-2xx", report, StringComparison.Ordinal);
        return worked.TotalMicroseconds / int.Parse(Requests().Match(report).Groups["count"].Value, CultureInfo.InvariantCulture);
    }

    private TimeSpan CompilerTime() => TimeSpan.FromMicroseconds(ServerThreads.Of(server)
        .Where(static thread => thread.Name.StartsWith(".NET Tiered", StringComparison.Ordinal))
        .Sum(static thread => thread.RanNs / 1000.0));

    [GeneratedRegex(@"(?<count>\d+) requests in ")]
    private static partial Regex Requests();
}
