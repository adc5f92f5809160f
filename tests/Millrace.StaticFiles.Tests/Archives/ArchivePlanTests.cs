using System.Net;
using System.Text;
using Microsoft.Extensions.Logging.Abstractions;
using Millrace.Http;
using Millrace.StaticFiles.Access;
using Millrace.StaticFiles.Archives;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Rules;
using Millrace.StaticFiles.Snapshots;
using Millrace.StaticFiles.Tests.Kit;

namespace Millrace.StaticFiles.Tests.Archives;

/// <summary>Who gets an archive of what, and with which head.</summary>
public sealed class ArchivePlanTests : IDisposable
{
    private const string UsersHash = "$6$rounds=1000$saltstring$mEmMR6JdPLut3.0gCFgR5..jVisIB2iqApHuJY0D8mBBbgY4CBuL2l.0PZBw0ZwEixXjvEmZnqlHGGNBHNeif.";

    private static readonly IPAddress Client = IPAddress.Parse("10.0.0.1");

    private readonly TempSite _folder = new();

    public void Dispose() => _folder.Dispose();

    [Theory]
    [InlineData("/a/?archive=zip", ArchiveFormats.Zip)]
    [InlineData("/a/?archive=tar.gz", ArchiveFormats.TarGzip)]
    [InlineData("/a/?sort=name&archive=zip", ArchiveFormats.Zip)]
    [InlineData("/a/?archive=tar.gz&archive=zip", ArchiveFormats.Zip)]
    public void A_query_asks_for_a_format(string target, ArchiveFormats format)
    {
        _folder.File("a/a.txt", "a");
        Assert.Equal((200, format), Ask(target));
    }

    [Theory]
    [InlineData("/a/?archive=rar", 404)]
    [InlineData("/a/?archive=", 404)]
    [InlineData("/a?archive=zip", 308)]
    [InlineData("/a/a.txt?archive=zip", 200)]
    [InlineData("/a/?archives=zip", 200)]
    [InlineData("/indexed/?archive=zip", 200)]
    [InlineData("/b/?archive=zip", 404)]
    public void Others_get_none(string target, int status)
    {
        _folder.File("a/a.txt", "a");
        _folder.File("indexed/index.html", "a");
        Assert.Equal((status, ArchiveFormats.None), Ask(target));
    }

    [Theory]
    [InlineData(ArchiveFormats.None, 200)]
    [InlineData(ArchiveFormats.TarGzip, 404)]
    public void A_format_that_is_off_is_not_there(ArchiveFormats formats, int status)
    {
        _folder.File("a/a.txt", "a");
        Assert.Equal((status, ArchiveFormats.None), Ask("/a/?archive=zip", options => options with { Archives = formats }));
    }

    [Fact]
    public void Without_listings_there_are_no_archives()
    {
        _folder.File("a/a.txt", "a");
        Assert.Equal((404, ArchiveFormats.None), Ask("/a/?archive=zip", static options => options with { Listing = false }));
    }

    [Theory]
    [InlineData(ArchiveFormats.None, "")]
    [InlineData(ArchiveFormats.Zip, "zip")]
    [InlineData(ArchiveFormats.TarGzip | ArchiveFormats.Zip, "tar.gz zip")]
    public void The_listing_links_the_formats_that_there_are(ArchiveFormats formats, string linked)
    {
        _folder.File("a/a.txt", "a");
        using Site site = Open(options => options with { Archives = formats });
        CatalogSnapshot snapshot = site.Catalog.Acquire();
        string page = Encoding.UTF8.GetString(MadeArchive.Plan(site, snapshot, "/a/").Document!.Bytes);
        snapshot.Release();

        Assert.Equal(
            linked.Split(' ', StringSplitOptions.RemoveEmptyEntries),
            page.Split("href=\"?archive=").Skip(1).Select(static link => link[..link.IndexOf('"', StringComparison.Ordinal)]));
    }

    [Theory]
    [InlineData("/?archive=zip", "attachment; filename=\"site.zip\"")]
    [InlineData("/a%20b/?archive=zip", "attachment; filename=\"a b.zip\"")]
    [InlineData("/a%22b/?archive=tar.gz", "attachment; filename=\"a_b.tar.gz\"; filename*=UTF-8''a%22b.tar.gz")]
    [InlineData("/%C3%BC/?archive=zip", "attachment; filename=\"__.zip\"; filename*=UTF-8''%C3%BC.zip")]
    [InlineData("/%0A/?archive=zip", "attachment; filename=\"_.zip\"; filename*=UTF-8''%0A.zip")]
    [InlineData("/100%25/?archive=zip", "attachment; filename=\"100_.zip\"; filename*=UTF-8''100%25.zip")]
    public void The_name_is_safe_in_a_field(string target, string disposition)
    {
        foreach (string name in (string[])["a b", "a\"b", "ü", "\n", "100%"])
        {
            _folder.File($"{name}/a.txt", "a");
        }

        using Site site = Open();
        var scratch = new PlanScratch();
        CatalogSnapshot snapshot = site.Catalog.Acquire();
        _ = MadeArchive.Plan(site, snapshot, target, scratch: scratch);
        snapshot.Release();

        PlanField field = Assert.Single(scratch.Fields.ToArray());
        Assert.Equal(PlanFieldName.ContentDisposition, field.Name);
        Assert.Equal(disposition, Encoding.ASCII.GetString(scratch.ValueOf(field)));
    }

    [Theory]
    [InlineData("*", "", 304)]
    [InlineData("\"a\"", "", 200)]
    [InlineData("", "*", 200)]
    [InlineData("", "\"a\"", 412)]
    public void Conditions_are_evaluated_without_validators(string ifNoneMatch, string ifMatch, int status)
    {
        _folder.File("a/a.txt", "a");
        using Site site = Open();
        CatalogSnapshot snapshot = site.Catalog.Acquire();
        var request = new PlanRequest
        {
            Method = Method.Get,
            Path = "/a/"u8,
            Query = "archive=zip"u8,
            Conditions = new ConditionFields
            {
                IfNoneMatch = Encoding.ASCII.GetBytes(ifNoneMatch),
                IfMatch = Encoding.ASCII.GetBytes(ifMatch),
                IfModifiedSince = "Thu, 01 Jan 2099 00:00:00 GMT"u8,
                Range = "bytes=0-9"u8,
            },
        };
        ResponsePlan plan = site.Planner.Decide(request, snapshot, new PlanScratch());
        snapshot.Release();

        Assert.Equal(status, plan.Status);
    }

    [Fact]
    public void A_client_that_excludes_bytes_as_they_are_gets_406()
    {
        _folder.File("a/a.txt", "a");
        using Site site = Open();
        CatalogSnapshot snapshot = site.Catalog.Acquire();
        var request = new PlanRequest
        {
            Method = Method.Get,
            Path = "/a/"u8,
            Query = "archive=zip"u8,
            AcceptEncoding = "gzip, identity;q=0"u8,
        };

        Assert.Equal(406, site.Planner.Decide(request, snapshot, new PlanScratch()).Status);
        snapshot.Release();
    }

    [Fact]
    public void Beyond_the_limit_an_archive_is_503_and_its_head_is_not()
    {
        _folder.File("a/a.txt", "a");
        using Site site = Open(static options => options with { ArchivesMax = 1 });
        CatalogSnapshot snapshot = site.Catalog.Acquire();
        DirectoryArchive archive = MadeArchive.Plan(site, snapshot, "/a/?archive=zip").Archive!;
        using (archive.TryBegin(snapshot))
        {
            var scratch = new PlanScratch();
            Assert.Equal(503, MadeArchive.Plan(site, snapshot, "/a/?archive=zip", scratch: scratch).Status);
            Assert.Contains(scratch.Fields.ToArray(), static field => field.Name == PlanFieldName.RetryAfter);
            Assert.Null(archive.TryBegin(snapshot));
            var head = new PlanRequest { Method = Method.Head, Path = "/a/"u8, Query = "archive=zip"u8 };
            Assert.Equal(200, site.Planner.Decide(head, snapshot, new PlanScratch()).Status);
        }

        Assert.Equal(200, MadeArchive.Plan(site, snapshot, "/a/?archive=zip").Status);
        snapshot.Release();
    }

    [Fact]
    public void What_a_client_may_not_see_is_left_out()
    {
        _folder.File("d/a.txt", "a");
        _folder.File("d/denied/b.txt", "b");
        _folder.File("d/named.txt", "b");
        _folder.File("d/Folded.TXT", "b");
        _folder.File("d/others/b.txt", "b");
        _folder.File("d/mine/b.txt", "b");
        _folder.File("d/password/b.txt", "b");
        _folder.File("d/password/open/b.txt", "b");
        string users = Path.Combine(_folder.Outside, "users");
        File.WriteAllText(users, $"jane:{UsersHash}\n");
        using Site site = Open(options => options with
        {
            DeniedClients =
            [
                new ClientRule("/d/denied/*", ["10.0.0.0/8"]),
                new ClientRule("/d/named.txt", ["all"]),
                new ClientRule("/d/folded.txt", ["all"]),
            ],
            AllowedClients = [new ClientRule("/d/others/*", ["10.9.9.9"]), new ClientRule("/d/mine/*", ["10.0.0.1"])],
            PasswordRules = [new PasswordRule("/d/password/open*", null), new PasswordRule("/d/password/*", users)],
        });

        // What "mine" needs is not what the directory needs, although this client would have it.
        Assert.Equal(["d/", "d/a.txt"], Names(site, "/d/"));
        Assert.Equal(["open/", "open/b.txt"], Names(site, "/d/password/open/"));
        Assert.Equal(["mine/", "mine/b.txt"], Names(site, "/d/mine/"));
    }

    [Fact]
    public void Under_one_rule_everything_is_there()
    {
        _folder.File("d/a.txt", "a");
        _folder.File("d/e/b.txt", "b");
        using Site site = Open(static options => options with
        {
            DeniedClients = [new ClientRule("*", ["192.168.0.0/16"])],
            AllowedClients = [new ClientRule("/d/*", ["10.0.0.0/8"])],
        });

        Assert.Equal(["d/", "d/a.txt", "d/e/", "d/e/b.txt"], Names(site, "/d/"));
    }

    [Fact]
    public void What_rules_answer_in_place_of_a_file_is_left_out()
    {
        _folder.File("d/a.txt", "a");
        _folder.File("d/gone/b.txt", "b");
        _folder.File("d/api/b.txt", "b");
        _folder.File("d/moved.txt", "b");
        _folder.File("d/kept.txt", "b");
        using Site site = Open(static options => options with
        {
            Redirects =
            [
                new RedirectRule("/d/gone/*", "", 404) { Forced = true },
                new RedirectRule("/d/moved.txt", "/elsewhere") { Forced = true },
                new RedirectRule("/d/kept.txt", "/elsewhere"),
            ],
            Proxies = [new ProxyRule("/d/api/*", ["http://127.0.0.1:1"])],
        });

        Assert.Equal(["d/", "d/a.txt", "d/kept.txt"], Names(site, "/d/"));
    }

    /// <summary>A redirect of the own path, perhaps to the one that was asked for, hides nothing.</summary>
    [Fact]
    public void Of_a_rewritten_directory_what_rules_answer_at_its_own_path_is_left_out_too()
    {
        _folder.File("d/a.txt", "a");
        _folder.File("d/gone/b.txt", "b");
        _folder.File("d/api/b.txt", "b");
        _folder.File("d/hidden.txt", "b");
        _folder.File("d/moved.txt", "b");
        using Site site = Open(static options => options with
        {
            Redirects =
            [
                new RedirectRule("/x/*", "/d/:splat", 200),
                new RedirectRule("/d/gone/*", "", 404) { Forced = true },
                new RedirectRule("/d/hidden.txt", "", 404) { Forced = true },
                new RedirectRule("/d/moved.txt", "/x/moved.txt") { Forced = true },
            ],
            Proxies = [new ProxyRule("/d/api/*", ["http://127.0.0.1:1"])],
        });

        Assert.Equal(["x/", "x/a.txt", "x/moved.txt"], Names(site, "/x/"));
    }

    /// <summary>With clean URLs the content of /d/members.html is that of /d/members, whose rules count too.</summary>
    [Theory]
    [InlineData(true, false)]
    [InlineData(false, true)]
    public void A_rule_for_a_clean_url_is_one_for_its_file(bool hasCleanUrls, bool isThere)
    {
        _folder.File("d/a.html", "a");
        _folder.File("d/forced.html", "b");
        _folder.File("d/members.html", "b");
        using Site site = Open(options => options with
        {
            CleanUrls = hasCleanUrls,
            DeniedClients = [new ClientRule("/d/members", ["10.0.0.0/8"])],
            Redirects = [new RedirectRule("/d/forced", "", 404) { Forced = true }],
        });

        string[] expected = isThere ? ["d/", "d/a.html", "d/forced.html", "d/members.html"] : ["d/", "d/a.html"];
        Assert.Equal(expected, Names(site, "/d/"));
    }

    [Fact]
    public void Links_do_not_make_paths_that_no_request_can_have()
    {
        const int Links = 40;
        string name = new('n', 120);
        for (int i = 0; i < Links; i++)
        {
            _folder.File($"t{i:00}/file", "a");
            _folder.Symlink($"t{i:00}/{name}", $"../t{i + 1:00}");
        }

        _folder.File($"t{Links:00}/file", "a");
        using Site site = Open();
        List<string> names = Names(site, "/t00/");
        Assert.InRange(names.Count(static one => one.EndsWith("/file", StringComparison.Ordinal)), 30, 34);
        Assert.InRange(names.Max(static one => one.Length), 3_500, 4_096);
    }

    [Fact]
    public void Where_a_service_decides_there_is_no_archive()
    {
        _folder.File("d/a.txt", "a");
        _folder.File("d/private/b.txt", "b");
        using Site site = Open(static options => options with { ForwardAuth = [ForwardAuthRule.Parse("/d/private/*=http://127.0.0.1:1/")] });

        Assert.Equal(["d/", "d/a.txt"], Names(site, "/d/"));
        Assert.Equal((200, ArchiveFormats.None), Ask("/d/private/?archive=zip", static options => options with
        {
            ForwardAuth = [ForwardAuthRule.Parse("/d/private/*=http://127.0.0.1:1/")],
        }, isAuthorized: true));
    }

    private static List<string> Names(Site site, string path) => MadeArchive.Names(MadeArchive.Of(site, $"{path}?archive=tar.gz", client: Client));

    private (int Status, ArchiveFormats Format) Ask(
        string target, Func<SiteOptions, SiteOptions>? change = null, bool isAuthorized = false)
    {
        SiteOptions options = Change(change);
        using Site site = Site.Open(options, NullLoggerFactory.Instance);
        CatalogSnapshot snapshot = site.Catalog.Acquire();
        string[] parts = target.Split('?');
        var request = new PlanRequest
        {
            Method = Method.Get,
            Path = Encoding.UTF8.GetBytes(parts[0]),
            Query = Encoding.UTF8.GetBytes(parts[1]),
            Authorized = isAuthorized ? [.. options.ForwardAuth] : [],
        };
        ResponsePlan plan = site.Planner.Decide(request, snapshot, new PlanScratch());
        (int, ArchiveFormats) answer = (plan.Status, plan.Archive?.Format ?? ArchiveFormats.None);
        snapshot.Release();
        return answer;
    }

    private Site Open(Func<SiteOptions, SiteOptions>? change = null) => Site.Open(Change(change), NullLoggerFactory.Instance);

    private SiteOptions Change(Func<SiteOptions, SiteOptions>? change)
    {
        SiteOptions options = _folder.Options with
        {
            Listing = true,
            Archives = ArchiveFormats.TarGzip | ArchiveFormats.Zip,
            Watch = WatchMode.Off,
        };
        return change?.Invoke(options) ?? options;
    }
}
