using System.Text;
using Microsoft.Extensions.Logging.Abstractions;
using Millrace.StaticFiles.Catalog;
using Millrace.StaticFiles.Tests.Kit;

namespace Millrace.StaticFiles.Tests.Watching;

/// <summary>A file that was seen within milliseconds of its last change has a weak tag, but not for long.</summary>
public class SettlingTests
{
    [Fact]
    public async Task A_large_file_just_written_has_a_strong_tag_soon()
    {
        using var files = new TempSite();
        files.File("index.html", "x");
        using Site site = Site.Open(files.Options, NullLoggerFactory.Instance);
        var isStrong = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        site.Catalog.Changed += () =>
        {
            if (TagOf(site.Catalog, "/large.bin") is ['"', ..])
            {
                isStrong.TrySetResult();
            }
        };

        files.File("large.bin", new byte[1_000_000]);

        await isStrong.Task.WaitAsync(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken);
    }

    [Fact]
    public void A_large_file_just_written_has_a_weak_tag_and_its_directory_is_worth_another_look()
    {
        using var files = new TempSite();
        string path = files.File("dir/large.bin", new byte[1_000_000]);
        File.SetLastWriteTimeUtc(path, DateTime.UtcNow.AddMinutes(10));
        using AssetCatalog catalog = AssetCatalog.Open(files.Options);

        Assert.StartsWith("W/", TagOf(catalog, "/dir/large.bin"), StringComparison.Ordinal);
        DirectoryChange unsettled = Assert.Single(catalog.Current.Unsettled);
        Assert.Equal("/dir", Encoding.UTF8.GetString(unsettled.Path));
        Assert.Equal("large.bin", Encoding.UTF8.GetString(Assert.Single(unsettled.Names!)));
    }

    private static string TagOf(AssetCatalog catalog, string path)
    {
        CatalogSnapshot snapshot = catalog.Adopt();
        try
        {
            return snapshot.TryFind(Encoding.UTF8.GetBytes(path), out Asset? asset, out _) == PathMatch.Asset
                ? Encoding.ASCII.GetString(asset!.EntityTag)
                : "";
        }
        finally
        {
            snapshot.Release();
        }
    }
}
