using Millrace.StaticFiles.Building;
using Millrace.StaticFiles.Rules;

namespace Millrace.StaticFiles.Catalog;

/// <summary>What a snapshot consists of, and the next one is made of.</summary>
/// <param name="Root">Open as long as a snapshot has it.</param>
/// <param name="Table">Its directories.</param>
/// <param name="Rules">Compiled from the options and the site's own files.</param>
/// <param name="RuleFiles">The states of those files; null where the site is to bring none.</param>
/// <param name="Skipped">What is not served.</param>
/// <param name="Totals">What the table adds up to.</param>
internal sealed record SnapshotContent(
    RootDirectory Root, DirectoryTable Table, SiteRules Rules, RuleFileStates? RuleFiles, SkippedLog Skipped, SnapshotTotals Totals)
{
    /// <summary>The names that answer for a directory, the first that exists.</summary>
    public required IReadOnlyList<byte[]> IndexNames { get; init; }

    /// <summary>
    /// The files, of the directories listed for it, that were looked at so soon after their last change that their tags are weak: worth
    /// another look.
    /// </summary>
    public IReadOnlyList<DirectoryChange> Unsettled { get; init; } = [];
}
