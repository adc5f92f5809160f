using Millrace.Conformance.Tests.Kit;

namespace Millrace.Conformance.Tests.Negotiation;

public class VariantTests
{
    [Theory]
    [Behaviour("RFC 9110 8.8.3.3", 23, "Each coding has an entity-tag of its own.")]
    public async Task Each_coding_has_its_own_tag(Site site)
    {
        List<string?> tags = [];
        foreach (string coding in (string[])["identity", "gzip", "br", "zstd"])
        {
            Response response = (await site.GetAsync("/app.js", $"Accept-Encoding: {coding}")).Is(200).Has("ETag");
            if (coding == "identity" || response["Content-Encoding"] is not null)
            {
                tags.Add(response.ETag);
            }
        }

        Expect.That(tags.Count > 1, "no coding is served");
        Expect.Equal(tags.Count, tags.Distinct().Count(), "the number of different ETags");
    }

    [Theory]
    [Behaviour("RFC 9110 13.1.2", 23, "The entity-tag of a coding validates it: 304.")]
    public Task A_codings_tag_validates_it(Site site) => Expect.EachAsync(["gzip", "br"], async coding =>
    {
        string tag = (await site.GetAsync("/app.js", $"Accept-Encoding: {coding}")).Is(200).Has("ETag").ETag!;
        (await site.GetAsync("/app.js", $"Accept-Encoding: {coding}", $"If-None-Match: {tag}")).Is(304).Has("ETag", tag);
    });

    [Theory]
    [Behaviour("RFC 9110 13.1.2", 23, "The entity-tag of one coding does not validate another.")]
    public async Task A_codings_tag_does_not_validate_another(Site site)
    {
        string plain = (await site.GetAsync("/app.js")).Is(200).Has("ETag").ETag!;
        Response response = await site.GetAsync("/app.js", "Accept-Encoding: gzip", $"If-None-Match: {plain}");
        response.IsCoded("gzip", Site.Files["/app.js"]);
    }

    [Theory]
    [Behaviour("RFC 9110 8.6", 23, "A coded response has the coded length.")]
    public async Task A_coded_response_has_the_coded_length(Site site)
    {
        Response response = (await site.GetAsync("/style.css", "Accept-Encoding: gzip")).IsCoded("gzip", Site.Files["/style.css"]);
        response.Has("Content-Length", $"{response.Body.Length}");
    }

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, 23, "A sibling is sent byte for byte: app.js.gz, .br and .zst.")]
    public async Task A_sibling_is_sent_byte_for_byte(Site site)
    {
        (string, string)[] siblings = [("gzip", "/app.js.gz"), ("br", "/app.js.br"), ("zstd", "/app.js.zst")];
        foreach ((string coding, string file) in siblings)
        {
            Response response = (await site.GetAsync("/app.js", $"Accept-Encoding: {coding}")).Is(200).Has("Content-Encoding", coding);
            Expect.Same(Site.Files[file], response.Body);
        }
    }

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, 22, "A range of a file with siblings is served (RFC 9110 14.2 allows ignoring it).")]
    public async Task A_range_of_a_coding_is_served(Site site) =>
        (await site.GetAsync("/app.js", "Accept-Encoding: gzip", "Range: bytes=10-29")).Is(206);

    [Theory]
    [Behaviour("RFC 9110 8.3", 23, "A coded response has the type of the file that it codes.")]
    public Task A_coded_response_has_the_files_type(Site site) => Expect.EachAsync(["gzip", "br", "zstd"], async coding =>
    {
        string type = (await site.GetAsync("/app.js")).Is(200).Has("Content-Type")["Content-Type"]!;
        (await site.GetAsync("/app.js", $"Accept-Encoding: {coding}")).Is(200).Has("Content-Type", type);
    });

    [Theory]
    [Behaviour("RFC 9110 8.6", 6, "A sibling that is larger than its file is served whole.")]
    public async Task A_larger_sibling_is_whole(Site site)
    {
        Response response = (await site.GetAsync("/small.js", "Accept-Encoding: gzip")).Is(200);
        Expect.Bytes(Site.Files["/small.js"], Content.Decoded(response));
        Expect.Equal($"{response.Body.Length}", response["Content-Length"] ?? $"{response.Body.Length}", "Content-Length");
    }

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, 6, "A sibling that is older than its file is not served.")]
    public async Task An_older_sibling_is_not_served(Site site)
    {
        Response response = (await site.GetAsync("/stale.js", "Accept-Encoding: gzip")).Is(200);
        Expect.That(!response.Body.AsSpan().SequenceEqual(Site.Files["/stale.js.gz"]), "the older sibling");
        Expect.Bytes(Site.Files["/stale.js"], Content.Decoded(response));
    }

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, 6, "A sibling without its file is served by its own name only.")]
    public async Task A_sibling_without_its_file_is_not_served(Site site)
    {
        (await site.GetAsync("/orphan.js", "Accept-Encoding: gzip")).Is(404);
        (await site.GetAsync("/orphan.js.gz")).IsWhole(Site.Files["/orphan.js.gz"]);
    }

    [Theory]
    [Behaviour("RFC 9110 8.4", 23, "A .gz that is requested by name is a file like others: without a coding, of type gzip.")]
    public Task A_compressed_file_by_name_is_in_no_coding(Site site) => Expect.EachAsync(["gzip", "identity", "br, gzip"], async accepted =>
    {
        Response response = (await site.GetAsync("/app.js.gz", $"Accept-Encoding: {accepted}")).IsWhole(Site.Files["/app.js.gz"]);
        Expect.That(response["Content-Type"]?.Contains("javascript", StringComparison.Ordinal) != true, "Content-Type of the original");
    });

    [Theory]
    [Behaviour("RFC 9110 17.3", 14, "A sibling that is a symlink out of the root is not served.")]
    public async Task A_sibling_outside_is_not_served(Site site)
    {
        Response response = (await site.GetAsync("/escaping.js", "Accept-Encoding: gzip")).Is(200, 403, 404);
        Expect.That(!response.Text.Contains(Fixture.Secret, StringComparison.Ordinal), "served a file outside of the root");
    }

    [Theory]
    [Behaviour("RFC 9110 12.1", 23, "An index page is negotiated like every file.")]
    public async Task An_index_page_is_negotiated(Site site) =>
        (await site.GetAsync("/coded/", "Accept-Encoding: gzip")).IsCoded("gzip", Site.Files["/coded/index.html"]);

    [Theory]
    [Behaviour("RFC 9110 14.2", 22, "A range of a file with siblings is of the bytes of one coding, with its entity-tag and length.")]
    public async Task A_range_is_of_one_coding(Site site)
    {
        Response part = (await site.GetAsync("/app.js", "Accept-Encoding: gzip", "Range: bytes=10-29")).Is(200, 206);
        if (part.Status == 200)
        {
            Expect.Bytes(Site.Files["/app.js"], Content.Decoded(part));
            return;
        }

        bool isCoded = part["Content-Encoding"] is not null;
        part.IsPart(isCoded ? Site.Files["/app.js.gz"] : Site.Files["/app.js"], 10, 29);
        Response whole = await site.GetAsync("/app.js", isCoded ? "Accept-Encoding: gzip" : "X: y");
        Expect.Equal(whole.Is(200).ETag, part.ETag, "the part's ETag");
    }

    [Theory]
    [Behaviour("RFC 9110 13.1.5", 22, "A range of a coding goes on with its own entity-tag in If-Range.")]
    public async Task A_range_of_a_coding_goes_on(Site site)
    {
        Response first = (await site.GetAsync("/app.js", "Accept-Encoding: gzip", "Range: bytes=0-9")).Is(200, 206).Has("ETag");
        if (first.Status == 200)
        {
            return;
        }

        byte[] file = first["Content-Encoding"] is null ? Site.Files["/app.js"] : Site.Files["/app.js.gz"];
        first.IsPart(file, 0, 9);
        (await site.GetAsync("/app.js", "Accept-Encoding: gzip", $"If-Range: {first.ETag}", "Range: bytes=10-19")).IsPart(file, 10, 19);
    }

    [Theory]
    [Behaviour("RFC 9110 14.1.2", 22, "Several ranges of a file with siblings are of one coding.")]
    public async Task Several_ranges_are_of_one_coding(Site site)
    {
        Response response = await site.GetAsync("/app.js", "Accept-Encoding: gzip", "Range: bytes=0-9,100-199");
        if (response.Is(200, 206).Status == 200)
        {
            Expect.Bytes(Site.Files["/app.js"], Content.Decoded(response));
            return;
        }

        byte[] file = response["Content-Encoding"] is null ? Site.Files["/app.js"] : Site.Files["/app.js.gz"];
        foreach (Part part in Multipart.Parse(response))
        {
            Expect.Equal(file.Length, part.Size, "the size of the whole");
            Expect.Bytes(file.AsSpan((int)part.First, part.Body.Length), part.Body);
        }
    }

    [Theory]
    [Behaviour("RFC 9110 15.5.17", 22, "A range after the end of a coding is measured against that coding.")]
    public async Task A_range_after_a_codings_end_names_its_size(Site site)
    {
        string[] sizes = [$"bytes */{Site.Files["/app.js"].Length}", $"bytes */{Site.Files["/app.js.gz"].Length}"];
        Response response = (await site.GetAsync("/app.js", "Accept-Encoding: gzip", "Range: bytes=999999-")).Is(200, 416);
        Expect.That(response.Status == 200 || sizes.Contains(response["Content-Range"]), $"Content-Range: {response["Content-Range"]}");
    }
}
