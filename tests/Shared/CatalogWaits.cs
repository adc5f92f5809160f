using System.Diagnostics;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.Tests.Shared;

/// <summary>Waits for a catalogue.</summary>
internal static class CatalogWaits
{
    /// <summary>
    /// Files that were written just before it was opened are looked at once more, and have their tags then, and coded files are decoded: not
    /// in the middle of a test.
    /// </summary>
    public static async Task SettleAsync(this AssetCatalog catalog)
    {
        for (var watch = Stopwatch.StartNew(); !IsSettled(catalog.Current); await Task.Delay(5))
        {
            Assert.True(watch.Elapsed < TimeSpan.FromSeconds(60), "The files do not settle.");
        }
    }

    private static bool IsSettled(CatalogSnapshot snapshot) =>
        snapshot.Unsettled.Count == 0
        && snapshot.AllSiblings().All(static one => one.Sibling.Verdict != SiblingVerdict.Undecided);
}
