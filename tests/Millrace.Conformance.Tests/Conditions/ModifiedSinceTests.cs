using System.Globalization;
using Millrace.Conformance.Tests.Kit;

namespace Millrace.Conformance.Tests.Conditions;

public class ModifiedSinceTests
{
    private const string Section = "RFC 9110 13.1.3";

    private static string Rfc850(DateTime date) =>
        date.ToString("dddd, dd-MMM-yy HH:mm:ss 'GMT'", CultureInfo.InvariantCulture);

    private static string Asctime(DateTime date) =>
        string.Create(CultureInfo.InvariantCulture, $"{date:ddd MMM} {date.Day,2} {date:HH:mm:ss yyyy}");

    [Theory]
    [Behaviour(Section, 16, "If-Modified-Since with the file's own date is answered with 304.")]
    public async Task The_same_date_is_304(Site site) => (await AskAsync(site, $"{Fixture.Modified:R}")).Is(304);

    [Theory]
    [Behaviour(Section, 16, "If-Modified-Since with a later date is answered with 304.")]
    public async Task A_later_date_is_304(Site site) => (await AskAsync(site, $"{Fixture.Modified.AddDays(7):R}")).Is(304);

    [Theory]
    [Behaviour(Section, 16, "If-Modified-Since with an earlier date is answered with the file.")]
    public async Task An_earlier_date_is_200(Site site) => (await AskAsync(site, $"{Fixture.Modified.AddSeconds(-1):R}")).Is(200);

    [Theory]
    [Behaviour(Section, 16, "An If-Modified-Since that is not a date is ignored.")]
    public Task What_is_no_date_is_ignored(Site site) => Expect.EachAsync(
        ["yesterday", "", "0", "Sat, 03 Feb 2024 04:05:06", "Sat, 33 Feb 2024 04:05:06 GMT", "Sat, 03 Foo 2024 04:05:06 GMT",
            "Sat, 03 Feb 2024 25:05:06 GMT", "2024-02-03T04:05:06Z"],
        async date => (await AskAsync(site, date)).Is(200));

    [Theory]
    [Behaviour("RFC 9110 5.6.7", 16, "Dates in the form of RFC 850 are understood.")]
    public async Task The_form_of_rfc_850_is_understood(Site site)
    {
        (await AskAsync(site, Rfc850(Fixture.Modified))).Is(304);
        (await AskAsync(site, Rfc850(Fixture.Modified.AddDays(-1)))).Is(200);
    }

    [Theory]
    [Behaviour("RFC 9110 5.6.7", 16, "Dates in the form of asctime are understood.")]
    public async Task The_form_of_asctime_is_understood(Site site)
    {
        (await AskAsync(site, Asctime(Fixture.Modified))).Is(304);
        (await AskAsync(site, Asctime(Fixture.Modified.AddDays(-1)))).Is(200);
    }

    [Theory]
    [Behaviour("RFC 9110 5.6.7", 16, "A two-digit year that seems more than 50 years ahead is in the past.")]
    public async Task A_far_year_of_two_digits_is_of_the_past(Site site)
    {
        // 60 years ahead, read as 40 years ago: before the file was modified.
        var date = new DateTime(DateTime.UtcNow.Year - 40, 6, 15, 12, 0, 0, DateTimeKind.Utc);
        (await AskAsync(site, Rfc850(date))).Is(200);
    }

    [Theory]
    [Behaviour(Section, 16, "HEAD with If-Modified-Since is answered with 304.")]
    public async Task If_modified_since_applies_to_head(Site site) =>
        (await site.HeadAsync("/text.txt", $"If-Modified-Since: {Fixture.Modified:R}")).Is(304);

    [Theory]
    [Behaviour("RFC 9110 13.2.1", 16, "If-Modified-Since on what does not exist is ignored: 404.")]
    public async Task If_modified_since_is_ignored_where_nothing_is_found(Site site) =>
        (await site.GetAsync("/missing.txt", $"If-Modified-Since: {DateTime.UtcNow:R}")).Is(404);

    [Theory]
    [Behaviour(Section, 5, "A file's own date gives 304, even if its time has a fraction of a second.")]
    public async Task A_fraction_of_a_second_is_dropped(Site site)
    {
        string date = (await site.GetAsync("/times/fraction.txt")).Has("Last-Modified")["Last-Modified"]!;
        (await site.GetAsync("/times/fraction.txt", $"If-Modified-Since: {date}")).Is(304);
    }

    [Theory]
    [Behaviour("RFC 9110 13.1.4", 16, "If-Unmodified-Since with the file's own date or a later one is answered with the file.")]
    public Task Unmodified_since_then_is_200(Site site) => Expect.EachAsync(
        [$"{Fixture.Modified:R}", $"{Fixture.Modified.AddDays(1):R}", Rfc850(Fixture.Modified), Asctime(Fixture.Modified)],
        async date => (await site.GetAsync("/text.txt", $"If-Unmodified-Since: {date}")).Is(200));

    [Theory]
    [Behaviour("RFC 9110 13.1.4", 16, "If-Unmodified-Since with an earlier date is answered with 412.")]
    public async Task Modified_since_then_is_412(Site site) =>
        (await site.GetAsync("/text.txt", $"If-Unmodified-Since: {Fixture.Modified.AddSeconds(-1):R}")).Is(412);

    [Theory]
    [Behaviour("RFC 9110 13.1.4", 16, "An If-Unmodified-Since that is not a date is ignored.")]
    public Task An_unmodified_since_that_is_no_date_is_ignored(Site site) => Expect.EachAsync(
        ["yesterday", "", "Sat, 33 Feb 2001 04:05:06 GMT"],
        async date => (await site.GetAsync("/text.txt", $"If-Unmodified-Since: {date}")).Is(200));

    private static Task<Response> AskAsync(Site site, string date) => site.GetAsync("/text.txt", $"If-Modified-Since: {date}");
}
