using Millrace.Interop;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Scanning;

/// <summary>
/// Reports where a scan is when it takes long: otherwise a file system that hangs, or an unexpectedly large tree, would show no sign. One
/// scan at a time, on any thread; reports on the thread pool.
/// </summary>
internal sealed class ScanProgress : IDisposable
{
    public static readonly TimeSpan FirstReportAfter = TimeSpan.FromSeconds(2);

    public static readonly TimeSpan ReportInterval = TimeSpan.FromSeconds(10);

    private readonly TimeProvider _clock;
    private readonly Action<string, int, TimeSpan> _report;
    private readonly ITimer _timer;

    /// <summary>A revalidated site may be scanned for each request.</summary>
    private readonly LogRateLimiter _limiter = new((long)ReportInterval.TotalMilliseconds);
    private SitePath _path = SitePath.Root;
    private int _entryCount;
    private long _startedAt;

    /// <summary>A report has the path being read, the entries met so far, and the elapsed time.</summary>
    public ScanProgress(TimeProvider clock, Action<string, int, TimeSpan> report)
    {
        _clock = clock;
        _report = report;
        _timer = clock.CreateTimer(_ => Report(), null, Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
    }

    public void Begin()
    {
        Volatile.Write(ref _startedAt, _clock.GetTimestamp());
        _ = _timer.Change(FirstReportAfter, ReportInterval);
    }

    public void End() => _ = _timer.Change(Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);

    /// <summary>Sets the path about to be read. Without a fence: another thread may see it later.</summary>
    public void At(SitePath path, int entryCount)
    {
        At(path);
        _entryCount = entryCount;
    }

    /// <summary>Sets the path while files are loaded, after the directories were listed.</summary>
    public void At(SitePath path) => _path = path;

    public void Dispose() => _timer.Dispose();

    private void Report()
    {
        TimeSpan elapsed = _clock.GetElapsedTime(Volatile.Read(ref _startedAt));
        if (elapsed >= FirstReportAfter && _limiter.Admits((long)_clock.GetElapsedTime(0).TotalMilliseconds))
        {
            SitePath path = _path;
            _report(path.ToText(), _entryCount, elapsed);
        }
    }
}
