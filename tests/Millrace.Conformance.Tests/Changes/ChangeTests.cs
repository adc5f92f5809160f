using Millrace.Conformance.Tests.Kit;

namespace Millrace.Conformance.Tests.Changes;

/// <summary>What is on disk is what is served, soon; and every response is of one version, whole.</summary>
public class ChangeTests
{
    private static readonly byte[] Old = Content.Text("old", 3000);
    private static readonly byte[] New = Content.Text("new", 5000);
    private static readonly byte[] Alike = Content.Text("NEW", 3000);

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, 3, "A file that was renamed over another is served from then on.")]
    public async Task A_renamed_file_is_served(Site site)
    {
        string path = await AddAsync(site, "renamed");
        Site.Files.Replace(path, New);
        await Expect.SoonAsync(async () => (await site.GetAsync(path)).IsWhole(New));
    }

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, 5, "A file that was written over in place is served as it is now, with another entity-tag.")]
    public async Task A_file_written_over_is_served(Site site)
    {
        string path = await AddAsync(site, "written");
        string? tag = (await site.GetAsync(path)).Has("ETag").ETag;
        await File.WriteAllBytesAsync(Site.Files.PathOf(path), New);
        await Expect.SoonAsync(async () => (await site.GetAsync(path)).IsWhole(New));
        Expect.That((await site.GetAsync(path)).ETag != tag, "the ETag of the old content");
    }

    [Theory]
    [Behaviour("RFC 9110 8.8.1", 5, "Other content of the same size within the same second has another entity-tag.")]
    public async Task The_same_size_in_the_same_second_has_another_tag(Site site)
    {
        string path = await AddAsync(site, "same-size");
        DateTime second = Fixture.Modified.AddMilliseconds(100);
        File.SetLastWriteTimeUtc(Site.Files.PathOf(path), second);
        await Expect.SoonAsync(async () => (await site.GetAsync(path)).IsWhole(Old));
        string? tag = (await site.GetAsync(path)).Has("ETag").ETag;
        await File.WriteAllBytesAsync(Site.Files.PathOf(path), Alike);
        File.SetLastWriteTimeUtc(Site.Files.PathOf(path), second.AddMilliseconds(100));
        await Expect.SoonAsync(async () => (await site.GetAsync(path)).IsWhole(Alike));
        Expect.That((await site.GetAsync(path)).ETag != tag, "the ETag of the old content");
    }

    [Theory]
    [Behaviour(
        "RFC 9110 8.8.2.2", 18,
        "If-Range with the date of a file that was just written works as soon as that second is over.")]
    [Trait("Duration", "Full")]
    public async Task A_date_continues_a_download_once_its_second_is_over(Site site)
    {
        string path = await AddAsync(site, "rested");
        Site.Files.Replace(path, New);
        await Expect.SoonAsync(async () => (await site.GetAsync(path)).IsWhole(New));
        string date = (await site.GetAsync(path)).Has("Last-Modified")["Last-Modified"]!;
        await Expect.SoonAsync(async () => (await site.GetAsync(path, $"If-Range: {date}", "Range: bytes=5-9")).IsPart(New, 5, 9));
        (await site.GetAsync(path, "If-Range: Sat, 03 Feb 2024 04:05:06 GMT", "Range: bytes=5-9")).IsWhole(New);
    }

    [Theory]
    [Behaviour("RFC 9110 8.8.2.2", 18, "If two contents had the same date, If-Range with that date gets the whole file.")]
    public async Task A_date_that_two_contents_had_continues_nothing(Site site)
    {
        string path = await AddAsync(site, "twice");
        File.SetLastWriteTimeUtc(Site.Files.PathOf(path), Fixture.Modified.AddMilliseconds(100));
        await Expect.SoonAsync(async () => (await site.GetAsync(path)).IsWhole(Old));
        await File.WriteAllBytesAsync(Site.Files.PathOf(path), Alike);
        File.SetLastWriteTimeUtc(Site.Files.PathOf(path), Fixture.Modified.AddMilliseconds(200));
        string date = $"{Fixture.Modified:R}";
        await Expect.SoonAsync(async () => (await site.GetAsync(path)).Has("Last-Modified", date).IsWhole(Alike));
        (await site.GetAsync(path, $"If-Range: {date}", "Range: bytes=5-9")).IsWhole(Alike);
    }

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, 3, "A file of the same size and time that was renamed over another is served.")]
    public async Task A_renamed_file_of_the_same_size_and_time_is_served(Site site)
    {
        string path = await AddAsync(site, "same-time");
        string spare = Site.Files.PathOf(path) + ".new~";
        await File.WriteAllBytesAsync(spare, Alike);
        File.SetLastWriteTimeUtc(spare, Fixture.Modified);
        File.Move(spare, Site.Files.PathOf(path), overwrite: true);
        await Expect.SoonAsync(async () => (await site.GetAsync(path)).IsWhole(Alike));
    }

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, 4, "A file that was deleted is not found from then on.")]
    public async Task A_deleted_file_is_404(Site site)
    {
        string path = await AddAsync(site, "deleted");
        File.Delete(Site.Files.PathOf(path));
        await Expect.SoonAsync(async () => (await site.GetAsync(path)).Is(404));
    }

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, 4, "A file that is new is found from then on, also below new directories.")]
    public async Task A_new_file_is_served(Site site)
    {
        string folder = Site.Files.AddScratch(Unique(site, "new"));
        string[] paths = [$"{folder}file.txt", $"{folder}a/b/c/file.txt"];
        foreach (string path in paths)
        {
            (await site.GetAsync(path)).Is(404);
            Site.Files.Add(path, New);
            await Expect.SoonAsync(async () => (await site.GetAsync(path)).IsWhole(New));
        }
    }

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, 4, "A directory that was renamed is found by its new name, and not by its old one.")]
    public async Task A_renamed_directory_is_served(Site site)
    {
        string folder = Site.Files.AddScratch(Unique(site, "directory"));
        Site.Files.Add($"{folder}old/file.txt", Old);
        await Expect.SoonAsync(async () => (await site.GetAsync($"{folder}old/file.txt")).IsWhole(Old));
        Directory.Move(Site.Files.PathOf($"{folder}old"), Site.Files.PathOf($"{folder}new"));
        await Expect.SoonAsync(async () => (await site.GetAsync($"{folder}new/file.txt")).IsWhole(Old));
        await Expect.SoonAsync(async () => (await site.GetAsync($"{folder}old/file.txt")).Is(404));
    }

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, 7, "A symlink that was switched to a new release leads there.")]
    public async Task A_swapped_symlink_is_followed(Site site)
    {
        string folder = Site.Files.AddScratch(Unique(site, "release"));
        Site.Files.Add($"{folder}one/file.txt", Old);
        Site.Files.Add($"{folder}two/file.txt", New);
        string link = Site.Files.PathOf($"{folder}current");
        File.CreateSymbolicLink(link, "one");
        await Expect.SoonAsync(async () => (await site.GetAsync($"{folder}current/file.txt")).IsWhole(Old));
        File.CreateSymbolicLink(link + "~", "two");
        Unix.Rename(link + "~", link);
        await Expect.SoonAsync(async () => (await site.GetAsync($"{folder}current/file.txt")).IsWhole(New));
    }

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, 14, "A file that becomes a symlink out of the root is not served.")]
    public async Task A_file_that_becomes_a_way_out_is_404(Site site)
    {
        string path = await AddAsync(site, "way-out");
        string full = Site.Files.PathOf(path);
        File.Delete(full);
        File.CreateSymbolicLink(full, Path.Combine(Site.Files.Root, "..", "outside", "secret.txt"));
        await Expect.SoonAsync(async () => (await site.GetAsync(path)).Is(403, 404));
    }

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, 10, "A file that becomes a FIFO is not found, and no request waits for its writer.")]
    public async Task A_file_that_becomes_a_fifo_is_404(Site site)
    {
        string path = await AddAsync(site, "fifo");
        File.Delete(Site.Files.PathOf(path));
        Unix.MakeFifo(Site.Files.PathOf(path));
        await Expect.SoonAsync(async () => (await site.GetAsync(path)).Is(403, 404));
    }

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, 6, "A new sibling is served until its file changes.")]
    public async Task A_new_sibling_is_served(Site site)
    {
        string path = await AddAsync(site, "sibling.js");
        byte[] gzip = Content.Gzip(Old);
        Site.Files.Add(path + ".gz", gzip);
        await Expect.SoonAsync(async () => (await site.GetAsync(path, "Accept-Encoding: gzip")).IsCoded("gzip", Old));
        Site.Files.Replace(path, New);
        await Expect.SoonAsync(async () =>
        {
            Response response = (await site.GetAsync(path, "Accept-Encoding: gzip")).Is(200);
            Expect.That(!response.Body.AsSpan().SequenceEqual(gzip), "the old sibling");
        });
    }

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, 6, "A sibling that was deleted is not served from then on.")]
    public async Task A_deleted_sibling_is_not_served(Site site)
    {
        string path = await AddAsync(site, "lost-sibling.bin");
        Site.Files.Add(path + ".gz", Content.Gzip(Old));
        await Expect.SoonAsync(async () => (await site.GetAsync(path, "Accept-Encoding: gzip")).Is(200));
        File.Delete(Site.Files.PathOf(path + ".gz"));
        await Expect.SoonAsync(async () => (await site.GetAsync(path, "Accept-Encoding: gzip")).IsPlain(Old));
    }

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, 4, "An index page that is new is served, and one that was deleted is not.")]
    public async Task A_new_index_is_served(Site site)
    {
        string folder = Site.Files.AddScratch(Unique(site, "index"));
        Site.Files.Add($"{folder}file.txt", Old);
        await Expect.SoonAsync(async () => (await site.GetAsync(folder)).Is(403, 404));
        Site.Files.Add($"{folder}index.html", New);
        await Expect.SoonAsync(async () => (await site.GetAsync(folder)).IsWhole(New));
        File.Delete(Site.Files.PathOf($"{folder}index.html"));
        await Expect.SoonAsync(async () => (await site.GetAsync(folder)).Is(403, 404));
    }

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, 4, "A file that becomes a directory is served as one, and vice versa.")]
    public async Task A_file_that_becomes_a_directory_is_one(Site site)
    {
        string path = await AddAsync(site, "turning");
        File.Delete(Site.Files.PathOf(path));
        Site.Files.Add($"{path}/index.html", New);
        await Expect.SoonAsync(async () => (await site.GetAsync(path + "/")).IsWhole(New));
        (await site.GetAsync(path)).Is(301, 308);
        Directory.Delete(Site.Files.PathOf(path), recursive: true);
        Site.Files.Add(path, Old);
        await Expect.SoonAsync(async () => (await site.GetAsync(path)).IsWhole(Old));
    }

    [Theory]
    [Behaviour("RFC 9110 8.8.1", 3, "While a file is replaced again and again, every response is one version with its own entity-tag.")]
    public async Task Every_response_is_one_version(Site site)
    {
        string path = await AddAsync(site, "again-and-again");
        byte[][] versions = [.. Enumerable.Range(0, 40).Select(static number => Content.Text($"version {number}", 2000 + (number * 50)))];
        Dictionary<string, byte[]> seen = new(StringComparer.Ordinal);
        using Wire wire = await site.ConnectAsync();
        foreach (byte[] version in versions)
        {
            Site.Files.Replace(path, version);
            for (int request = 0; request < 5; request++)
            {
                Response response = (await wire.GetAsync(path)).Is(200).Has("ETag");
                bool isVersion = versions.Append(Old).Any(one => one.AsSpan().SequenceEqual(response.Body));
                Expect.That(isVersion, $"{response.Body.Length} bytes that are no version");
                byte[] before = seen.GetValueOrDefault(response.ETag!, response.Body);
                Expect.That(before.AsSpan().SequenceEqual(response.Body), "one ETag for two versions");
                seen[response.ETag!] = response.Body;
            }
        }

        await Expect.SoonAsync(async () => (await site.GetAsync(path)).IsWhole(versions[^1]));
    }

    internal static async Task<string> AddAsync(Site site, string name)
    {
        string path = $"{Site.Files.AddScratch(Unique(site, name))}{name}";
        Site.Files.Add(path, Old);
        await Expect.SoonAsync(async () => (await site.GetAsync(path)).IsWhole(Old));
        return path;
    }

    /// <summary>Each front has its own folder: a change for one is a change under the other's eyes.</summary>
    internal static string Unique(Site site, string name) => $"{name}-{site.Front.Replace(':', '-')}";
}
