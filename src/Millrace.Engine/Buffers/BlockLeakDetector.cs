using System.Collections.Concurrent;
using System.Diagnostics;

namespace Millrace.Engine.Buffers;

/// <summary>
/// Tracks lent blocks in Debug builds: one that is never returned is reported with the stack trace of its borrower, and a double return
/// fails at once. Does nothing in Release builds.
/// </summary>
internal sealed class BlockLeakDetector(string kind)
{
    private readonly Dictionary<nint, StackTrace> _borrowers = [];

    /// <summary>Reports of all detectors since the start; the tests assert that there are none.</summary>
    public static ConcurrentQueue<string> Reports { get; } = new();

    [Conditional("DEBUG")]
    public void Lend(nint identity)
    {
        bool added = _borrowers.TryAdd(identity, new StackTrace(skipFrames: 2, fNeedFileInfo: false));
        Debug.Assert(added, $"A {kind} was lent twice.");
    }

    [Conditional("DEBUG")]
    public void TakeBack(nint identity)
    {
        bool removed = _borrowers.Remove(identity);
        Debug.Assert(removed, $"A {kind} was returned that is not lent.");
    }

    [Conditional("DEBUG")]
    public void ReportOutstanding()
    {
        foreach (StackTrace borrower in _borrowers.Values)
        {
            Reports.Enqueue($"A {kind} was not returned. It was taken here:{Environment.NewLine}{borrower}");
        }
    }
}
