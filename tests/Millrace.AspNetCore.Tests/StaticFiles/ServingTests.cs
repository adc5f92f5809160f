using System.IO.Compression;
using System.Net;
using System.Net.Http.Headers;
using Microsoft.AspNetCore.Builder;
using Millrace.AspNetCore.Tests.StaticFiles.Kit;
using Millrace.StaticFiles;

namespace Millrace.AspNetCore.Tests.StaticFiles;

/// <summary>Bodies of every way there is, over HTTP/1.1 and over HTTPS with HTTP/2, asked by Microsoft's client.</summary>
public sealed class ServingTests : IDisposable
{
    private readonly SiteFolder _folder = new();

    public static TheoryData<string> Versions => ["1.1", "2.0"];

    public void Dispose() => _folder.Dispose();

    [Theory]
    [MemberData(nameof(Versions))]
    public async Task Files_of_every_size_are_whole(string version)
    {
        int[] sizes = [0, 1, 4095, 4096, 10_000, 65_536, 65_537, 200_000, 262_144, 262_145, 3_000_000];
        byte[][] contents = [.. sizes.Select(size => _folder.Add($"{size}.bin", size))];
        await using HostedApp app = await StartAsync(version);
        foreach ((int size, byte[] content) in sizes.Zip(contents))
        {
            using HttpResponseMessage get = await app.AskAsync(HttpMethod.Get, $"/{size}.bin");
            Assert.Equal((HttpStatusCode.OK, size), (get.StatusCode, get.Content.Headers.ContentLength));
            Assert.Equal(new Version(version), get.Version);
            Assert.Equal(content, await get.Content.ReadAsByteArrayAsync());

            using HttpResponseMessage head = await app.AskAsync(HttpMethod.Head, $"/{size}.bin");
            Assert.Equal((HttpStatusCode.OK, size), (head.StatusCode, head.Content.Headers.ContentLength));

            // A tag may become a strong one in between, when its file has not changed for long enough.
            Assert.Equal(get.Headers.ETag?.Tag, head.Headers.ETag?.Tag);
        }
    }

    [Theory]
    [MemberData(nameof(Versions))]
    public async Task Ranges_are_the_bytes_they_name(string version)
    {
        byte[][] contents = [_folder.Add("s.bin", 5000), _folder.Add("m.bin", 150_000), _folder.Add("l.bin", 1_000_000)];
        await using HostedApp app = await StartAsync(version);
        foreach ((string name, byte[] content) in new[] { "s", "m", "l" }.Zip(contents))
        {
            using HttpResponseMessage part = await app.AskAsync(HttpMethod.Get, $"/{name}.bin", ("Range", "bytes=1000-4999"));
            Assert.Equal(HttpStatusCode.PartialContent, part.StatusCode);
            Assert.Equal($"bytes 1000-4999/{content.Length}", part.Content.Headers.ContentRange!.ToString());
            Assert.Equal(content[1000..5000], await part.Content.ReadAsByteArrayAsync());

            using HttpResponseMessage parts = await app.AskAsync(HttpMethod.Get, $"/{name}.bin", ("Range", "bytes=0-9,2000-2009,-10"));
            Assert.Equal("multipart/byteranges", parts.Content.Headers.ContentType!.MediaType);
            byte[] body = await parts.Content.ReadAsByteArrayAsync();
            Assert.Equal(parts.Content.Headers.ContentLength, body.Length);
            foreach (byte[] piece in (byte[][])[content[..10], content[2000..2010], content[^10..]])
            {
                Assert.True(body.AsSpan().IndexOf(piece) > 0, "a part is missing");
            }

            using HttpResponseMessage beyond = await app.AskAsync(HttpMethod.Get, $"/{name}.bin", ("Range", "bytes=9000000-"));
            Assert.Equal(HttpStatusCode.RequestedRangeNotSatisfiable, beyond.StatusCode);
            Assert.Equal($"bytes */{content.Length}", beyond.Content.Headers.ContentRange!.ToString());
        }
    }

    [Theory]
    [MemberData(nameof(Versions))]
    public async Task Conditions_and_codings_are_heeded(string version)
    {
        byte[] gzip = _folder.Add("app.js.gz", Gzip(_folder.Add("app.js", new string('x', 20_000))));
        await using HostedApp app = await StartAsync(version);

        // Until it is decoded once, the file is sent without a coding.
        for (string? coding = null; coding is null; await Task.Delay(5, TestContext.Current.CancellationToken))
        {
            using HttpResponseMessage any = await app.AskAsync(HttpMethod.Get, "/app.js", ("Accept-Encoding", "gzip"));
            coding = any.Content.Headers.ContentEncoding.SingleOrDefault();
        }

        using HttpResponseMessage coded = await app.AskAsync(HttpMethod.Get, "/app.js", ("Accept-Encoding", "gzip"));
        Assert.Equal("gzip", coded.Content.Headers.ContentEncoding.Single());
        Assert.Equal("text/javascript", coded.Content.Headers.ContentType!.MediaType);
        Assert.Equal("Accept-Encoding", coded.Headers.Vary.Single());
        Assert.Equal(gzip, await coded.Content.ReadAsByteArrayAsync());

        string tag = coded.Headers.ETag!.ToString();
        using HttpResponseMessage same = await app.AskAsync(
            HttpMethod.Get, "/app.js", ("Accept-Encoding", "gzip"), ("If-None-Match", tag));
        Assert.Equal(HttpStatusCode.NotModified, same.StatusCode);
        Assert.Equal(tag, same.Headers.ETag!.ToString());
        Assert.Equal(new CacheControlHeaderValue { NoCache = true }, same.Headers.CacheControl);

        using HttpResponseMessage failed = await app.AskAsync(HttpMethod.Get, "/app.js", ("If-Match", "\"another\""));
        Assert.Equal(HttpStatusCode.PreconditionFailed, failed.StatusCode);
    }

    private static byte[] Gzip(byte[] content)
    {
        using var coded = new MemoryStream();
        using (var coder = new GZipStream(coded, CompressionLevel.Optimal))
        {
            coder.Write(content);
        }

        return coded.ToArray();
    }

    [Fact]
    public async Task A_thousand_requests_at_once_are_each_answered_with_their_own()
    {
        byte[][] contents = [_folder.Add("0", 300), _folder.Add("1", 20_000), _folder.Add("2", 100_000), _folder.Add("3", 400_000)];
        await using HostedApp app = await StartAsync("2.0");
        (HttpStatusCode, byte[])[] responses = await Task.WhenAll(Enumerable.Range(0, 1000).Select(number => app.GetAsync($"/{number % 4}")));
        for (int number = 0; number < responses.Length; number++)
        {
            Assert.Equal(HttpStatusCode.OK, responses[number].Item1);
            Assert.True(responses[number].Item2.AsSpan().SequenceEqual(contents[number % 4]), $"answer {number} has other bytes");
        }
    }

    [Fact]
    public async Task A_site_that_is_looked_at_for_each_request_shows_a_change_at_once()
    {
        _folder.Add("one.txt", "old");
        SiteOptions options = new() { Root = _folder.Root, Watch = WatchMode.Revalidate };
        await using HostedApp app = await HostedApp.StartAsync(app => app.UseMillraceStaticFiles(options));
        Assert.Equal("old"u8.ToArray(), (await app.GetAsync("/one.txt")).Body);
        await File.WriteAllTextAsync(Path.Combine(_folder.Root, "one.txt"), "newer");
        Assert.Equal("newer"u8.ToArray(), (await app.GetAsync("/one.txt")).Body);
    }

    private Task<HostedApp> StartAsync(string version)
    {
        SiteOptions options = new() { Root = _folder.Root, Compression = false };
        return version == "1.1"
            ? HostedApp.StartAsync(app => app.UseMillraceStaticFiles(options))
            : HostedApp.StartHttp2Async(app => app.UseMillraceStaticFiles(options));
    }
}
