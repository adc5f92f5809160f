using System.Globalization;
using System.Text.RegularExpressions;
using Millrace.Conformance.Tests.Kit;

namespace Millrace.Conformance.Tests.Conditions;

public partial class ValidatorTests
{
    [Theory]
    [Behaviour("RFC 9110 8.8.3", 5, "A file has a well-formed entity-tag.")]
    public Task A_file_has_an_entity_tag(Site site) => Expect.EachAsync(
        ["/text.txt", "/one.txt", "/empty.txt", "/2m.bin", "/huge.bin", "/", "/app.js"],
        async target =>
        {
            string tag = (await site.HeadAsync(target)).Is(200).Has("ETag").ETag!;
            Expect.That(EntityTag().IsMatch(tag), $"ETag: {tag}");
        });

    [Theory]
    [Behaviour("RFC 9110 8.8.1", 5, "The entity-tag of a file that has not changed for long is strong.")]
    public async Task The_entity_tag_is_strong(Site site)
    {
        string tag = (await site.GetAsync("/text.txt")).Has("ETag").ETag!;
        Expect.That(!tag.StartsWith("W/", StringComparison.Ordinal), $"weak: {tag}");
    }

    [Theory]
    [Behaviour("RFC 9110 8.8.3", 5, "An entity-tag does not change while the file does not.")]
    public async Task An_entity_tag_is_stable(Site site) => Expect.Equal(
        (await site.GetAsync("/text.txt")).Has("ETag").ETag, (await site.GetAsync("/text.txt")).ETag, "the next ETag");

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, 5, "Files of the same size and date but other content have different entity-tags.")]
    public async Task Different_files_have_different_tags(Site site)
    {
        string? one = (await site.GetAsync("/text.txt")).Has("ETag").ETag;
        Expect.That((await site.GetAsync("/other.txt")).ETag != one, "the same ETag");
    }

    [Theory]
    [Behaviour("RFC 9110 8.8.2", 5, "Last-Modified is the file's time, in the preferred form.")]
    public async Task Last_modified_is_the_files_time(Site site) =>
        (await site.GetAsync("/text.txt")).Is(200).Has("Last-Modified", Fixture.Modified.ToString("R", CultureInfo.InvariantCulture));

    [Theory]
    [Behaviour("RFC 9110 8.8.2", 5, "A time before 2000 is sent unchanged.")]
    public async Task An_old_time_is_told(Site site) =>
        (await site.GetAsync("/times/old.txt")).Is(200).Has("Last-Modified", "Fri, 31 Dec 1999 23:59:59 GMT");

    [Theory]
    [Behaviour("RFC 9110 8.8.2.1", 5, "Last-Modified is never later than Date.")]
    public async Task Last_modified_is_not_in_the_future(Site site)
    {
        Response response = (await site.GetAsync("/times/future.txt")).Is(200).Has("Date");
        Expect.That(
            response["Last-Modified"] is not { } modified || Parse(modified) <= Parse(response["Date"]!),
            $"Last-Modified: {response["Last-Modified"]}");
    }

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, 5, "A file of 1970, as reproducible builds make them, has no Last-Modified.")]
    public async Task A_file_of_1970_has_no_last_modified(Site site) =>
        (await site.GetAsync("/times/epoch.txt")).Is(200).Lacks("Last-Modified");

    [Theory]
    [Behaviour("RFC 9110 6.6.1", 27, "Every response of 2xx, 3xx and 4xx has a Date.")]
    public Task Every_response_has_a_date(Site site) => Expect.EachAsync(
        ["GET /text.txt", "GET /missing.txt", "GET /dir", "HEAD /text.txt", "OPTIONS /text.txt", "DELETE /text.txt", "GET /%zz"],
        async line =>
        {
            string[] words = line.Split(' ');
            (await site.AskAsync(words[0], words[1])).Has("Date");
        });

    [Theory]
    [Behaviour("RFC 9110 6.6.1", 27, "The response to a malformed request has a Date.")]
    public async Task A_400_has_a_date(Site site)
    {
        // Kestrel takes a request of HTTP/3 that names no host.
        int[] statuses = Fronts.IsHttp3(site.Front) && Fronts.BackendOf(site.Front) == Fronts.Kestrel ? [400, 200] : [400];
        (await site.SendAsync("GET /one.txt HTTP/1.1\r\n\r\n")).Is(statuses).Has("Date");
    }

    [Theory]
    [Behaviour("RFC 9110 5.6.7", 27, "Date is an IMF-fixdate, and the current time.")]
    public async Task The_date_is_the_current_time(Site site)
    {
        DateTime before = DateTime.UtcNow;
        string date = (await site.GetAsync("/text.txt")).Has("Date")["Date"]!;
        Expect.That(Parse(date) > before.AddSeconds(-3) && Parse(date) < DateTime.UtcNow.AddSeconds(3), $"Date: {date}");
    }

    [Theory]
    [Behaviour("RFC 9110 15.4.5", 17, "A 304 has the ETag of the 200.")]
    public async Task A_304_has_the_tag(Site site)
    {
        string tag = (await site.GetAsync("/text.txt")).Is(200).Has("ETag").ETag!;
        (await site.GetAsync("/text.txt", "If-None-Match: *")).Is(304).Has("ETag", tag);
    }

    [Theory]
    [Behaviour("RFC 9110 15.4.5", 17, "A 304 has the Cache-Control, Expires, Content-Location and Vary of the 200, and a Date.")]
    public Task A_304_has_the_fields_of_caching(Site site) =>
        Expect.EachAsync(["/text.txt", "/app.js", "/assets/app.3f9a1c2b.js"], async target =>
    {
        Response whole = (await site.GetAsync(target, "Accept-Encoding: gzip")).Is(200);
        Response response = (await site.GetAsync(target, "Accept-Encoding: gzip", "If-None-Match: *")).Is(304).Has("Date");
        foreach (string name in (string[])["Cache-Control", "Content-Location", "Vary"])
        {
            Expect.Equal(whole[name], response[name], $"the 304's {name}");
        }

        Expect.Equal(whole["Expires"] is null, response["Expires"] is null, "the 304 without Expires");
    });

    [Theory]
    [Behaviour("RFC 9110 15.4.5", 17, "A 304 has no body, and the connection goes on.")]
    public async Task A_304_has_no_body(Site site)
    {
        using Wire wire = await site.ConnectAsync();
        await wire.SendAsync(Site.Request("GET", "/text.txt", "If-None-Match: *") + Site.Request("GET", "/one.txt"));
        (await wire.ReadResponseAsync()).Is(304);
        (await wire.ReadResponseAsync()).IsWhole(Site.Files["/one.txt"]);
    }

    [Theory]
    [Behaviour("RFC 9110 8.6", 17, "A 304 has no Content-Length, or that of the 200.")]
    public async Task A_304_has_no_other_length(Site site)
    {
        Response response = (await site.GetAsync("/text.txt", "If-None-Match: *")).Is(304);
        Expect.That(response["Content-Length"] is null or "4321", $"Content-Length: {response["Content-Length"]}");
    }

    [Theory]
    [Behaviour("RFC 9110 15.4.5", 17, "A 304 describes no content: neither its type nor its coding nor a range.")]
    public async Task A_304_describes_no_content(Site site) => (await site.GetAsync("/app.js", "Accept-Encoding: gzip", "If-None-Match: *"))
        .Is(304).Lacks("Content-Type").Lacks("Content-Encoding").Lacks("Content-Range").Lacks("Transfer-Encoding");

    private static DateTime Parse(string date)
    {
        const DateTimeStyles universal = DateTimeStyles.AssumeUniversal | DateTimeStyles.AdjustToUniversal;
        bool isDate = DateTime.TryParseExact(date, "R", CultureInfo.InvariantCulture, universal, out DateTime parsed);
        Expect.That(isDate, $"the date '{date}'");
        return parsed;
    }

    [GeneratedRegex("""\A(W/)?"[!\x23-\x7e\x80-\xff]*"\z""")]
    private static partial Regex EntityTag();
}
