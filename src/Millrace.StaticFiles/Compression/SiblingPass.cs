using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Compression;

/// <summary>
/// Proves the coded files of a site, each once, smallest first: see <see cref="SiblingProof"/>. Those that must not be sent are reported,
/// each name once, after their files have stayed as they are for a while: a file that is being written is not complete yet. An unexpected
/// error is reported; it is about one file. One thread.
/// </summary>
internal sealed class SiblingPass(
    AssetCatalog catalog, TimeProvider clock, Action<IReadOnlyList<Sibling>> refused, Action<Exception> failed)
{
    /// <summary>Larger files are decoded after everything else, as they take longer.</summary>
    public const long SmallBytesMax = BodyCoder.BytesMax;

    /// <summary>The names that are remembered, and so the lines that are logged between two starts.</summary>
    private const int ReportedMax = 10_000;

    /// <summary>So long a writer may pause between two writes without a report.</summary>
    public static readonly TimeSpan ReportAfter = TimeSpan.FromSeconds(2);

    private static readonly TimeSpan Tick = TimeSpan.FromMilliseconds(1);

    /// <summary>Decoding takes little: a file that was changed once more is soon decoded again.</summary>
    private static readonly TimeSpan PauseMin = TimeSpan.FromMilliseconds(20);

    private readonly ChangeBackoff _backoff = new(clock, PauseMin);
    private readonly HashSet<SitePath> _reported = [];
    private List<(Sibling Sibling, long SinceAt)> _unreported = [];

    /// <summary>The time until the next pass has something to do without a change of the site; null for none.</summary>
    public TimeSpan? NextDue => _backoff.NextDue;

    /// <summary>Proves what is not larger than a limit, and reports what is due.</summary>
    public void RunSmall(CancellationToken stop)
    {
        _backoff.Begin();
        foreach ((Asset original, Sibling sibling) in Undecided(isLarge: false))
        {
            TryDecide(original, sibling, stop);
        }

        Report();
    }

    /// <summary>Proves the others, until the site changes: then smaller ones may come first.</summary>
    public void RunLarge(CancellationToken stop)
    {
        CatalogSnapshot snapshot = catalog.Current;
        foreach ((Asset original, Sibling sibling) in Undecided(isLarge: true).TakeWhile(_ => catalog.Current == snapshot))
        {
            TryDecide(original, sibling, stop);
        }
    }

    private (Asset Original, Sibling Sibling)[] Undecided(bool isLarge)
    {
        CatalogSnapshot snapshot = catalog.Acquire();
        try
        {
            return
            [
                .. snapshot.AllSiblings()
                    .Where(one => one.Sibling.Verdict == SiblingVerdict.Undecided && one.Original.Size > SmallBytesMax == isLarge)
                    .OrderBy(static one => one.Original.Size).ThenBy(static one => one.Sibling.File.SitePath, SitePath.ByBytes),
            ];
        }
        finally
        {
            snapshot.Release();
        }
    }

    private void TryDecide(Asset original, Sibling sibling, CancellationToken stop)
    {
        try
        {
            Decide(original, sibling, stop);
        }
#pragma warning disable CA1031 // It is reported; the file is tried again in the next pass.
        catch (Exception error)
#pragma warning restore CA1031
        {
            failed(error);
        }
    }

    private void Decide(Asset original, Sibling sibling, CancellationToken stop)
    {
        SitePath path = sibling.File.SitePath;
        if (stop.IsCancellationRequested || original.IsRetired || !_backoff.IsDue(path, sibling))
        {
            return;
        }

        TimeSpan settlesAfter = SiblingProof.SettlesAfter(original, sibling);
        if (settlesAfter >= TimeSpan.Zero)
        {
            // Also a change time in the future, of a clock that was set back, passes some day.
            _backoff.WaitFor(settlesAfter < ReportAfter ? settlesAfter + Tick : ReportAfter);
            return;
        }

        long beganAt = clock.GetTimestamp();
        SiblingVerdict verdict = SiblingProof.Of(catalog, original, sibling, stop);
        _backoff.Spent(path, sibling, clock.GetElapsedTime(beganAt));
        if (verdict == SiblingVerdict.Undecided || !catalog.Decide(original, sibling, verdict))
        {
            return;
        }

        if (verdict == SiblingVerdict.Proven)
        {
            _reported.Remove(path);
        }
        else
        {
            _unreported.Add((sibling, clock.GetTimestamp()));
        }
    }

    private void Report()
    {
        var due = new List<Sibling>();
        var waiting = new List<(Sibling Sibling, long SinceAt)>();
        foreach ((Sibling sibling, long sinceAt) in _unreported)
        {
            TimeSpan wait = ReportAfter - clock.GetElapsedTime(sinceAt);
            if (wait > TimeSpan.Zero && IsCurrent(sibling))
            {
                waiting.Add((sibling, sinceAt));
                _backoff.WaitFor(wait);
            }
            else if (IsCurrent(sibling) && _reported.Count < ReportedMax && _reported.Add(sibling.File.SitePath))
            {
                due.Add(sibling);
            }
        }

        _unreported = waiting;
        if (due.Count > 0)
        {
            refused(due);
        }
    }

    private static bool IsCurrent(Sibling sibling) => sibling.Variant.Original is { IsRetired: false };
}
