using Millrace.Conformance.Tests.Kit;

namespace Millrace.Conformance.Tests.Files;

public class FileTests
{
    [Theory]
    [Behaviour("RFC 9110 8.6", 8, "An empty file is answered with 200 and Content-Length: 0.")]
    public async Task An_empty_file_is_served(Site site)
    {
        using Wire wire = await site.ConnectAsync();
        Response response = (await wire.GetAsync("/empty.txt")).IsWhole([]).Lacks("Transfer-Encoding");
        await wire.GoesOnAfterAsync(response);
    }

    [Theory]
    [Behaviour("RFC 9110 9.3.1", 9, "Files of every size are served to the byte.")]
    public Task Files_of_every_size_are_served(Site site) => Expect.EachAsync(
        ["/one.txt", "/text.txt", "/10k.bin", "/300k.bin", "/2m.bin"],
        async target => (await site.GetAsync(target)).IsWhole(Site.Files[target]).Lacks("Transfer-Encoding"));

    [Theory]
    [Behaviour("RFC 9110 9.3.1", 9, "A file over 4 GiB begins to be served at once.")]
    public async Task A_huge_file_begins_at_once(Site site)
    {
        using Wire wire = await site.ConnectAsync(receiveBufferBytes: 65536);
        await wire.SendAsync(Site.Request("GET", "/huge.bin"));
        (await wire.ReadHeadAsync()).Is(200).Has("Content-Length", $"{Fixture.HugeBytes}");
        Expect.Same("first"u8.ToArray(), await wire.ReadBytesAsync(5));
    }

    [Theory]
    [Behaviour("RFC 9110 9.3.1", 28, "A hundred simultaneous downloads are all complete.")]
    public async Task A_hundred_downloads_are_whole(Site site) => await Task.WhenAll(
        Enumerable.Range(0, 100).Select(async _ => (await site.GetAsync("/300k.bin")).IsWhole(Site.Files["/300k.bin"])));

    [Theory]
    [Behaviour("RFC 9110 9.3.1", 28, "Aborted downloads harm no other.")]
    public async Task Broken_downloads_harm_nobody(Site site)
    {
        for (int download = 0; download < 30; download++)
        {
            using Wire broken = await site.ConnectAsync(receiveBufferBytes: 4096);
            await broken.SendAsync(Site.Request("GET", "/2m.bin"));
            await broken.ReadHeadAsync();
        }

        (await site.GetAsync("/2m.bin")).IsWhole(Site.Files["/2m.bin"]);
    }

    [Theory]
    [Behaviour("RFC 9110 8.3", 24, "Common web files have their type.")]
    public Task Files_have_their_type(Site site) => Expect.EachAsync([.. Types.All.Keys], async extension =>
    {
        Response response = (await site.GetAsync($"/types/file.{extension}")).Is(200).Has("Content-Type");
        string type = response["Content-Type"]!.Split(';')[0];
        Expect.That(Types.All[extension].Contains(type, StringComparer.OrdinalIgnoreCase), type);
    });

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, 24, "Texts are declared as UTF-8.")]
    public Task Texts_say_that_they_are_utf_8(Site site) => Expect.EachAsync(
        ["/text.txt", "/types/file.html", "/types/file.css", "/types/file.js"],
        async target =>
        {
            string type = (await site.GetAsync(target)).Is(200).Has("Content-Type")["Content-Type"]!;
            Expect.Equal("charset=utf-8", type.Split(';')[^1].Trim().ToLowerInvariant(), "the charset");
        });

    [Theory]
    [Behaviour("RFC 9110 8.3", 24, "A file of unknown type is application/octet-stream or has no type.")]
    public Task A_file_of_unknown_type_is_no_text(Site site) => Expect.EachAsync(["/types/plain", "/types/file.zzz"], async target =>
    {
        Response response = (await site.GetAsync(target)).Is(200);
        Expect.That(response["Content-Type"] is null or "application/octet-stream", $"Content-Type: {response["Content-Type"]}");
    });

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, 24, "Pages and other names without a hash are to be validated before they are used again.")]
    public Task Pages_are_validated(Site site) => Expect.EachAsync(
        ["/", "/text.txt", "/assets/app.js", "/types/file.css"],
        async target => (await site.GetAsync(target)).Is(200).Has("Cache-Control", "no-cache"));

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, 24, "Names with a hash are good for a year and never change (RFC 8246).")]
    public Task Hashed_names_are_immutable(Site site) => Expect.EachAsync(
        ["/assets/app.3f9a1c2b.js", "/assets/index-BkX3f9aQ.css"],
        async target =>
        {
            Response response = (await site.GetAsync(target)).Is(200);
            Expect.That(response.Lists("Cache-Control", "immutable") && response.Lists("Cache-Control", "max-age=31536000"),
                $"Cache-Control: {response["Cache-Control"] ?? "missing"}");
        });

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, 24, "A 404 is not cached for long, as the file may exist soon.")]
    public Task A_404_is_not_kept(Site site) => Expect.EachAsync(["/missing.txt", "/assets/missing.3f9a1c2b.js"], async target =>
    {
        Response response = (await site.GetAsync(target)).Is(404);
        Expect.That(response.Lists("Cache-Control", "no-cache") || response.Lists("Cache-Control", "no-store"),
            $"Cache-Control: {response["Cache-Control"] ?? "missing"}");
    });

    [Theory]
    [Behaviour("RFC 9110 10.2.4", 24, "No response reveals the version of the server.")]
    public async Task No_response_reveals_a_version(Site site)
    {
        Response response = await site.GetAsync("/one.txt");
        Expect.That(response["Server"]?.Any(char.IsAsciiDigit) != true && response["X-Powered-By"] is null, $"Server: {response["Server"]}");
    }
}
