using System.Collections.Concurrent;
using System.Diagnostics;

namespace Millrace.Engine.Buffers;

/// <summary>
/// In Debug builds, who took what: a loan that was never returned is reported with the stack that took it, and one returned
/// twice is caught at once. In Release builds nothing at all.
/// </summary>
internal sealed class LoanLedger(string thing)
{
    private readonly Dictionary<nint, StackTrace> _borrowers = [];

    /// <summary>Reports of all ledgers since the start; the tests demand that it is empty at their end.</summary>
    public static ConcurrentQueue<string> Reports { get; } = new();

    [Conditional("DEBUG")]
    public void Lend(nint identity)
    {
        bool added = _borrowers.TryAdd(identity, new StackTrace(skipFrames: 2, fNeedFileInfo: false));
        Debug.Assert(added, $"A {thing} was lent twice.");
    }

    [Conditional("DEBUG")]
    public void TakeBack(nint identity)
    {
        bool removed = _borrowers.Remove(identity);
        Debug.Assert(removed, $"A {thing} was returned that nobody holds.");
    }

    [Conditional("DEBUG")]
    public void ReportOutstanding()
    {
        foreach (StackTrace borrower in _borrowers.Values)
        {
            Reports.Enqueue($"A {thing} was not returned. It was taken here:{Environment.NewLine}{borrower}");
        }
    }
}
