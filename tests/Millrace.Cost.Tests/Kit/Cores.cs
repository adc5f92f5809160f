using System.Diagnostics;
using System.Globalization;
using System.Numerics;
using System.Runtime.Versioning;

namespace Millrace.Cost.Tests.Kit;

/// <summary>The first of the cores that the run may use is the servers', the last one the load's.</summary>
[SupportedOSPlatform("linux")]
internal static class Cores
{
    private static readonly ulong Allowed = ReadAllowed();

    private static readonly string OfServer = BitOperations.TrailingZeroCount(Allowed).ToString(CultureInfo.InvariantCulture);

    private static readonly string OfLoad = BitOperations.Log2(Allowed).ToString(CultureInfo.InvariantCulture);

    public static string[] ForServer(params string[] command) => ["-c", OfServer, .. command];

    public static string[] ForLoad(params string[] command) => ["-c", OfLoad, .. command];

    private static ulong ReadAllowed()
    {
        using var self = Process.GetCurrentProcess();
        return (ulong)self.ProcessorAffinity;
    }
}
