namespace Millrace.StaticFiles.Scanning;

/// <summary>The clock that file times are compared with.</summary>
internal static class WallClock
{
    /// <summary>Nanoseconds since 1970, in steps of 100.</summary>
    public static long NowNs => (DateTime.UtcNow - DateTime.UnixEpoch).Ticks * 100;
}
