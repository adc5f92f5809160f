using System.IO.Compression;
using System.Net;
using Microsoft.AspNetCore.Builder;
using Millrace.AspNetCore.Tests.StaticFiles.Kit;
using Millrace.StaticFiles;

namespace Millrace.AspNetCore.Tests.StaticFiles;

/// <summary>Directories as archives, over HTTP/1.1 and over HTTPS with HTTP/2.</summary>
public sealed class ArchiveTests : IDisposable
{
    private readonly SiteFolder _folder = new();

    public static TheoryData<string> Versions => ["1.1", "2.0"];

    public void Dispose() => _folder.Dispose();

    [Theory]
    [MemberData(nameof(Versions))]
    public async Task It_holds_the_files_and_its_head_is_that_of_head(string version)
    {
        int[] sizes = [0, 1, 10_000, 200_000, 3_000_000];
        byte[][] contents = [.. sizes.Select(size => _folder.Add($"{size}.bin", size))];
        await using HostedApp app = await StartAsync(version);

        using HttpResponseMessage get = await app.AskAsync(HttpMethod.Get, "/?archive=zip");
        using HttpResponseMessage head = await app.AskAsync(HttpMethod.Head, "/?archive=zip");

        Assert.All([get, head], static response =>
        {
            Assert.Equal(HttpStatusCode.OK, response.StatusCode);
            Assert.Equal("application/zip", response.Content.Headers.ContentType!.ToString());
            Assert.Equal("attachment; filename=\"site.zip\"", response.Content.Headers.ContentDisposition!.ToString());
            Assert.Null(response.Headers.ETag);
        });
        using var zip = new ZipArchive(await get.Content.ReadAsStreamAsync());
        foreach ((int size, byte[] content) in sizes.Zip(contents))
        {
            using var read = new MemoryStream();
            using Stream entry = zip.GetEntry($"site/{size}.bin")!.Open();
            await entry.CopyToAsync(read);
            Assert.Equal(content, read.ToArray());
        }
    }

    [Theory]
    [MemberData(nameof(Versions))]
    public async Task A_file_that_shrinks_meanwhile_cuts_it(string version)
    {
        const int Size = 64 * 1024 * 1024;
        _folder.Add("large.bin", Size);
        await using HostedApp app = await StartAsync(version);
        using HttpResponseMessage response =
            await app.Client.GetAsync(new Uri("/?archive=tar.gz", UriKind.Relative), HttpCompletionOption.ResponseHeadersRead);
        using Stream body = await response.Content.ReadAsStreamAsync();

        // Part of the file is there: it is open.
        await body.ReadExactlyAsync(new byte[100_000]);
        using (FileStream file = File.OpenWrite(Path.Combine(_folder.Root, "large.bin")))
        {
            file.SetLength(1000);
        }

        await Assert.ThrowsAnyAsync<IOException>(() => body.CopyToAsync(Stream.Null));
    }

    [Fact]
    public async Task Beyond_the_limit_it_is_503()
    {
        _folder.Add("a.txt", "a");
        await using HostedApp app = await StartAsync("1.1", archivesMax: 0);

        Assert.Equal(HttpStatusCode.ServiceUnavailable, (await app.GetAsync("/?archive=zip")).Status);
    }

    private Task<HostedApp> StartAsync(string version, int archivesMax = 16)
    {
        SiteOptions options = new()
        {
            Root = _folder.Root,
            Listing = true,
            Archives = ArchiveFormats.TarGzip | ArchiveFormats.Zip,
            ArchivesMax = archivesMax,
        };
        return version == "1.1"
            ? HostedApp.StartAsync(app => app.UseMillraceStaticFiles(options))
            : HostedApp.StartHttp2Async(app => app.UseMillraceStaticFiles(options));
    }
}
