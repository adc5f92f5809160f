using Millrace.Conformance.Tests.Kit;

namespace Millrace.Conformance.Tests.Ranges;

public class SingleRangeTests
{
    private const string Section = "RFC 9110 14.1.2";
    private const int Size = 4321;

    private static byte[] Text => Site.Files["/text.txt"];

    [Theory]
    [Behaviour(Section, 19, "bytes=0-0 is the first byte.")]
    public async Task The_first_byte_is_served(Site site) => (await AskAsync(site, "bytes=0-0")).IsPart(Text, 0, 0);

    [Theory]
    [Behaviour(Section, 19, "bytes=100-199 is the hundred bytes from the hundredth.")]
    public async Task A_range_in_the_middle_is_served(Site site) => (await AskAsync(site, "bytes=100-199")).IsPart(Text, 100, 199);

    [Theory]
    [Behaviour(Section, 19, "bytes=4000- is all from the 4,000th byte.")]
    public async Task A_range_without_an_end_is_served(Site site) => (await AskAsync(site, "bytes=4000-")).IsPart(Text, 4000, Size - 1);

    [Theory]
    [Behaviour(Section, 19, "bytes=-100 is the last hundred bytes.")]
    public async Task A_suffix_is_served(Site site) => (await AskAsync(site, "bytes=-100")).IsPart(Text, Size - 100, Size - 1);

    [Theory]
    [Behaviour(Section, 19, "bytes=-1 is the last byte.")]
    public async Task The_last_byte_is_served(Site site) => (await AskAsync(site, "bytes=-1")).IsPart(Text, Size - 1, Size - 1);

    [Theory]
    [Behaviour(Section, 19, "A suffix that is longer than the file is the whole file, as 206.")]
    public async Task A_suffix_longer_than_the_file_is_all_of_it(Site site) =>
        (await AskAsync(site, "bytes=-999999")).IsPart(Text, 0, Size - 1);

    [Theory]
    [Behaviour(Section, 19, "An end past the file's is the file's.")]
    public async Task An_end_past_the_files_is_clamped(Site site) =>
        (await AskAsync(site, "bytes=4300-999999")).IsPart(Text, 4300, Size - 1);

    [Theory]
    [Behaviour(Section, 19, "bytes=0- is the whole file, as 206.")]
    public async Task A_range_of_everything_is_206(Site site) => (await AskAsync(site, "bytes=0-")).IsPart(Text, 0, Size - 1);

    [Theory]
    [Behaviour("RFC 9110 15.5.17", 19, "A range that begins after the end is answered with 416 and the size.")]
    public Task A_range_after_the_end_is_416(Site site) => Expect.EachAsync(
        [$"bytes={Size}-", $"bytes={Size}-{Size}", "bytes=999999-1000000"],
        async range => (await AskAsync(site, range)).Is(416).Has("Content-Range", $"bytes */{Size}"));

    [Theory]
    [Behaviour(Section, 19, "A suffix of no bytes cannot be satisfied: 416.")]
    public async Task A_suffix_of_nothing_is_416(Site site) =>
        (await AskAsync(site, "bytes=-0")).Is(416).Has("Content-Range", $"bytes */{Size}");

    [Theory]
    [Behaviour(
        "RFC 9110 14.2", 19,
        "A Range with an invalid part is ignored as a whole: 200.")]
    public Task A_malformed_range_is_ignored(Site site) => Expect.EachAsync(
        ["bytes=", "bytes=-", "bytes=a-b", "bytes=5-2", "bytes 0-4", "bytes=0-4-6", "bytes=--5", "bytes=0x0-4", "bytes=1.5-3",
            "bytes=0", "0-4",
            "bytes", "=0-4", "bytes==0-4", "bytes=+0-4", "bytes=0-+4", "", "foo", "bytes=7-1", "bytes=foo", "bytes=1-4,x", "bytes=x,1-4",
            "bytes=7-1,1-4", "bytes=999999-,x", "bytes=7-1,999999-", "bytes=,"],
        async range => (await AskAsync(site, range)).IsWhole(Text));

    [Theory]
    [Behaviour(
        "RFC 9110 14.2", 19,
        "416 is sent only if the Range is valid and no part of it can be satisfied.")]
    public Task A_valid_range_of_nothing_is_416(Site site) => Expect.EachAsync(
        ["bytes=999999-", "bytes=999999-,5000-6000", "bytes=-0", "bytes=-0,999999-"],
        async range => (await AskAsync(site, range)).Is(416).Has("Content-Range", $"bytes */{Size}"));

    [Theory]
    [Behaviour("RFC 9110 14.2", 19, "A unit that is not known is ignored.")]
    public Task An_unknown_unit_is_ignored(Site site) => Expect.EachAsync(
        ["items=0-4", "byte=0-4", "bytesx=0-4", "seconds=1-2", "none=0-4"],
        async range => (await AskAsync(site, range)).IsWhole(Text));

    [Theory]
    [Behaviour("RFC 9110 14.1", 19, "The unit is case-insensitive.")]
    public async Task The_unit_has_no_case(Site site) => (await AskAsync(site, "BYTES=10-19")).IsPart(Text, 10, 19);

    [Theory]
    [Behaviour("RFC 9110 5.6.1.2", 19, "White space and empty elements around a range are ignored.")]
    public Task White_space_around_a_range_is_ignored(Site site) => Expect.EachAsync(
        ["bytes=10-19 ", "bytes=,10-19", "bytes=10-19,", "bytes= , 10-19 ,\t"],
        async range => (await AskAsync(site, range)).IsPart(Text, 10, 19));

    [Theory]
    [Behaviour(Section, 19, "An end of twenty digits is an end past the file's.")]
    public Task An_end_of_twenty_digits_is_clamped(Site site) => Expect.EachAsync(
        ["99999999999999999999", "18446744073709551616", "9223372036854775808", "9223372036854775807"],
        async end => (await AskAsync(site, $"bytes=4300-{end}")).IsPart(Text, 4300, Size - 1));

    [Theory]
    [Behaviour(Section, 19, "A start of twenty digits lies after the end: 416.")]
    public Task A_start_of_twenty_digits_is_416(Site site) => Expect.EachAsync(
        ["99999999999999999999-", "18446744073709551616-18446744073709551617", "9223372036854775808-"],
        async range => (await AskAsync(site, $"bytes={range}")).Is(416));

    [Theory]
    [Behaviour(Section, 19, "A suffix of twenty digits is the whole file.")]
    public async Task A_suffix_of_twenty_digits_is_all(Site site) =>
        (await AskAsync(site, "bytes=-99999999999999999999")).IsPart(Text, 0, Size - 1);

    [Theory]
    [Behaviour("RFC 9110 15.3.7", 17, "A 206 has the Date, ETag, Cache-Control, Content-Location, Expires and Vary of the 200.")]
    public Task A_206_has_the_fields_of_the_200(Site site) => Expect.EachAsync(["/text.txt", "/app.js"], async target =>
    {
        Response whole = (await site.GetAsync(target)).Is(200);
        Response part = (await site.GetAsync(target, "Range: bytes=0-4")).Is(206).Has("Date");
        foreach (string name in (string[])["ETag", "Cache-Control", "Content-Location", "Vary", "Content-Type"])
        {
            Expect.Equal(whole[name], part[name], $"the 206's {name}");
        }

        Expect.Equal(whole["Expires"] is null, part["Expires"] is null, "the 206 without Expires");
    });

    [Theory]
    [Behaviour("RFC 9110 14.3", 19, "A response says that ranges are supported.")]
    public async Task A_file_says_accept_ranges(Site site) => (await site.GetAsync("/text.txt")).Is(200).Has("Accept-Ranges", "bytes");

    [Theory]
    [Behaviour("RFC 9110 15.5.17", 19, "A 416 is complete, and the connection continues.")]
    public async Task A_416_keeps_the_connection(Site site)
    {
        using Wire wire = await site.ConnectAsync();
        await wire.GoesOnAfterAsync((await wire.GetAsync("/text.txt", "Range: bytes=999999-")).Is(416));
    }

    [Theory]
    [Behaviour("RFC 9110 14.4", 8, "No range of an empty file is answered with 206.")]
    public Task A_range_of_an_empty_file_is_no_206(Site site) => Expect.EachAsync(
        ["bytes=0-0", "bytes=0-", "bytes=-1", "bytes=5-9", "bytes=0-0,-1"],
        async range => (await site.GetAsync("/empty.txt", $"Range: {range}")).Is(200, 416));

    [Theory]
    [Behaviour("RFC 9110 14.2", 19, "A Range on what does not exist is ignored: 404.")]
    public async Task A_range_of_nothing_is_404(Site site) =>
        (await site.GetAsync("/missing.txt", "Range: bytes=0-4")).Is(404).Lacks("Content-Range");

    [Theory]
    [Behaviour("RFC 9110 14.2", 15, "A Range on a redirect is ignored.")]
    public async Task A_range_of_a_redirect_is_ignored(Site site) =>
        (await site.GetAsync("/dir", "Range: bytes=0-4")).Is(301, 302, 307, 308).Lacks("Content-Range");

    [Theory]
    [Behaviour(Section, 19, "An index page has ranges like every file.")]
    public async Task A_range_of_an_index_is_served(Site site) =>
        (await site.GetAsync("/dir/", "Range: bytes=2-9")).IsPart(Site.Files["/dir/index.html"], 2, 9);

    [Theory]
    [Behaviour(Section, 19, "Ranges of a large file are the file's bytes, wherever they begin.")]
    public Task Ranges_of_a_large_file_are_its_bytes(Site site) => Expect.EachAsync(
        ["0-0", "65535-65536", "1-2097150", "2097151-2097151", "262143-524289", "1000000-1999999"],
        async range =>
        {
            int[] ends = [.. range.Split('-').Select(int.Parse)];
            (await site.GetAsync("/2m.bin", $"Range: bytes={range}")).IsPart(Site.Files["/2m.bin"], ends[0], ends[1]);
        });

    [Theory]
    [Behaviour(Section, 9, "Ranges around 4 GiB are the file's bytes.")]
    public async Task A_range_over_4_gib_is_served(Site site)
    {
        const long boundary = 4L * 1024 * 1024 * 1024;
        Response response = (await site.GetAsync("/huge.bin", $"Range: bytes={boundary - 4}-{boundary + 3}")).Is(206);
        response.Has("Content-Range", $"bytes {boundary - 4}-{boundary + 3}/{Fixture.HugeBytes}");
        Expect.Bytes("boundary"u8, response.Body);
    }

    [Theory]
    [Behaviour(Section, 9, "The last bytes of a file over 4 GiB are found by a suffix and by their offset.")]
    public async Task The_end_of_a_huge_file_is_served(Site site)
    {
        Response suffix = (await site.GetAsync("/huge.bin", "Range: bytes=-4")).Is(206);
        suffix.Has("Content-Range", $"bytes {Fixture.HugeBytes - 4}-{Fixture.HugeBytes - 1}/{Fixture.HugeBytes}");
        Expect.Bytes("last"u8, suffix.Body);
        Response end = (await site.GetAsync("/huge.bin", $"Range: bytes={Fixture.HugeBytes - 4}-")).Is(206);
        Expect.Bytes("last"u8, end.Body);
        Response behind = (await site.GetAsync("/huge.bin", $"Range: bytes={Fixture.HugeBytes}-")).Is(416);
        behind.Has("Content-Range", $"bytes */{Fixture.HugeBytes}");
    }

    private static Task<Response> AskAsync(Site site, string range) => site.GetAsync("/text.txt", $"Range: {range}");
}
