using System.Diagnostics;
using System.Globalization;
using System.Text.RegularExpressions;
using Millrace.AspNetCore.Tests.Kit;

namespace Millrace.AspNetCore.Tests.Safety.Kit;

/// <summary>What a server does under wrk's load: requests a second, and the latency that half of them do not exceed.</summary>
internal readonly record struct Wrk(double RequestsPerSecond, double MedianMs)
{
    public static void Require() => Assert.SkipUnless(File.Exists("/usr/bin/wrk"), "wrk is not installed");

    public static async Task<Wrk> RunAsync(Uri url, int connections, int seconds)
    {
        var start = new ProcessStartInfo("/usr/bin/wrk", [
            "-t1", "-c", connections.ToString(CultureInfo.InvariantCulture), "-d", $"{seconds}s", "--timeout", "20s", "--latency", url.ToString(),
        ])
        { RedirectStandardOutput = true };
        using Process wrk = Process.Start(start)!;
        string output = await wrk.StandardOutput.ReadToEndAsync().Within();
        await wrk.WaitForExitAsync().Within();
        Assert.True(wrk.ExitCode == 0, output);
        Assert.DoesNotContain("Non-2xx", output, StringComparison.Ordinal);
        Match median = Regex.Match(output, @"50%\s+([0-9.]+)(us|ms|s)\b");
        Match rate = Regex.Match(output, @"Requests/sec:\s+([0-9.]+)");
        Assert.True(median.Success && rate.Success, output);
        double unit = median.Groups[2].Value switch { "us" => 0.001, "ms" => 1, _ => 1000 };
        return new Wrk(Number(rate), Number(median) * unit);
    }

    private static double Number(Match match) => double.Parse(match.Groups[1].Value, CultureInfo.InvariantCulture);
}
