using Millrace.Conformance.Tests.Kit;

namespace Millrace.Conformance.Tests.Sites;

/// <summary>--cors, --security-headers, --header, --cache-control, --charset, --mime: fields that a site adds or changes.</summary>
public class FieldOptionTests
{
    private const int Group = 29;
    private const string Fetch = "Fetch 3.3";

    [Theory]
    [Behaviour(Fetch, Group, "--cors: every response may be read from every origin.")]
    public async Task Every_origin_may_read(Site site)
    {
        Site open = site.With("--cors");
        (await open.GetAsync("/text.txt", "Origin: https://a.example")).Is(200).Has("Access-Control-Allow-Origin", "*");
        (await open.GetAsync("/text.txt", "Origin: https://a.example", "Range: bytes=0-4")).Is(206).Has("Access-Control-Allow-Origin", "*");
        (await open.GetAsync("/text.txt", "Origin: https://a.example", "If-None-Match: *")).Is(304).Has("Access-Control-Allow-Origin", "*");
        (await open.GetAsync("/missing.txt", "Origin: https://a.example")).Is(404).Has("Access-Control-Allow-Origin", "*");
    }

    [Theory]
    [Behaviour(Fetch, Group, "--cors ORIGIN: listed origins are allowed, others are not, and the response varies by Origin.")]
    public async Task Listed_origins_may_read(Site site)
    {
        Site listed = site.With("--cors", "https://a.example,https://b.example:8443");
        foreach (string origin in (string[])["https://a.example", "https://b.example:8443"])
        {
            (await listed.GetAsync("/text.txt", $"Origin: {origin}")).Is(200).Has("Access-Control-Allow-Origin", origin);
        }

        string[] others = ["https://c.example", "http://a.example", "https://a.example.evil.example", "https://b.example", "null"];
        foreach (string origin in others)
        {
            Response response = (await listed.GetAsync("/text.txt", $"Origin: {origin}")).Is(200).Lacks("Access-Control-Allow-Origin");
            Expect.That(response.Lists("Vary", "Origin"), "no Vary: Origin");
        }

        Expect.That((await listed.GetAsync("/text.txt")).Lists("Vary", "Origin"), "no Vary: Origin without Origin");
    }

    [Theory]
    [Behaviour(Fetch, Group, "--cors: a preflight succeeds and names the methods.")]
    public async Task A_preflight_succeeds(Site site)
    {
        Response response = (await site.With("--cors").AskAsync(
            "OPTIONS", "/text.txt", "Origin: https://a.example", "Access-Control-Request-Method: GET",
                "Access-Control-Request-Headers: range"));
        response.Is(200, 204).Has("Access-Control-Allow-Origin", "*").Has("Access-Control-Allow-Methods");
        Expect.That(response.Lists("Access-Control-Allow-Methods", "GET"), $"methods: {response["Access-Control-Allow-Methods"]}");
        Expect.That(
            response.Lists("Access-Control-Allow-Headers", "*") || response.Lists("Access-Control-Allow-Headers", "range"),
            $"Access-Control-Allow-Headers: {response["Access-Control-Allow-Headers"] ?? "missing"}");
    }

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, Group, "--security-headers: files, redirects and errors have the preset.")]
    public Task Every_response_has_the_preset(Site site) => Expect.EachAsync(
        ["/text.txt", "/", "/dir", "/missing.txt", "/types/file.svg"],
        async target =>
        {
            Response response = await site.With("--security-headers").GetAsync(target);
            response.Has("X-Content-Type-Options", "nosniff").Has("Referrer-Policy");
            Expect.That(response["X-Frame-Options"] is not null || response["Content-Security-Policy"] is not null, "nothing about frames");
        });

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, Group, "--security-headers: the preset is off by default.")]
    public async Task The_preset_is_off_by_default(Site site) =>
        (await site.With().GetAsync("/text.txt")).Is(200).Lacks("Referrer-Policy").Lacks("X-Frame-Options");

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, Group, "--header: a field of every response, with spaces in its value.")]
    public Task A_field_is_added(Site site) => Expect.EachAsync(
        ["/text.txt", "/", "/missing.txt", "/dir"],
        async target => (await site.With("--header", "X-Mill: a race").GetAsync(target)).Has("X-Mill", "a race"));

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, Group, "--header GLOB=: a field of matching paths only.")]
    [Trait("Duration", "Full")]
    public async Task A_field_is_added_by_pattern(Site site)
    {
        Site added = site.With("--header", "/assets/*=X-Asset: 1", "--header", "*.css=X-Style: 2");
        (await added.GetAsync("/assets/app.js")).Is(200).Has("X-Asset", "1").Lacks("X-Style");
        (await added.GetAsync("/assets/index-BkX3f9aQ.css")).Is(200).Has("X-Asset", "1").Has("X-Style", "2");
        (await added.GetAsync("/style.css")).Is(200).Lacks("X-Asset").Has("X-Style", "2");
        (await added.GetAsync("/text.txt")).Is(200).Lacks("X-Asset").Lacks("X-Style");
    }

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, Group, "--cache-control GLOB=VALUE: the first that matches, in the 304 and the 206 as well.")]
    public async Task Cache_control_can_be_configured(Site site)
    {
        Site reported = site.With("--cache-control", "*.css=public, max-age=60", "--cache-control", "/assets/*=no-store");
        (await reported.GetAsync("/assets/index-BkX3f9aQ.css")).Is(200).Has("Cache-Control", "public, max-age=60");
        (await reported.GetAsync("/assets/app.js")).Is(200).Has("Cache-Control", "no-store");
        (await reported.GetAsync("/style.css", "If-None-Match: *")).Is(304).Has("Cache-Control", "public, max-age=60");
        (await reported.GetAsync("/style.css", "Range: bytes=0-4")).Is(206).Has("Cache-Control", "public, max-age=60");
        (await reported.GetAsync("/text.txt")).Is(200).Has("Cache-Control", "no-cache");
    }

    [Theory]
    [Behaviour("RFC 9110 8.3.2", Group, "--charset NAME: the charset in the type of texts.")]
    public async Task A_charset_can_be_configured(Site site)
    {
        Site reported = site.With("--charset", "iso-8859-1");
        (await reported.GetAsync("/text.txt")).Is(200).Has("Content-Type", "text/plain; charset=iso-8859-1");
        (await reported.GetAsync("/types/file.png")).Is(200).Has("Content-Type", "image/png");
    }

    [Theory]
    [Behaviour("RFC 9110 8.3", Group, "--mime EXT=TYPE: the type of an extension that is not built in.")]
    public async Task A_type_can_be_configured(Site site) =>
        (await site.With("--mime", "zzz=application/x-zzz").GetAsync("/types/file.zzz")).Is(200).Has("Content-Type", "application/x-zzz");
}
