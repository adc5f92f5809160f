using System.IO.Compression;
using Millrace.Http;
using Millrace.HttpServer.Tests.Http2.Kit;
using Millrace.HttpServer.Tests.Kit;
using Millrace.StaticFiles;
using Millrace.Tests.Shared;

namespace Millrace.HttpServer.Tests;

/// <summary>The bodies that the server makes itself, pages of errors and listings, in both protocols, in each form and coding.</summary>
public class GeneratedPageTests : SiteFixture
{
    private const string Browser = "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

    [Theory]
    [InlineData("GET", "/none", "", 404)]
    [InlineData("GET", "/%zz", "", 400)]
    [InlineData("POST", "/f10.bin", "", 405)]
    [InlineData("BREW", "/f10.bin", "", 501)]
    [InlineData("GET", "/f10.bin", "If-Match: \"x\"\r\n", 412)]
    [InlineData("GET", "/f10.bin", "Range: bytes=99-\r\n", 416)]
    [InlineData("GET", "/f10.bin", "Accept-Encoding: *;q=0\r\n", 406)]
    public async Task An_error_is_a_page_for_browsers_and_a_line_of_text_for_others(string method, string target, string fields, int status)
    {
        Folder.AddSized(10);
        Wire wire = await (await StartAsync()).ConnectAsync();

        Response page = await AskAsync(wire, method, target, fields + Browser + "\r\n");
        Response text = await AskAsync(wire, method, target, fields);

        Assert.Equal((status, "text/html; charset=utf-8"), (page.Status, page.Field("Content-Type")));
        Assert.StartsWith("<!DOCTYPE html>\n", page.Text, StringComparison.Ordinal);
        Assert.Contains($"<h1><b>{status}</b> ", page.Text, StringComparison.Ordinal);
        Assert.Equal((status, "text/plain; charset=utf-8"), (text.Status, text.Field("Content-Type")));
        Assert.Equal(text.StatusLine["HTTP/1.1 ".Length..] + "\r\n", text.Text);
        Assert.Equal(status == 406 ? "Accept, Accept-Encoding" : "Accept", text.Field("Vary"));
        Assert.Equal("Accept, Accept-Encoding", page.Field("Vary"));
        Assert.Equal("no-cache", page.Field("Cache-Control"));
        Assert.Null(page.Field("ETag"));
    }

    [Theory]
    [InlineData("https://a/f10.bin", "", 421)]
    [InlineData("/f10.bin", "Content-Length: 900000", 413)]
    [InlineData("/f100000.bin", "", 500)]
    [InlineData("/f100000.bin", "Range: bytes=1-2", 500)]
    [InlineData("/f100000.bin", "", 404)]
    public async Task An_error_that_no_plan_decides_on_is_such_a_page_too(string target, string field, int status)
    {
        RunningSite site = await StartWithFaultsAsync(isGone: status == 404);

        Response page = await AskAloneAsync("GET", Browser);
        Response text = await AskAloneAsync("GET", "Accept: */*");

        AssertIsPage(page, status);
        Assert.Equal((status, "text/plain; charset=utf-8"), (text.Status, text.Field("Content-Type")));
        Assert.Equal(text.StatusLine["HTTP/1.1 ".Length..] + "\r\n", text.Text);
        Assert.Null(text.Field("Content-Security-Policy"));
        if (status is 413 or 421)
        {
            Response head = await AskAloneAsync("HEAD", Browser);
            Assert.Equal((status, page.Field("Content-Length")), (head.Status, head.Field("Content-Length")));
        }

        _ = site.TakeWarnings();

        async Task<Response> AskAloneAsync(string method, string accept) =>
            await AskAsync(await site.ConnectAsync(), method, target, $"{accept}\r\n{(field.Length == 0 ? "A: b" : field)}\r\n");
    }

    [Theory]
    [InlineData("http", "/f10.bin", "content-length: 900000", 413)]
    [InlineData("https", "/f10.bin", "a: b", 421)]
    [InlineData("http", "/f100000.bin", "a: b", 500)]
    [InlineData("http", "/f100000.bin", "range: bytes=1-2", 500)]
    [InlineData("http", "/f100000.bin", "a: b", 404)]
    public async Task And_over_http2(string scheme, string path, string field, int status)
    {
        RunningSite site = await StartWithFaultsAsync(isGone: status == 404);
        Http2Wire client = await Http2Wire.OpenAsync(site);
        string[] accept = ["accept" + Browser["Accept".Length..], "accept: */*"];
        var responses = new List<Response>();
        for (int i = 0; i < accept.Length; i++)
        {
            int colon = field.IndexOf(':', StringComparison.Ordinal);
            FrameFlags flags = status == 413 ? FrameFlags.EndHeaders : FrameFlags.EndHeaders | FrameFlags.EndStream;
            await client.SendAsync(Frame.Headers((2 * i) + 1, Block.Of(
                (":method", "GET"), (":scheme", scheme), (":authority", "a"), (":path", path),
                ("accept", accept[i]["accept: ".Length..]), (field[..colon], field[(colon + 2)..])), flags));
            Exchange exchange = await client.ReadAsync((2 * i) + 1);
            responses.Add(new Response(int.Parse(exchange.Fields[0].Value), "", exchange.Fields[1..], exchange.Body.ToArray()));
        }

        AssertIsPage(responses[0], status);
        Assert.Equal((status, "text/plain; charset=utf-8"), (responses[1].Status, responses[1].Field("Content-Type")));
        Assert.StartsWith($"{status} ", responses[1].Text, StringComparison.Ordinal);
        _ = site.TakeWarnings();
    }

    [Theory]
    [InlineData("GET / HTTP/1.1\r\n" + Browser + "\r\n\r\n", 400)]
    [InlineData("GET / HTTP/2.0\r\nHost: a\r\n" + Browser + "\r\n\r\n", 505)]
    public async Task A_request_that_cannot_be_parsed_is_answered_with_a_line_of_text(string request, int status)
    {
        Wire wire = await (await StartAsync()).ConnectAsync();
        await wire.SendAsync(request);

        Response response = await wire.ReadResponseAsync();

        Assert.Equal((status, "text/plain; charset=utf-8"), (response.Status, response.Field("Content-Type")));
    }

    [Theory]
    [InlineData("/%3Cscript%3Ealert(1)%3C%2Fscript%3E")]
    [InlineData("/nobody?q=<img%20src=x%20onerror=alert(1)>")]
    [InlineData("/nobody/tell-me-apart")]
    public async Task An_error_s_page_says_nothing_of_the_request(string target)
    {
        Wire wire = await (await StartAsync()).ConnectAsync();

        Response one = await AskAsync(wire, "GET", target, Browser + "\r\n");
        Response other = await AskAsync(wire, "GET", "/nothing", Browser + "\r\n");

        Assert.Equal(404, one.Status);
        Assert.Equal(other.Body, one.Body);
    }

    [Theory]
    [Trait("Duration", "Full")]
    [InlineData("/none", 404, "")]
    [InlineData("/none", 404, "gzip")]
    [InlineData("/none", 404, "br")]
    [InlineData("/few/", 200, "gzip")]
    [InlineData("/many/", 200, "")]
    [InlineData("/many/", 200, "gzip")]
    [InlineData("/many/?page=2", 200, "br")]
    [InlineData("/many/?page=2&sort=time", 200, "gzip")]
    public async Task Get_head_and_http2_agree_on_a_page_in_each_coding(string target, int status, string coding)
    {
        AddFiles("few", 20);
        AddFiles("many", 1_500);
        RunningSite site = await StartAsync(static options => options with { Listing = true });
        Wire wire = await site.ConnectAsync();
        string accept = $"{Browser}\r\nAccept-Encoding: {coding}\r\n";

        Response plain = await AskAsync(wire, "GET", target, Browser + "\r\n");
        Response get = await AskAsync(wire, "GET", target, accept);
        Response head = await AskAsync(wire, "HEAD", target, accept);
        Response second = await (await Http2Wire.OpenAsync(site)).GetAsync(
            1, target, "accept" + Browser["Accept".Length..], "accept-encoding: " + coding);

        Assert.Equal(status, get.Status);
        Assert.Equal(coding.Length == 0 ? null : coding, get.Field("Content-Encoding"));
        Assert.Equal("Accept, Accept-Encoding", get.Field("Vary"));
        Assert.Equal(Fields(get), Fields(head));
        Assert.Equal(Fields(get), Fields(second));
        Assert.Equal(get.Body, second.Body);
        Assert.Equal(plain.Body, Decoded(get.Body, coding));
        Assert.Equal(coding.Length > 0, get.Body.Length < plain.Body.Length);
        Assert.Equal(coding.Length == 0 || status == 404, plain.Field("ETag") == get.Field("ETag"));

        static IEnumerable<string> Fields(Response response) => response.Fields
            .Where(static field => !string.Equals(field.Name, "Date", StringComparison.OrdinalIgnoreCase))
            .Select(static field => $"{field.Name.ToLowerInvariant()}: {field.Value}").Order(StringComparer.Ordinal);
    }

    [Fact]
    public async Task A_page_of_the_site_precedes_the_built_in_one()
    {
        Folder.Add("/404.html", "<p>ours"u8.ToArray());
        Wire wire = await (await StartAsync()).ConnectAsync();

        Assert.Equal("<p>ours", (await AskAsync(wire, "GET", "/none", Browser + "\r\n")).Text);
        Assert.Equal("<p>ours", (await AskAsync(wire, "GET", "/none", "")).Text);
    }

    [Fact]
    public async Task Another_coding_of_a_listing_does_not_match_its_tag()
    {
        AddFiles("few", 20);
        Wire wire = await (await StartAsync(static options => options with { Listing = true })).ConnectAsync();
        string tag = (await AskAsync(wire, "GET", "/few/", "Accept-Encoding: gzip\r\n")).Field("ETag")!;

        Response same = await AskAsync(wire, "GET", "/few/", $"Accept-Encoding: gzip\r\nIf-None-Match: {tag}\r\n");
        Response other = await AskAsync(wire, "GET", "/few/", $"Accept-Encoding: br\r\nIf-None-Match: {tag}\r\n");

        Assert.Equal((304, null, tag), (same.Status, same.Field("Content-Encoding"), same.Field("ETag")));
        Assert.Equal((200, "br"), (other.Status, other.Field("Content-Encoding")));
    }

    /// <summary>A file is gone unnoticed, or its disk fails.</summary>
    private async Task<RunningSite> StartWithFaultsAsync(bool isGone)
    {
        Folder.AddSized(10);
        Folder.AddSized(100_000);
        RunningSite site = await StartAsync(
            options => options with { Watch = WatchMode.Off, DescriptorsMax = isGone ? 0 : options.DescriptorsMax });
        if (isGone)
        {
            File.Delete(Folder.PathOf("/f100000.bin"));
        }
        else
        {
            Assert.Equal(1, BadDisk.Fail(Folder.PathOf("/f100000.bin")));
        }

        return site;
    }

    private static void AssertIsPage(Response page, int status)
    {
        Assert.Equal((status, "text/html; charset=utf-8"), (page.Status, page.Field("Content-Type")));
        Assert.StartsWith("<!DOCTYPE html>\n", page.Text, StringComparison.Ordinal);
        Assert.Contains($"<h1><b>{status}</b> ", page.Text, StringComparison.Ordinal);
        Assert.Equal(page.Body.Length.ToString(), page.Field("Content-Length"));
        Assert.Equal("no-store", page.Field("Cache-Control"));
        Assert.Contains("style-src 'sha256-", page.Field("Content-Security-Policy")!, StringComparison.Ordinal);
    }

    private void AddFiles(string directory, int count)
    {
        for (int i = 0; i < count; i++)
        {
            Folder.Add($"/{directory}/file{i}.txt", []);
        }
    }

    private static async Task<Response> AskAsync(Wire wire, string method, string target, string fields)
    {
        await wire.SendAsync($"{method} {target} HTTP/1.1\r\nHost: a\r\n{fields}\r\n");
        return await wire.ReadResponseAsync(method);
    }

    private static byte[] Decoded(byte[] body, string coding)
    {
        using var all = new MemoryStream();
        using Stream coded = coding switch
        {
            "gzip" => new GZipStream(new MemoryStream(body), CompressionMode.Decompress),
            "br" => new BrotliStream(new MemoryStream(body), CompressionMode.Decompress),
            _ => new MemoryStream(body),
        };
        coded.CopyTo(all);
        return all.ToArray();
    }
}
