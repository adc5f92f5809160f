using Millrace.Conformance.Tests.Kit;

namespace Millrace.Conformance.Tests.Sites;

/// <summary>--compress on: files without siblings get them in the background, and until then are served as they are.</summary>
public class CompressionTests
{
    private const int Group = 29;

    [Theory]
    [Behaviour("RFC 9110 8.4", Group, "--compress on: a text is soon served compressed, and is the same when decoded.")]
    public Task A_text_is_soon_compressed(Site site) => Expect.EachAsync(["gzip", "br"], async coding => await Expect.SoonAsync(async () =>
    {
        Response response = (await Compressing(site).GetAsync("/bare.js", $"Accept-Encoding: {coding}")).Is(200);
        Expect.Equal(coding, response["Content-Encoding"], "Content-Encoding");
        Expect.Same(Site.Files["/bare.js"], Content.Decoded(response)!);
        Expect.That(response.Body.Length < Site.Files["/bare.js"].Length, "larger than the file");
    }));

    [Theory]
    [Behaviour("RFC 9110 8.8.3.3", Group, "--compress on: the compressed form has an entity-tag of its own, by which it is validated.")]
    public Task A_compressed_form_has_its_own_tag(Site site) => Expect.SoonAsync(async () =>
    {
        string plain = (await Compressing(site).GetAsync("/other.txt")).Is(200).Has("ETag").ETag!;
        Response coded = (await Compressing(site).GetAsync("/other.txt", "Accept-Encoding: gzip")).Is(200).Has("ETag");
        coded.Has("Content-Encoding", "gzip");
        Expect.That(coded.ETag != plain, "the ETag of the file");
        (await Compressing(site).GetAsync("/other.txt", "Accept-Encoding: gzip", $"If-None-Match: {coded.ETag}")).Is(304);
        (await Compressing(site).GetAsync("/other.txt", $"If-None-Match: {coded.ETag}")).Is(200);
    });

    [Theory]
    [Behaviour("RFC 9110 12.5.5", Group, "--compress on: a compressible file has Vary: Accept-Encoding from its first response on.")]
    public async Task What_may_be_compressed_varies(Site site) => (await Compressing(site).GetAsync("/types/file.svg")).Is(200).Varies();

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, Group, "--compress on: what does not shrink stays as it is.")]
    public Task What_does_not_shrink_is_plain(Site site) => Expect.EachAsync(
        ["/10k.bin", "/types/file.png", "/types/file.zip", "/one.txt", "/empty.txt"],
        async target => (await Compressing(site).GetAsync(target, "Accept-Encoding: gzip, br, zstd")).IsPlain(Site.Files[target]));

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, Group, "--compress on: existing siblings come first.")]
    public async Task Siblings_come_first(Site site) =>
        Expect.Same(Site.Files["/app.js.gz"], (await Compressing(site).GetAsync("/app.js", "Accept-Encoding: gzip")).Is(200).Body);

    [Theory]
    [Behaviour("RFC 9110 8.6", Group, "--compress on: HEAD has the fields of GET.")]
    public Task A_compressed_form_has_a_head(Site site) => Expect.SoonAsync(async () =>
    {
        Response get = (await Compressing(site).GetAsync("/stale.js", "Accept-Encoding: gzip")).Is(200).Has("Content-Encoding", "gzip");
        Expect.Same(Site.Files["/stale.js"], Content.Decoded(get)!);
        Response head = (await Compressing(site).HeadAsync("/stale.js", "Accept-Encoding: gzip")).Is(200);
        head.Has("Content-Encoding", "gzip").Has("Content-Length", get["Content-Length"]!).Has("ETag", get.ETag!);
    });

    private static Site Compressing(Site site) => site.With("--compress", "on");
}
