using System.Collections;
using System.Reflection;
using Millrace.Server.Configuration;
using Millrace.Server.Configuration.Rows;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Rules;

namespace Millrace.Server.Tests.Configuration;

public class SiteRowsTests
{
    private static readonly SiteOptions Options = new() { Root = "/" };

    private static readonly ServerOption[] Rows = [.. SiteRows.All];

    public static TheoryData<string> Keys => [.. Rows.Select(option => option.Key)];

    [Theory]
    [InlineData("index", "a.html, b.html", "IndexNames: a.html,b.html")]
    [InlineData("dotfiles", "serve", "Dotfiles: Served")]
    [InlineData("spa", null, "Fallback: /index.html")]
    [InlineData("spa", "/app.html", "Fallback: /app.html")]
    [InlineData("clean-urls", null, "CleanUrls: True")]
    [InlineData("clean-urls", "true", "CleanUrls: True")]
    [InlineData("error-page", "500=/oops.html", "ErrorPages: [404, /404.html],[500, /oops.html]")]
    [InlineData("error-page", "404=/oops.html", "ErrorPages: [404, /oops.html]")]
    [InlineData("error-page", "404=", "ErrorPages: ")]
    [InlineData("listing", "on", "Listing: True")]
    [InlineData("archives", null, "Archives: TarGzip, Zip")]
    [InlineData("archives", "zip", "Archives: Zip")]
    [InlineData("archives", "tar.gz", "Archives: TarGzip")]
    [InlineData("archives-max", "3", "ArchivesMax: 3")]
    [InlineData("charset", "iso-8859-1", "Charset: iso-8859-1")]
    [InlineData("charset", "none", "Charset: ")]
    [InlineData("mime", ".WASM=application/x-wasm", "ContentTypes: [wasm, application/x-wasm]")]
    [InlineData("cache-control", "*.css=max-age=3600", "CacheControl: CacheRule { Pattern = *.css, Value = max-age=3600 }")]
    [InlineData("header", "X-A: b=c", "Fields: FieldRule { Pattern = *, Name = X-A, Value = b=c }")]
    [InlineData("header", "*.js=X-A: b: c", "Fields: FieldRule { Pattern = *.js, Name = X-A, Value = b: c }")]
    [InlineData("header", "/:x/*=X-A:b", "Fields: FieldRule { Pattern = /:x/*, Name = X-A, Value = b }")]
    [InlineData("header", "feed.xml=X-A: b", "Fields: FieldRule { Pattern = feed.xml, Name = X-A, Value = b }")]
    [InlineData("security-headers", null, "SecurityHeaders: True")]
    [InlineData("auth", "/etc/users", "PasswordFile: /etc/users")]
    [InlineData("realm", "Staff only", "Realm: Staff only")]
    [InlineData("maintenance", "/run/stop", "MaintenanceFile: /run/stop")]
    [InlineData("proxy-forwarded", "forwarded", "ProxyForwarded: Forwarded")]
    [InlineData("proxy-via", null, "ProxyVia: True")]
    [InlineData("site-files", "off", "SiteFiles: False")]
    [InlineData("compress", "off", "Compression: False")]
    [InlineData("compress-memory", "1g", "CompressedBytesTotalMax: 1073741824")]
    [InlineData("dictionaries", "on", "Dictionaries: True")]
    [InlineData("page-dictionary", "auto", "PageDictionary: True")]
    [InlineData("dictionary-dir", "/var/kept", "DictionaryDirectory: /var/kept")]
    [InlineData("dictionary-versions", "8", "DictionaryVersions: 8")]
    [InlineData("dictionary-store", "1g", "DictionaryStoreBytesMax: 1073741824")]
    [InlineData("dictionary-memory", "1m", "DictionaryBytesTotalMax: 1048576")]
    [InlineData("dictionary-max-file", "8m", "DictionaryFileBytesMax: 8388608")]
    [InlineData("dictionary-cpu", "100", "DictionaryProcessorPercent: 100")]
    [InlineData("watch", "off", "Watch: Off")]
    [InlineData("watch", "revalidate", "Watch: Revalidate")]
    [InlineData("watch", "inotify", "Watch: Inotify")]
    [InlineData("cache-max-file", "4096", "CacheFileBytesMax: 4096")]
    [InlineData("cache-memory", "2T", "CacheBytesMax: 2199023255552")]
    [InlineData("read-max", "0", "ReadBytesMax: 0")]
    [InlineData("sendfile", "off", "SendFile: False")]
    [InlineData("hash-max", "10M", "HashedBytesTotalMax: 10485760")]
    [InlineData("descriptors", "100", "DescriptorsMax: 100")]
    [InlineData("entries-max", "5", "EntriesMax: 5")]
    public void A_text_sets_its_property_and_no_other(string key, string? text, string expected)
    {
        SiteOptions applied = Apply(Options, key, text);

        Dictionary<string, string> before = Describe(Options);
        Assert.Equal([expected], Describe(applied).Where(pair => before[pair.Key] != pair.Value).Select(pair => $"{pair.Key}: {pair.Value}"));
    }

    [Fact]
    public void Rules_about_access_and_applications_are_read_too()
    {
        SiteOptions applied = Apply(Options, "auth", "/private/*=/etc/a=b");
        applied = Apply(applied, "auth", "*.pub=off");
        applied = Apply(applied, "auth", "/etc/users");
        applied = Apply(applied, "allow", "/a/*=10.0.0.0/8, ::1");
        applied = Apply(applied, "allow", "unix");
        applied = Apply(applied, "deny", "/b=all");
        applied = Apply(applied, "forward-auth", "/t/*=https://auth.example/verify?x=1");
        applied = Apply(applied, "forward-auth", "http://auth");
        applied = Apply(applied, "forward-auth", "/open=off");
        applied = Apply(applied, "forward-auth-copy", "Remote-User, Remote-Email");
        Assert.Throws<SiteException>(() => Apply(applied, "proxy", "/api/* unix:/run/a:/y http://b/x"));
        applied = Apply(applied with { Proxies = [] }, "proxy", "/api/*! unix:/run/a:/x/:splat http://b/x/:splat host=upstream");
        applied = Apply(applied, "proxy-allow", "http://127.0.0.1:5000,https://app.example");

        Assert.Equal([new PasswordRule("/private/*", "/etc/a=b"), new PasswordRule("*.pub", null)], applied.PasswordRules);
        Assert.Equal("/etc/users", applied.PasswordFile);
        Assert.Equal(["/a/*: 10.0.0.0/8 ::1", "*: unix"], applied.AllowedClients.Select(Describe));
        Assert.Equal(["/b: all"], applied.DeniedClients.Select(Describe));
        Assert.Equal(
            [("/t/*", "https://auth.example:443", "/verify?x=1"), ("*", "http://auth:80", "/"), ("/open", "", "/")],
            applied.ForwardAuth.Select(static rule => (rule.Pattern, rule.Target, rule.TargetPath)));
        Assert.Equal(["Remote-User", "Remote-Email"], applied.ForwardAuthCopy);
        ProxyRule proxy = Assert.Single(applied.Proxies);
        Assert.Equal(("/api/*", "unix:/run/a http://b:80", "/x/:splat"), (proxy.Path, proxy.TargetsText, proxy.TargetPath));
        Assert.True(proxy is { IsFallback: true, ReplacesHost: true });
        Assert.Equal(["http://127.0.0.1:5000", "https://app.example"], applied.ProxyAllow);

        static string Describe(ClientRule rule) => $"{rule.Pattern}: {string.Join(' ', rule.Clients)}";
    }

    [Fact]
    public void Rules_and_origins_are_read_too()
    {
        SiteOptions applied = Apply(Options, "redirect", "/s?id=:id /p/:id 308!");
        applied = Apply(applied, "rewrite", "/app/* /app.html");
        applied = Apply(applied, "redirect", "/a /b");
        applied = Apply(applied, "cors", "https://a.example,https://b.example");

        Assert.Equal(["https://a.example", "https://b.example"], applied.Cors!.Origins);
        Assert.Equal(["*"], Apply(Options, "cors", null).Cors!.Origins);
        Assert.Equal([("/s", "/p/:id", 308, true), ("/app/*", "/app.html", 200, false), ("/a", "/b", 301, false)],
            applied.Redirects.Select(rule => (rule.From, rule.To, rule.Status, rule.Forced)));
        Assert.Equal([new QueryCondition("id", ":id")], applied.Redirects[0].Query);
    }

    [Theory]
    [InlineData("index", "a/b")]
    [InlineData("dotfiles", "maybe")]
    [InlineData("spa", "index.html")]
    [InlineData("spa", "//evil")]
    [InlineData("clean-urls", "yes")]
    [InlineData("error-page", "404")]
    [InlineData("error-page", "200=/a.html")]
    [InlineData("error-page", "x=/a.html")]
    [InlineData("error-page", "404=a.html")]
    [InlineData("listing", "")]
    [InlineData("archives", "")]
    [InlineData("archives", "zip,rar")]
    [InlineData("archives-max", "-1")]
    [InlineData("charset", "utf 8")]
    [InlineData("charset", "")]
    [InlineData("mime", "wasm")]
    [InlineData("mime", "wasm=wasm")]
    [InlineData("mime", "tar.gz=application/gzip")]
    [InlineData("cache-control", "no-store")]
    [InlineData("cache-control", "*.css=")]
    [InlineData("cache-control", "/a b=no-store")]
    [InlineData("header", "X-A")]
    [InlineData("header", "X-A:")]
    [InlineData("header", "Content-Length: 5")]
    [InlineData("header", "*.js=ETag: \"a\"")]
    [InlineData("header", "X-A: b\r\nX-B: c")]
    [InlineData("header", "/%zz=X-A: b")]
    [InlineData("cors", "")]
    [InlineData("cors", "*,https://a.example")]
    [InlineData("cors", "a.example")]
    [InlineData("auth", "")]
    [InlineData("auth", "/a/*=")]
    [InlineData("auth", "/%zz=users")]
    [InlineData("allow", "")]
    [InlineData("allow", "/a/*=")]
    [InlineData("allow", "/a/*=10.0.0.1/8")]
    [InlineData("allow", "localhost")]
    [InlineData("deny", "/a b=all")]
    [InlineData("forward-auth", "")]
    [InlineData("forward-auth", "/a/*=verify")]
    [InlineData("forward-auth", "/a/*=http://auth/#x")]
    [InlineData("forward-auth-copy", "Remote User")]
    [InlineData("proxy", "/api/*")]
    [InlineData("proxy", "/api/* ftp://a")]
    [InlineData("proxy-allow", "127.0.0.1:5000")]
    [InlineData("proxy-allow", "http://127.0.0.1:5000/path")]
    [InlineData("proxy-forwarded", "all")]
    [InlineData("realm", "")]
    [InlineData("realm", "a\nb")]
    [InlineData("redirect", "")]
    [InlineData("redirect", "# nothing")]
    [InlineData("redirect", "/a")]
    [InlineData("redirect", "/a //evil.example")]
    [InlineData("redirect", "/a /b 500")]
    [InlineData("rewrite", "/a /b 301")]
    [InlineData("rewrite", "/a https://other.example/")]
    [InlineData("rewrite", "/a")]
    [InlineData("dictionary-versions", "0")]
    [InlineData("dictionary-versions", "9")]
    [InlineData("dictionary-cpu", "0")]
    [InlineData("dictionary-cpu", "101")]
    [InlineData("dictionary-dir", "")]
    [InlineData("page-dictionary", "on")]
    [InlineData("compress-memory", "-1")]
    [InlineData("compress-memory", "")]
    [InlineData("compress-memory", "k")]
    [InlineData("compress-memory", "1.5g")]
    [InlineData("compress-memory", "1e3")]
    [InlineData("compress-memory", "9999999t")]
    [InlineData("compress-memory", "99999999999999999999")]
    [InlineData("compress-memory", "64\0")]
    [InlineData("compress-memory", "64\0k")]
    [InlineData("watch", "sometimes")]
    [InlineData("cache-max-file", "2g")]
    [InlineData("descriptors", "-1")]
    [InlineData("descriptors", "many")]
    [InlineData("entries-max", "2147483648")]
    [InlineData("entries-max", "5\0")]
    public void A_text_that_cannot_be_meant_is_refused_with_cause_and_remedy(string key, string text)
    {
        SiteException refusal = Assert.Throws<SiteException>(() => Apply(Options, key, text));

        Assert.EndsWith(".", refusal.Cause, StringComparison.Ordinal);
        Assert.NotEmpty(refusal.Remedy);
    }

    [Theory]
    [MemberData(nameof(Keys))]
    public void Each_option_s_default_is_what_holds_without_it(string key)
    {
        ServerOption option = RowOf(key);
        if (option.Default.Length > 0)
        {
            Assert.Equal(Describe(Options), Describe(Apply(Options, key, option.Default)));
        }
    }

    [Theory]
    [MemberData(nameof(Keys))]
    public void Each_option_is_explained_in_a_sentence_and_its_choices_are_valid(string key)
    {
        ServerOption option = RowOf(key);

        Assert.Matches("^[a-z][a-z-]*[a-z]$", option.Key);
        Assert.Matches(@"^[A-Z].*[^.]\.$", option.Help);
        Assert.InRange(option.Help.Length, 20, 110);
        Assert.NotEmpty(option.ValueForm);
        Assert.All(option.Choices, choice => Apply(Options, key, choice));
        Assert.Equal(option.Kind is OptionValueKind.Switch or OptionValueKind.Choice || option.Default == "auto", option.Choices.Count > 0);
        if (option.BareValue is not null)
        {
            Apply(Options, key, option.BareValue);
        }
    }

    [Fact]
    public void Each_property_but_the_root_has_an_option_and_keys_are_unique()
    {
        // A text that differs from the default, for each kind.
        Dictionary<string, string> texts = new()
        {
            ["index"] = "a",
            ["dotfiles"] = "serve",
            ["spa"] = "/a",
            ["error-page"] = "500=/a",
            ["archives"] = "zip",
            ["charset"] = "none",
            ["mime"] = "a=b/c",
            ["cache-control"] = "*=no-store",
            ["header"] = "X: y",
            ["cors"] = "*",
            ["auth"] = "a",
            ["allow"] = "all",
            ["deny"] = "all",
            ["forward-auth"] = "http://a",
            ["proxy"] = "/a http://a",
            ["proxy-allow"] = "http://a",
            ["page-dictionary"] = "auto",
            ["proxy-forwarded"] = "none",
            ["rate-limit"] = "1/s",
            ["realm"] = "a",
            ["redirect"] = "/a /b",
            ["rewrite"] = "/a /b",
            ["site-files"] = "off",
            ["merge-slashes"] = "off",
            ["compress"] = "off",
            ["sendfile"] = "off",
            ["watch"] = "off",
        };
        HashSet<string> set = [];
        Dictionary<string, string> before = Describe(Options);
        foreach (ServerOption option in Rows.Concat(RateLimitRows.OfSites))
        {
            string text = texts.GetValueOrDefault(option.Key, option.Kind == OptionValueKind.Switch ? "on" : "1");
            set.UnionWith(Describe(Apply(Options, option.Key, text)).Except(before).Select(pair => pair.Key));
        }

        set.UnionWith(Describe(Apply(Options, "auth", "/a=b")).Except(before).Select(pair => pair.Key));

        // A check of a configuration works in no background, which nobody can configure.
        string[] others = [nameof(SiteOptions.Root), nameof(SiteOptions.WorksInBackground)];
        Assert.Equal(before.Keys.Except(others).Order(), set.Order());
        Assert.Equal(Rows.Length, Rows.Select(option => option.Key).Distinct().Count());
        Assert.DoesNotContain(Rows, static option => option.Key == "root");
    }

    [Fact]
    public void Only_what_is_repeatable_adds_up()
    {
        foreach (ServerOption option in Rows.Where(option => option.Occurrence == OptionOccurrence.Repeatable))
        {
            string[] texts = option.Key switch
            {
                "error-page" => ["500=/a", "501=/b"],
                "mime" => ["a=b/c", "d=e/f"],
                "header" => ["X: y", "Y: z"],
                "auth" => ["/a=b", "/c=d"],
                "allow" or "deny" => ["all", "/a=unix"],
                "forward-auth" => ["http://a", "/b=http://b"],
                "proxy" => ["/a http://a", "/b http://b"],
                "cache-control" => ["*=no-store", "/a=no-cache"],
                _ => ["/a /b", "/c /d"],
            };
            SiteOptions once = Apply(Options, option.Key, texts[0]);
            int added = Describe(Apply(once, option.Key, texts[1])).Sum(pair => pair.Value.Length)
                - Describe(Apply(Options, option.Key, texts[1])).Sum(pair => pair.Value.Length);
            Assert.True(added > 0, option.Key);
        }
    }

    /// <summary>The options with one set; null stands for the flag without a value.</summary>
    private static SiteOptions Apply(SiteOptions options, string key, string? text) =>
        RowOf(key).Apply(new ServeOptions { Site = options }, text ?? RowOf(key).BareValue!).Site;

    private static ServerOption RowOf(string key) => Rows.Concat(RateLimitRows.OfSites).Single(row => row.Key == key);

    private static Dictionary<string, string> Describe(SiteOptions options) =>
        typeof(SiteOptions).GetProperties(BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.Instance)
            .Where(static property => property.CanWrite && property.Name != nameof(SiteOptions.PrivateFiles))
            .ToDictionary(property => property.Name, property => property.GetValue(options) switch
            {
                string text => text,
                IEnumerable items => string.Join(',', items.Cast<object>()),
                CorsOptions cors => string.Join(',', cors.Origins),
                object value => value.ToString()!,
                null => "",
            });
}
