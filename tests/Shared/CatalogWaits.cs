using System.Diagnostics;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.Tests.Shared;

/// <summary>Waits for a catalogue.</summary>
internal static class CatalogWaits
{
    /// <summary>
    /// Files that were written just before it was opened are looked at once more, and have their tags then: not in the middle of a test.
    /// </summary>
    public static async Task SettleAsync(this AssetCatalog catalog)
    {
        for (var watch = Stopwatch.StartNew(); catalog.Current.Unsettled.Count > 0; await Task.Delay(5))
        {
            Assert.True(watch.Elapsed < TimeSpan.FromSeconds(60), "The files do not settle.");
        }
    }
}
