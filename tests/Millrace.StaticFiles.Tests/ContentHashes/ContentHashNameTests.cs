using System.Text;
using Millrace.StaticFiles.Rules;
using Millrace.Tests.Shared;

namespace Millrace.StaticFiles.Tests.ContentHashes;

public class ContentHashNameTests
{
    private static readonly string Folder = Path.Combine(AppContext.BaseDirectory, "ContentHashes");

    [Theory]
    [InlineData("/app.3f2a1b9c.js")]
    [InlineData("/assets/index-DiwrgT4a.css")]
    [InlineData("/assets/index-D1wr_T4a.css")]
    [InlineData("/assets/index-D-wr9T4a.css")]
    [InlineData("/assets/index-DRR_hoWa.js")]
    [InlineData("/chunk-OXFT4Y2R.js")]
    [InlineData("/main-OXFT4Y2R.js")]
    [InlineData("/styles-5YJGMG5H.css")]
    [InlineData("/main.8d2f1a9b0c3e4f5a6b7c8d9e0f1a2b3c.chunk.3f2a1b9c.js")]
    [InlineData("/static/js/787.1b2c3d4e.chunk.js")]
    [InlineData("/app.3f2a1b9c.js.map")]
    [InlineData("/a/b/inter-latin-9f86d081884c7d65.woff2")]
    [InlineData("/0db7ed2c4fc7bd997db4.svg")]
    [InlineData("3f-3f2a1b9c.js")]
    [InlineData("/app.ab12cd34.js")]
    [InlineData("/app-3F2A1B9C4D5E6F708192A3B4C5D6E7F8.JS")]
    [InlineData("/_app/immutable/chunks/BbbuildX.js")]
    [InlineData("/_next/static/chunks/main.js")]
    public void A_name_with_a_content_hash_is_known(string path) => Assert.True(IsHashed(path));

    [Theory]
    [InlineData("")]
    [InlineData("/")]
    [InlineData("/index.html")]
    [InlineData("/app.js")]
    [InlineData("/app.3f2a1b9.js")]
    [InlineData("/3f2a1b9c.js")]
    [InlineData("/app_3f2a1b9c.js")]
    [InlineData("/app.3f2a1b9c")]
    [InlineData("/app.3f2a1b9c.")]
    [InlineData("/app.3f2a1b9c/index.html")]
    [InlineData("/page-3f2a1b9c.html")]
    [InlineData("/page-DiwrgT4a.htm")]
    [InlineData("/_next/static/chunks/main.html")]
    [InlineData("/_next/static")]
    [InlineData("/my/_next/static/main.js")]
    [InlineData("/manual-3f2a1b9c.pdf")]
    [InlineData("/my-deadbeef.js")]
    [InlineData("/my-JavaScript.js")]
    [InlineData("/app-DiwrgT4a.css")]
    [InlineData("/app-OXFT4Y2R.js")]
    [InlineData("/index-DropDown.js")]
    [InlineData("/index-DevDay24.js")]
    [InlineData("/index-zh_CN-CN.js")]
    [InlineData("/index-zhHansCN.js")]
    [InlineData("/index-CSS_only.js")]
    [InlineData("/main-CMYK2RGB.js")]
    [InlineData("/main-Q4FY25US.js")]
    [InlineData("/styles-WCAG2AAA.css")]
    [InlineData("/styles-SUMMER24.css")]
    [InlineData("/main-R2D2X9Y8.js")]
    [InlineData("/jquery-3.7.1slim1.js")]
    [InlineData("/a-3f2a1b9ä.js")]
    [InlineData("/app.3f2a1b9c.js.gz")]
    [InlineData("/.map")]
    [InlineData("/.DiwrgT4a.js")]
    [InlineData("/-DiwrgT4a.js")]
    [InlineData("/avatar-550e8400-e29b-41d4-a716-4466554a0000.jpg")]
    [InlineData("/avatar-507f1f77bcf86cd799439011.jpg")]
    public void A_name_that_may_stay_when_its_content_changes_is_not(string path) => Assert.False(IsHashed(path));

    [Fact]
    public void No_name_that_people_write_is_taken_for_one_with_a_hash()
    {
        string[] names = File.ReadAllLines(Path.Combine(Folder, "people.txt"));

        Assert.True(names.Length >= 1000);
        Assert.DoesNotContain(names, IsHashed);

        Assert.DoesNotContain(names, name => IsHashed($"/assets/images/{name}"));
    }

    [Fact]
    public void No_name_that_people_write_is_vouched_for_by_others()
    {
        string[] names = File.ReadAllLines(Path.Combine(Folder, "people.txt"));

        Assert.Empty(HashedIn(names));
        foreach (string extension in new[] { ".js", ".css", ".svg", ".woff2" })
        {
            Assert.Empty(HashedIn(names.Select(name => $"/assets/{Path.GetFileNameWithoutExtension(name)}{extension}")));
        }
    }

    [Fact]
    public void Of_the_names_that_bundlers_write_at_most_two_in_a_hundred_are_missed()
    {
        string[] files = Directory.GetFiles(Path.Combine(Folder, "tools"), "*.txt");
        var missed = new List<string>();
        int count = 0;
        foreach (string file in files.Order(StringComparer.Ordinal))
        {
            string[] names = File.ReadAllLines(file);
            HashSet<string> hashed = [.. names.GroupBy(Path.GetDirectoryName).SelectMany(HashedIn)];
            string[] missedHere = [.. names.Where(name => !hashed.Contains(name))];
            TestContext.Current.TestOutputHelper?.WriteLine(
                $"{Path.GetFileNameWithoutExtension(file)}: {missedHere.Length} of {names.Length} missed, alone "
                + $"{names.Count(name => !IsHashed(name))}");
            Assert.True(missedHere.Length <= names.Length * 0.07, $"{file}: {string.Join(' ', missedHere)}");
            missed.AddRange(missedHere);
            count += names.Length;
        }

        Assert.Equal(11, files.Length);
        Assert.True(missed.Count <= count * 0.02, $"{missed.Count} of {count}: {string.Join(' ', missed)}");
    }

    /// <summary>
    /// What people put into a directory of a bundler is decided by its own name: most is words, but of acronyms some are as a hash.
    /// </summary>
    [Fact]
    public void Among_names_of_a_bundler_fewer_than_one_in_fifteen_of_peoples_are_taken()
    {
        string[] names = [.. File.ReadAllLines(Path.Combine(Folder, "people.txt")).Select(name => $"/assets/{name}")];
        string[] vite = File.ReadAllLines(Path.Combine(Folder, "tools", "vite.txt"));

        string[] taken = [.. HashedIn([.. names, .. vite]).Intersect(names)];

        TestContext.Current.TestOutputHelper?.WriteLine($"{taken.Length} of {names.Length} taken: {string.Join(' ', taken)}");
        Assert.True(taken.Length < names.Length / 15, string.Join(' ', taken));
    }

    [Fact]
    public void What_may_be_a_hash_is_one_where_others_are_of_the_same_pattern()
    {
        const string Possible = "/a/lib-DiwrgT4a.js";

        Assert.DoesNotContain(Possible, HashedIn([Possible, "/a/x-Gk7xQwTz.js"]));
        Assert.Contains(Possible, HashedIn([Possible, "/a/x-Gk7xQwTz.js", "/a/y-BkX3f9aQ.css"]));
        Assert.DoesNotContain(Possible, HashedIn([Possible, "/a/x-Gk7xQwTz.js", "/a/y-Gk7xQwTz.css", "/a/x-Gk7xQwTz.js.map"]));
        Assert.DoesNotContain(Possible, HashedIn([Possible, "/a/x.Gk7xQwTz.js", "/a/y.BkX3f9aQ.css"]));
        Assert.Single(HashedIn(["/_astro/lib-DiwrgT4a.js"]));
        Assert.Single(HashedIn(["/_nuxt/lib-DiwrgT4a.js"]));
        Assert.Empty(HashedIn(["/a/_nuxt/lib-DiwrgT4a.js"]));
    }

    [Fact]
    public void Capitals_are_a_hash_only_among_others_of_base32()
    {
        string[] esbuild = ["/a-5YJGMG5H.css", "/b-O7ZKCR5J.woff2", "/c-YW2UZBJR.svg"];

        Assert.Empty(HashedIn(esbuild[..2]));
        Assert.Equal(esbuild, HashedIn(esbuild));
        Assert.Equal([.. esbuild, "/d-RWTHFHAC.svg"], HashedIn([.. esbuild, "/d-RWTHFHAC.svg", "/d-SUMMER24.svg"]));
        Assert.Empty(HashedIn([.. esbuild, "/part-X9YK81ZQ.svg"]));
    }

    [Fact]
    public void The_first_files_of_a_small_build_confirm_each_other()
    {
        string[] vite = ["/assets/index-DiwrgT4a.css", "/assets/index-BbbuildX.js"];
        string[] angular = ["/main-OXFT4Y2R.js", "/polyfills-FFHMD2TL.js"];

        Assert.Empty(HashedIn(vite[1..]));
        Assert.Equal(vite, HashedIn(vite));
        Assert.Empty(HashedIn(["/index-BbbuildX.js", "/index-BbbuildX.css"]));
        Assert.Equal(vite[..1], HashedIn([vite[0], "/assets/page-BbbuildX.js", "/assets/index.BbbuildX.js", "/assets/index-DarkMode.js"]));

        Assert.Empty(HashedIn(angular[1..]));
        Assert.Equal(angular, HashedIn(angular));
        Assert.Equal(angular[..1], HashedIn([angular[0], "/other-FFHMD2TL.js", "/polyfills.FFHMD2TL.js", "/styles-SUMMER24.css"]));
        Assert.Empty(HashedIn(["/main-CMYK2RGB.js", "/styles-CMYK2RGB.css", "/styles-SUMMER24.css"]));
    }

    [Fact]
    public void A_number_is_a_hash_only_among_digests_of_its_length()
    {
        string[] parcel = ["/a.051cf2d0.js", "/b.25e20544.css", "/c.9742c7d7.svg"];

        Assert.Empty(HashedIn(["/d.51234567.js"]));
        Assert.Equal(parcel[..2], HashedIn([.. parcel[..2], "/d.51234567.js"]));
        Assert.Equal(
            [.. parcel, "/d.51234567.js", "/e.2565649d.js"],
            HashedIn([.. parcel, "/d.51234567.js", "/e.2565649d.js", "/d.20240315.js", "/d-51234567.js", "/d.51234567.png"]));
    }

    [Fact]
    public void Deciding_allocates_nothing_for_each_name()
    {
        byte[] path = "/assets/lib-DiwrgT4a.js"u8.ToArray();
        var names = new HashedNames();
        names.Add(path);

        long allocated = Allocations.OfEach(() => Assert.False(names.Contains(path)));

        Assert.Equal(0, allocated);
    }

    private static bool IsHashed(string name) => HashedIn([name]).Length == 1;

    private static string[] HashedIn(IEnumerable<string> paths)
    {
        string[] all = [.. paths];
        var names = new HashedNames();
        foreach (string path in all)
        {
            names.Add(Encoding.UTF8.GetBytes(path));
        }

        return [.. all.Where(path => names.Contains(Encoding.UTF8.GetBytes(path)))];
    }
}
