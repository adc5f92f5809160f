namespace Millrace.StaticFiles.Catalog;

/// <summary>What a snapshot skipped, for people: the first hundred (a log, not a second catalogue). Immutable.</summary>
internal sealed class SkippedLog
{
    public const int KeptMax = 100;

    public static readonly SkippedLog Empty = new([]);

    private readonly (SitePath Directory, SkippedEntry Entry)[] _kept;

    private SkippedLog((SitePath Directory, SkippedEntry Entry)[] kept)
    {
        _kept = kept;
        Entries = [.. kept.Select(item => item.Entry)];
    }

    public IReadOnlyList<SkippedEntry> Entries { get; }

    /// <summary>The log without what was noted in some directories, and with what was noted since.</summary>
    public SkippedLog With(IReadOnlyCollection<(SitePath Directory, SkippedEntry Entry)> noted, Func<SitePath, bool> isOutdated) =>
        new([.. _kept.Where(item => !isOutdated(item.Directory)).Concat(noted).Take(KeptMax)]);
}
