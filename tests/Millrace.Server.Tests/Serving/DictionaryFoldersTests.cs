using Millrace.Server.Configuration;
using Millrace.Server.Serving;
using Millrace.Server.Tests.Kit;
using Millrace.StaticFiles;

namespace Millrace.Server.Tests.Serving;

/// <summary>Which folder a site keeps its dictionaries in, and which are refused.</summary>
public sealed class DictionaryFoldersTests : IDisposable
{
    private readonly TempFolder _folder = new();

    public void Dispose() => _folder.Dispose();

    [Fact]
    public void Programs_of_one_user_have_folders_of_their_own_and_the_same_after_a_restart()
    {
        var shared = new DictionaryFolders("/data/u/dictionaries", isShared: true);
        string[] folders =
        [
            FolderOf(shared, "", "/srv/a"), FolderOf(shared, "", "/srv/b"), FolderOf(shared, "h.example", "/srv/a"),
            FolderOf(shared, "h.example", "/srv/b"),
        ];
        Assert.Equal(folders.Length, folders.Distinct().Count());
        Assert.All(folders[..2], static one => Assert.Matches("^/data/u/dictionaries/_main-[0-9a-f]{16}$", one));
        Assert.All(folders[2..], static one => Assert.Matches("^/data/u/dictionaries/h.example-[0-9a-f]{16}$", one));
        Assert.Equal(folders[0], FolderOf(new DictionaryFolders("/data/u/dictionaries", isShared: true), "", "/srv/x/../a/"));
    }

    [Fact]
    public void A_folder_that_is_one_programs_own_has_the_names_of_the_hosts()
    {
        var own = new DictionaryFolders("/var/lib/millrace/dictionaries", isShared: false);
        Assert.Equal("/var/lib/millrace/dictionaries/_main", FolderOf(own, "", "/srv/a"));
        Assert.Equal("/var/lib/millrace/dictionaries/_.a.example", FolderOf(own, "*.a.example", "/srv/b"));
        var shared = new DictionaryFolders("/data/u/dictionaries", isShared: true);
        Assert.Equal("/kept/_main", shared.Resolve(Site("", "/srv/a") with { Site = Options("/srv/a") with { DictionaryDirectory = "/kept" } }).DictionaryDirectory);
        Assert.Null(new DictionaryFolders(null, isShared: true).Resolve(Site("", "/srv/a")).DictionaryDirectory);
        Assert.Null(own.Resolve(new HostedSite("", new SiteOptions { Root = "/srv/a" })).DictionaryDirectory);
    }

    [Fact]
    public void A_folder_in_any_root_is_refused_whatever_links_lead_there()
    {
        string[] roots = [_folder.PathOf("a"), _folder.PathOf("b")];
        Array.ForEach(roots, static root => Directory.CreateDirectory(root));
        Directory.CreateSymbolicLink(_folder.PathOf("link"), _folder.PathOf("b"));
        Directory.CreateSymbolicLink(_folder.PathOf("other"), _folder.PathOf("a"));
        foreach ((string folder, bool isRefused) in ((string, bool)[])[
            (_folder.PathOf("a/kept"), true), (_folder.PathOf("b"), true), (_folder.PathOf("b/x/y"), true),
            (_folder.PathOf("link/kept"), true), (_folder.PathOf("other"), true), (_folder.PathOf("kept"), false),
            (_folder.PathOf("bb"), false), (_folder.PathOf("link2/../kept"), false)])
        {
            HostedSite[] sites =
            [
                new("", Options(roots[0]) with { DictionaryDirectory = folder }),
                new("b.example", new SiteOptions { Root = roots[1] }),
            ];
            Exception? refusal = Record.Exception(() => new DictionaryFolders(null, isShared: false).RequireUnserved(sites));
            Assert.True(isRefused == refusal is SiteException, $"{folder}: {refusal?.Message}");
            Assert.Equal(isRefused, refusal?.Message.Contains("is in the root", StringComparison.Ordinal) ?? false);
        }

        // The root itself may be behind a link.
        HostedSite[] linked = [new("", Options(_folder.PathOf("link")) with { DictionaryDirectory = _folder.PathOf("b/kept") })];
        Assert.Throws<SiteException>(() => new DictionaryFolders(null, isShared: false).RequireUnserved(linked));
    }

    [Fact]
    public void A_folder_that_is_hidden_in_a_root_is_not_refused()
    {
        string root = _folder.PathOf("home");
        Directory.CreateDirectory(root);
        foreach ((string folder, DotfilePolicy dotfiles, bool isRefused) in ((string, DotfilePolicy, bool)[])[
            ("home/.local/share/kept", DotfilePolicy.HiddenExceptWellKnown, false),
            ("home/a/.kept/b", DotfilePolicy.HiddenExceptWellKnown, false),
            ("home/.well-known/kept", DotfilePolicy.HiddenExceptWellKnown, true),
            ("home/.local/share/kept", DotfilePolicy.Served, true),
            ("home/.well-known/.kept", DotfilePolicy.HiddenExceptWellKnown, false)])
        {
            SiteOptions options = Options(root) with { DictionaryDirectory = _folder.PathOf(folder), Dotfiles = dotfiles };
            Exception? refusal = Record.Exception(
                () => new DictionaryFolders(null, isShared: false).RequireUnserved([new HostedSite("", options)]));
            Assert.True(isRefused == refusal is SiteException, $"{folder}: {refusal?.Message}");
        }
    }

    private static SiteOptions Options(string root) => new() { Root = root, Dictionaries = true };

    private static HostedSite Site(string name, string root) => new(name, Options(root));

    private static string FolderOf(DictionaryFolders folders, string name, string root) =>
        folders.Resolve(Site(name, root)).DictionaryDirectory!;
}
