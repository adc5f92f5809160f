using Millrace.Conformance.Tests.Kit;

namespace Millrace.Conformance.Tests.Ranges;

public class MultipleRangeTests
{
    private const string Section = "RFC 9110 15.3.7.2";

    private static byte[] Text => Site.Files["/text.txt"];

    [Theory]
    [Behaviour(Section, 21, "Two ranges are answered with multipart/byteranges, each part the file's bytes.")]
    public async Task Two_ranges_are_two_parts(Site site) => await AskAsync(site, "bytes=0-9,1000-1099", (0, 9), (1000, 1099));

    [Theory]
    [Behaviour(Section, 21, "Ranges of every form may be mixed.")]
    public async Task Ranges_of_every_form_are_parts(Site site) =>
        await AskAsync(site, "bytes=10-19, 1000-1000, -21, 2000-2999", (10, 19), (1000, 1000), (4300, 4320), (2000, 2999));

    [Theory]
    [Behaviour(Section, 21, "Parts have the order in which they were requested.")]
    public async Task Parts_keep_their_order(Site site)
    {
        IReadOnlyList<Part> parts = Multipart.Parse(await site.GetAsync("/text.txt", "Range: bytes=3000-3009,0-9,1500-1509"));
        Expect.Equal("3000 0 1500", string.Join(' ', parts.Select(static part => part.First)), "the order");
    }

    [Theory]
    [Behaviour(Section, 21, "Each part has the type that the whole has.")]
    public async Task Parts_have_the_type_of_the_whole(Site site)
    {
        string type = (await site.GetAsync("/text.txt")).Is(200).Has("Content-Type")["Content-Type"]!;
        foreach (Part part in Multipart.Parse(await site.GetAsync("/text.txt", "Range: bytes=0-9,1000-1099")))
        {
            Expect.Equal(type, part.ContentType, "a part's Content-Type");
        }
    }

    [Theory]
    [Behaviour("RFC 9112 6.2", 21, "A multipart response has its exact length.")]
    public async Task A_multipart_response_has_a_length(Site site)
    {
        Response response = await site.GetAsync("/2m.bin", "Range: bytes=0-99,1000000-1499999,-5");
        response.Is(206).Has("Content-Length", $"{response.Body.Length}");
        Expect.Equal(3, Multipart.Parse(response).Count, "the number of parts");
    }

    [Theory]
    [Behaviour("RFC 9110 14.6", 21, "Parts of a large file are its bytes.")]
    public async Task Parts_of_a_large_file_are_its_bytes(Site site)
    {
        byte[] file = Site.Files["/2m.bin"];
        Check(file, await site.GetAsync("/2m.bin", "Range: bytes=0-0,65530-200000,1000000-1700000,-1"),
            (0, 0), (65530, 200000), (1000000, 1700000), (file.Length - 1, file.Length - 1));
    }

    [Theory]
    [Behaviour("RFC 9110 14.6", 9, "Parts on both sides of 4 GiB are the file's bytes.")]
    public async Task Parts_of_a_huge_file_are_its_bytes(Site site)
    {
        const long boundary = 4L * 1024 * 1024 * 1024;
        IReadOnlyList<Part> parts = Multipart.Parse(await site.GetAsync("/huge.bin", $"Range: bytes=0-4,{boundary - 4}-{boundary + 3},-4"));
        Expect.Equal(3, parts.Count, "the number of parts");
        Expect.Bytes("first"u8, parts[0].Body);
        Expect.Bytes("boundary"u8, parts[1].Body);
        Expect.Bytes("last"u8, parts[2].Body);
        Expect.Equal(boundary - 4, parts[1].First, "the second part's start");
    }

    [Theory]
    [Behaviour(Section, 21, "One range is never answered as multipart.")]
    public Task One_range_is_no_multipart(Site site) => Expect.EachAsync(
        ["bytes=5-9", "bytes=5-9,", "bytes=, 5-9"],
        async range =>
        {
            Response response = await site.GetAsync("/text.txt", $"Range: {range}");
            Expect.That(response["Content-Type"]?.StartsWith("multipart/", StringComparison.Ordinal) != true, "multipart");
        });

    [Theory]
    [Behaviour("RFC 9110 14.1.2", 21, "Where one range of two can be satisfied, it is served.")]
    public async Task A_range_that_cannot_be_satisfied_is_left_out(Site site)
    {
        Response response = (await site.GetAsync("/text.txt", "Range: bytes=999999-,5-9")).Is(206);
        if (response["Content-Range"] is not null)
        {
            response.IsPart(Text, 5, 9);
        }
        else
        {
            Check(Text, response, (5, 9));
        }
    }

    [Theory]
    [Behaviour("RFC 9110 15.5.17", 21, "Where none of several ranges can be satisfied, the response is 416.")]
    public async Task Several_ranges_after_the_end_are_416(Site site) =>
        (await site.GetAsync("/text.txt", "Range: bytes=5000-5001,999999-,-0")).Is(416).Has("Content-Range", "bytes */4321");

    [Theory]
    [Behaviour(Section, 21, "Ranges that overlap or touch cost no more than the file: they are joined, or the whole is sent.")]
    public Task Overlapping_ranges_are_joined(Site site) => Expect.EachAsync(
        ["bytes=0-,0-,0-,0-,0-", "bytes=0-4320,1-4320,2-4320", "bytes=0-99,100-199,200-299", "bytes=-4000,0-4000", "bytes=100-200,150-250"],
        async range =>
        {
            Response response = await site.GetAsync("/text.txt", $"Range: {range}");
            Expect.That(response.Is(200, 206, 416).Body.Length <= Text.Length + 500, $"{response.Status} with {response.Body.Length} bytes");
        });

    [Theory]
    [Behaviour(Section, 21, "Ranges are joined if fewer bytes are between them than another part would cost.")]
    public async Task Ranges_a_few_bytes_apart_are_one(Site site)
    {
        (await site.GetAsync("/text.txt", "Range: bytes=0-9,12-19")).IsPart(Text, 0, 19);
        await AskAsync(site, "bytes=1000-1009,2000-2009,1020-1029", (1000, 1029), (2000, 2009));
        await AskAsync(site, "bytes=0-9,1000-1009", (0, 9), (1000, 1009));
    }

    [Theory]
    [Behaviour(
        BehaviourAttribute.Choice, 21,
        "127 or 255 ranges, as zchunk (dnf) requests them, are served if they do not overlap.")]
    public Task As_many_ranges_as_zchunk_asks_for_are_served(Site site) => Expect.EachAsync(["127", "255"], async count =>
    {
        IEnumerable<int> numbers = Enumerable.Range(0, int.Parse(count, null));
        (int First, int Last)[] ranges = [.. numbers.Select(static i => (i * 8000, (i * 8000) + 4095 - i))];
        string range = string.Join(',', ranges.Select(static range => $"{range.First}-{range.Last}"));
        Check(Site.Files["/2m.bin"], await site.GetAsync("/2m.bin", $"Range: bytes={range}"), ranges);
    });

    [Theory]
    [Behaviour("RFC 9110 17.15", 21, "Hundreds of ranges cost no more than the file; if they overlap, the whole file is sent.")]
    public async Task Hundreds_of_ranges_cost_no_more_than_the_whole(Site site)
    {
        string overlapping = string.Join(',', Enumerable.Range(0, 200).Select(static i => $"{i * 8000}-{(i * 8000) + 99}"));
        (await site.GetAsync("/2m.bin", $"Range: bytes={overlapping},50-60")).IsWhole(Site.Files["/2m.bin"]);
        string small = string.Join(',', Enumerable.Range(0, 128).Select(static i => $"{i * 80}-{i * 80}"));
        Response response = await site.GetAsync("/10k.bin", $"Range: bytes={small}");
        Expect.That(response.Is(200, 206).Body.Length <= 10 * 1024 + 200, $"{response.Status} with {response.Body.Length} bytes");
    }

    [Theory]
    [Behaviour("RFC 9110 17.15", 21, "A thousand overlapping ranges cost no more than the file.")]
    public async Task A_flood_of_overlapping_ranges_is_not_served(Site site)
    {
        string flood = "bytes=" + string.Join(',', Enumerable.Range(0, 1000).Select(static first => $"{first}-"));
        Response response = await site.GetAsync("/2m.bin", $"Range: {flood}");
        int limit = Site.Files["/2m.bin"].Length + 1000;
        Expect.That(response.Is(200, 206, 400, 416, 431).Body.Length <= limit, $"{response.Status} with {response.Body.Length} bytes");
    }

    [Theory]
    [Behaviour("RFC 9110 17.15", 21, "A thousand ranges of one byte are not answered with a thousand parts.")]
    public async Task A_flood_of_small_ranges_is_not_served(Site site)
    {
        string flood = "bytes=" + string.Join(',', Enumerable.Range(0, 1000).Select(static number => $"{number * 2}-{number * 2}"));
        Response response = await site.GetAsync("/text.txt", $"Range: {flood}");
        bool isFlood = response.Is(200, 206, 400, 416, 431).Status == 206
            && response["Content-Range"] is null
            && Multipart.Parse(response).Count > 500;
        Expect.That(!isFlood, "206 with hundreds of parts");
    }

    [Theory]
    [Behaviour("RFC 9110 13.1.5", 21, "If-Range applies to several ranges as to one.")]
    public async Task If_range_applies_to_several_ranges(Site site)
    {
        string tag = (await site.GetAsync("/text.txt")).Is(200).Has("ETag").ETag!;
        Check(Text, await site.GetAsync("/text.txt", $"If-Range: {tag}", "Range: bytes=0-9,1000-1099"), (0, 9), (1000, 1099));
        (await site.GetAsync("/text.txt", "If-Range: \"another\"", "Range: bytes=0-9,1000-1099")).IsWhole(Text);
    }

    [Theory]
    [Behaviour(Section, 17, "A multipart response has the Date, ETag, Cache-Control and Vary of the 200.")]
    public async Task A_multipart_response_has_the_fields_of_the_200(Site site)
    {
        Response whole = (await site.GetAsync("/text.txt")).Is(200);
        Response parts = (await site.GetAsync("/text.txt", "Range: bytes=0-9,1000-1099")).Is(206).Has("Date");
        foreach (string name in (string[])["ETag", "Cache-Control", "Vary"])
        {
            Expect.Equal(whole[name], parts[name], $"the 206's {name}");
        }
    }

    [Theory]
    [Behaviour("RFC 9110 14.6", 21, "The connection goes on after a multipart response.")]
    public async Task A_multipart_response_keeps_the_connection(Site site)
    {
        using Wire wire = await site.ConnectAsync();
        Response response = await wire.GetAsync("/text.txt", "Range: bytes=0-9,1000-1099");
        Check(Text, response, (0, 9), (1000, 1099));
        await wire.GoesOnAfterAsync(response);
    }

    private static async Task AskAsync(Site site, string range, params (int First, int Last)[] expected) =>
        Check(Text, await site.GetAsync("/text.txt", $"Range: {range}"), expected);

    private static void Check(byte[] file, Response response, params (int First, int Last)[] expected)
    {
        IReadOnlyList<Part> parts = Multipart.Parse(response);
        foreach (Part part in parts)
        {
            Expect.Equal(file.Length, part.Size, "a part's size of the whole");
            Expect.Bytes(file.AsSpan((int)part.First, (int)(part.Last - part.First + 1)), part.Body);
        }

        IEnumerable<(int, int)> served = parts.Select(static part => ((int)part.First, (int)part.Last));
        Expect.Equal(string.Join(' ', expected.Order()), string.Join(' ', served.Order()), "parts");
    }
}
