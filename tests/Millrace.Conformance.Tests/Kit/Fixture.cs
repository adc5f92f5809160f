using System.Collections.Concurrent;
using System.Text;

namespace Millrace.Conformance.Tests.Kit;

/// <summary>
/// The folder that is served: one file for each thing that can be asked of a file. Every byte and time of it
/// follows from here.
/// </summary>
internal sealed class Fixture
{
    /// <summary>In every file that lies outside the root: no response may ever hold it.</summary>
    public const string Secret = "OUTSIDE-OF-THE-ROOT";

    /// <summary>In /sites/many: more than a listing is made of at once.</summary>
    public const int ManyFiles = 1_200;

    public const long HugeBytes = (4L * 1024 * 1024 * 1024) + (1024 * 1024);

    /// <summary>When all files were modified, but those about times.</summary>
    public static readonly DateTime Modified = new(2024, 2, 3, 4, 5, 6, DateTimeKind.Utc);

    private readonly ConcurrentDictionary<string, byte[]> _contents = new(StringComparer.Ordinal);

    private Fixture(string root) => Root = root;

    public string Root { get; }

    /// <summary>An htpasswd file: everybody's password is in <see cref="Passwords"/>.</summary>
    public string PasswordFile => Path.Combine(Path.GetDirectoryName(Root)!, "passwords");

    /// <summary>The bytes of a file by its path below the root.</summary>
    public byte[] this[string path] => _contents[path];

    public static Fixture Create(string root)
    {
        var fixture = new Fixture(Path.GetFullPath(root));
        Directory.CreateDirectory(fixture.Root);
        fixture.AddOutside();
        fixture.AddSizes();
        fixture.AddPages();
        fixture.AddTypes();
        fixture.AddVariants();
        fixture.AddNames();
        fixture.AddHidden();
        fixture.AddTimes();
        fixture.AddLinks();
        fixture.AddSpecials();
        fixture.AddSites();
        return fixture;
    }

    /// <summary>Whether these are the bytes of a file of the root.</summary>
    public bool Holds(byte[] bytes) => _contents.Values.Any(content => content.AsSpan().SequenceEqual(bytes));

    public string PathOf(string path) => Path.Combine(Root, path.TrimStart('/'));

    /// <summary>A folder for one test to change: its path as a URL's, ending in a slash.</summary>
    public string AddScratch(string name)
    {
        Directory.CreateDirectory(PathOf($"/changing/{name}"));
        return $"/changing/{name}/";
    }

    public byte[] Add(string path, byte[] content) => Add(path, content, Modified);

    /// <summary>In one step, so that nobody sees it with the time at which it was written.</summary>
    public byte[] Add(string path, byte[] content, DateTime modified)
    {
        string full = PathOf(path);
        string folder = Path.GetDirectoryName(full)!;
        // Of its own, as the name may be as long as names can be.
        string spare = Path.Combine(folder, $"{Guid.NewGuid():N}~");
        Directory.CreateDirectory(folder);
        File.WriteAllBytes(spare, content);
        File.SetLastWriteTimeUtc(spare, modified);
        File.Move(spare, full, overwrite: true);
        _contents[path] = content;
        return content;
    }

    /// <summary>Puts a file in another's place in one step, as tools that publish do.</summary>
    public byte[] Replace(string path, byte[] content)
    {
        string spare = PathOf(path) + ".new~";
        File.WriteAllBytes(spare, content);
        File.Move(spare, PathOf(path), overwrite: true);
        return content;
    }

    public static byte[] Utf8(string text) => Encoding.UTF8.GetBytes(text);

    private void AddOutside()
    {
        string outside = Path.Combine(Path.GetDirectoryName(Root)!, "outside");
        Directory.CreateDirectory(outside);
        File.WriteAllText(PasswordFile, Passwords.File);
        foreach (string name in (string[])["secret.txt", "index.html", "secret.txt.gz"])
        {
            File.WriteAllText(Path.Combine(outside, name), Secret);
        }

        // A sibling whose name begins with the root's: a comparison of prefixes would take it for a part of it.
        string twin = Root + "-twin";
        Directory.CreateDirectory(twin);
        File.WriteAllText(Path.Combine(twin, "secret.txt"), Secret);
    }

    private void AddSizes()
    {
        Add("/empty.txt", []);
        Add("/one.txt", "1"u8.ToArray());
        Add("/text.txt", Content.Text("text", 4321));
        Add("/other.txt", Content.Text("other", 4321));
        Add("/10k.bin", Content.Binary(10 * 1024, 10));
        Add("/300k.bin", Content.Binary(300 * 1024, 300));
        Add("/2m.bin", Content.Binary(2 * 1024 * 1024, 2));
        using (FileStream huge = File.Create(PathOf("/huge.bin")))
        {
            huge.SetLength(HugeBytes);
            huge.Write("first"u8);
            huge.Position = (4L * 1024 * 1024 * 1024) - 4;
            huge.Write("boundary"u8);
            huge.Position = HugeBytes - 4;
            huge.Write("last"u8);
        }

        File.SetLastWriteTimeUtc(PathOf("/huge.bin"), Modified);
    }

    private void AddPages()
    {
        Add("/index.html", Content.Page("home"));
        Add("/404.html", Content.Page("This page is not here"));
        Add("/dir/index.html", Content.Page("dir"));
        Add("/dir/file.txt", Content.Text("file", 200));
        Add("/no-index/file.txt", Content.Text("no index", 200));
        Add("/dir.txt/file.txt", Content.Text("in a directory called like a file", 200));
        Add("/a dir/index.html", Content.Page("a dir"));
        Add("/50% größe?/index.html", Content.Page("size"));
        Add("/evil.example/index.html", Content.Page("not a host"));
        Add(Names.Deep, Content.Text("deep", 100));
    }

    private void AddTypes()
    {
        foreach (string extension in Types.All.Keys)
        {
            Add($"/types/file.{extension}", Content.Text(extension, 300));
        }

        Add("/types/plain", Content.Text("no extension", 300));
        Add("/types/file.zzz", Content.Text("unknown extension", 300));
        Add("/assets/app.3f9a1c2b.js", Content.Text("hashed", 300));
        Add("/assets/index-BkX3f9aQ.css", Content.Text("hashed by a bundler", 300));
        Add("/assets/app.js", Content.Text("not hashed", 300));
    }

    private void AddVariants()
    {
        byte[] script = Add("/app.js", [.. Content.Text("app", 5000), .. Enumerable.Repeat((byte)' ', 4000)]);
        Add("/app.js.gz", Content.Gzip(script));
        Add("/app.js.br", Content.Brotli(script));
        Add("/app.js.zst", Content.Zstd(script));
        byte[] style = Add("/style.css", Content.Text("style", 5000));
        Add("/style.css.gz", Content.Gzip(style));
        byte[] small = Add("/small.js", Content.Text("small", 12));
        Add("/small.js.gz", Content.Gzip(small));
        byte[] page = Add("/coded/index.html", Content.Page("coded"));
        Add("/coded/index.html.gz", Content.Gzip(page));
        Add("/stale.js", Content.Text("stale", 2000));
        Add("/stale.js.gz", Content.Gzip(Content.Text("older", 2000)), Modified.AddSeconds(-10));
        Add("/orphan.js.gz", Content.Gzip(Content.Text("orphan", 2000)));
        Add("/escaping.js", Content.Text("escaping", 2000));
        Add("/bare.js", Content.Text("bare", 2000));
    }

    private void AddNames()
    {
        foreach (string name in Names.All)
        {
            Add("/names/" + name, Names.ContentOf(name));
        }
    }

    private void AddHidden()
    {
        byte[] secret = Utf8("hidden content\n");
        Add("/.hidden", secret);
        Add("/.env", secret);
        Add("/.git/config", secret);
        Add("/dir/.secret.txt", secret);
        Add("/.well-known/security.txt", Utf8("Contact: mailto:security@example.com\n"));
    }

    private void AddTimes()
    {
        Add("/times/epoch.txt", Content.Text("epoch", 500), DateTime.UnixEpoch);
        Add("/times/future.txt", Content.Text("future", 500), new DateTime(2100, 1, 1, 0, 0, 0, DateTimeKind.Utc));
        Add("/times/old.txt", Content.Text("old", 500), new DateTime(1999, 12, 31, 23, 59, 59, DateTimeKind.Utc));
        Add("/times/fraction.txt", Content.Text("fraction", 500), Modified.AddMilliseconds(750));
    }

    private void AddLinks()
    {
        Link("/link.txt", "text.txt");
        Link("/link-dir", "dir");
        Link("/dir/link-up.txt", "../text.txt");
        Add("/circle/file.txt", Content.Text("circle", 500));
        Link("/circle/x", ".");
        Link("/broken.txt", "nothing-here.txt");
        Link("/loop.txt", "loop.txt");
        Link("/escape.txt", "../outside/secret.txt");
        Link("/escape-dir", "../outside");
        Link("/escape-absolute.txt", Path.Combine(Path.GetDirectoryName(Root)!, "outside", "secret.txt"));
        Link("/escaping.js.gz", "../outside/secret.txt.gz");
        Link("/escaping-index/index.html", "../../outside/index.html");
    }

    private void AddSpecials()
    {
        if (!File.Exists(PathOf("/pipe.txt")))
        {
            Unix.MakeFifo(PathOf("/pipe.txt"));
            Unix.MakeSocket(PathOf("/socket.txt"));
        }

        Add("/unreadable.txt", Utf8("nobody may read this\n"));
        File.SetUnixFileMode(PathOf("/unreadable.txt"), UnixFileMode.None);
    }

    /// <summary>What the tests of flags need, where nothing else sees it.</summary>
    private void AddSites()
    {
        Add("/about.html", Content.Page("about"));
        Add("/no-index/.secret", Utf8("hidden content\n"));
        Add("/sites/files/index.html", Content.Page("site files"));
        Add("/sites/files/one.txt", "1"u8.ToArray());
        Add("/sites/files/assets/app.css", Content.Text("app", 300));
        Add("/sites/files/_headers", Utf8("/*\n  X-All: yes\n\n/assets/*\n  X-Asset: one\n  Cache-Control: public, max-age=60\n"));
        Add("/sites/files/_redirects", Utf8(
            "# comment\n/old /one.txt 301\n/blog/* /news/:splat 302\n/user/:name /people/:name 308\n/one.txt /elsewhere 301\n"
            + "/forced/* /one.txt 302!\n/app/* /index.html 200\n/assets/app.css /one.txt 301!\n"));
        for (int i = 0; i < ManyFiles; i++)
        {
            Add($"/sites/many/{i}.txt", []);
        }

        Add("/sites/errors/index.html", Content.Page("errors"));
        Add("/sites/errors/sorry.html", Content.Page("sorry"));
        Add("/sites/errors/home.htm", Content.Page("home"));
        Link("/sites/errors/way-out.txt", "../../../outside/secret.txt");
        Unix.MakeFifo(PathOf("/sites/errors/pipe.txt"));
    }

    private void Link(string path, string target)
    {
        string full = PathOf(path);
        Directory.CreateDirectory(Path.GetDirectoryName(full)!);
        File.CreateSymbolicLink(full, target);
    }
}
