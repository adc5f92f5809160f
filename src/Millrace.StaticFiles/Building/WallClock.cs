namespace Millrace.StaticFiles.Building;

/// <summary>The clock the times of files are compared with.</summary>
internal static class WallClock
{
    /// <summary>Nanoseconds since 1970, in steps of 100.</summary>
    public static long NowNs => (DateTime.UtcNow - DateTime.UnixEpoch).Ticks * 100;
}
