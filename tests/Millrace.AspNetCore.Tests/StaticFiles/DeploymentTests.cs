using System.Net;
using System.Runtime.InteropServices;
using Microsoft.AspNetCore.Builder;
using Microsoft.Extensions.Logging.Abstractions;
using Millrace.AspNetCore.Tests.StaticFiles.Kit;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Snapshots;
using Millrace.Tests.Shared;

namespace Millrace.AspNetCore.Tests.StaticFiles;

/// <summary>
/// A site that changes while it is asked, and clients that leave: every answer is of one version, and nothing is kept for nobody.
/// </summary>
public sealed partial class DeploymentTests : IDisposable
{
    private static readonly int[] Sizes = [20_000, 100_000, 1_000_000];

    private readonly SiteFolder _folder = new();

    public void Dispose() => _folder.Dispose();

    [Fact]
    public async Task A_root_that_is_renamed_gives_no_mixed_answer()
    {
        const int releases = 12;
        AddRelease(_folder.Root, 0);
        await using HostedApp app = await HostedApp.StartAsync(app => app.UseMillraceStaticFiles(_folder.Root));
        using var stop = new CancellationTokenSource();
        int answered = 0;
        Task[] clients = [.. Enumerable.Range(0, 6).Select(client => Task.Run(async () =>
        {
            while (!stop.IsCancellationRequested)
            {
                await AskAsync(app, Sizes[client % Sizes.Length]);
                Interlocked.Increment(ref answered);
            }
        }))];

        for (int release = 1; release <= releases; release++)
        {
            string next = _folder.PathOf($"next-{release}");
            AddRelease(next, release);
            Directory.Move(_folder.Root, _folder.PathOf($"old-{release}"));
            Directory.Move(next, _folder.Root);
            await SoonAsync(async () => (await AskAsync(app, Sizes[0])) == release);
        }

        await stop.CancelAsync();
        await Task.WhenAll(clients).WaitAsync(HostedApp.Limit);
        Assert.True(answered > releases, $"{answered} answers");
    }

    [Fact]
    public async Task A_client_that_leaves_in_the_middle_gives_its_file_back()
    {
        _folder.Add("large.bin", 32 * 1024 * 1024);
        using Site site = Site.Open(new SiteOptions { Root = _folder.Root, Watch = WatchMode.Off }, NullLoggerFactory.Instance);
        await using HostedApp app = await HostedApp.StartAsync(app => app.Use(site));
        for (int client = 0; client < 20; client++)
        {
            using HttpResponseMessage response = await app.Client.GetAsync(
                new Uri("/large.bin", UriKind.Relative), HttpCompletionOption.ResponseHeadersRead);
            await using Stream body = await response.Content.ReadAsStreamAsync();
            await body.ReadExactlyAsync(new byte[100_000]);
        }

        _folder.Add("large.bin", 1000);
        site.Reload();
        await SoonAsync(() => Task.FromResult(site.Catalog.DescriptorsHeld == 0));
        Assert.Equal(HttpStatusCode.OK, (await app.GetAsync("/large.bin")).Status);
    }

    [Fact]
    public async Task A_file_that_shrinks_while_it_is_sent_ends_the_answer_and_never_looks_whole()
    {
        const int size = 32 * 1024 * 1024;
        _folder.Add("large.bin", size);
        await using HostedApp app = await HostedApp.StartAsync(app => app.UseMillraceStaticFiles(_folder.Root));
        using HttpResponseMessage response = await app.Client.GetAsync(
            new Uri("/large.bin", UriKind.Relative), HttpCompletionOption.ResponseHeadersRead);
        Assert.Equal(size, response.Content.Headers.ContentLength);
        await using Stream body = await response.Content.ReadAsStreamAsync();
        await body.ReadExactlyAsync(new byte[10_000]);
        using (var file = new FileStream(Path.Combine(_folder.Root, "large.bin"), FileMode.Open))
        {
            file.SetLength(20_000);
        }

        Exception error = await Assert.ThrowsAnyAsync<Exception>(() => body.CopyToAsync(Stream.Null).WaitAsync(HostedApp.Limit));
        Assert.IsNotType<TimeoutException>(error);
    }

    [Theory]
    [InlineData(100_000)]
    [InlineData(1_000_000)]
    public async Task A_disk_that_fails_before_the_head_is_a_500(int size)
    {
        _folder.Add("file.bin", size);
        var options = new SiteOptions { Root = _folder.Root, Watch = WatchMode.Off, CacheFileBytesMax = 0 };
        using Site site = Site.Open(options, NullLoggerFactory.Instance);
        await using HostedApp app = await HostedApp.StartAsync(app => app.Use(site));
        await site.Catalog.SettleAsync();
        CatalogSnapshot snapshot = site.Catalog.Acquire();
        Assert.Equal(PathMatch.Asset, snapshot.TryFind("/file.bin"u8, out Asset? asset, out _));
        snapshot.Release();
        using (Microsoft.Win32.SafeHandles.SafeFileHandle writeOnly = File.OpenHandle(
            Path.Combine(_folder.Root, "file.bin"), FileMode.Open, FileAccess.Write))
        {
            // Reading from this one is EBADF; to look at it is allowed.
            Assert.Equal(asset!.Descriptor, Duplicate((int)writeOnly.DangerousGetHandle(), asset.Descriptor));
        }

        using HttpResponseMessage response = await app.AskAsync(HttpMethod.Get, "/file.bin");
        Assert.Equal(HttpStatusCode.InternalServerError, response.StatusCode);
        Assert.Null(response.Headers.ETag);
        Assert.True(response.Headers.CacheControl!.NoStore);
        Assert.Equal("500 Internal Server Error\r\n", await response.Content.ReadAsStringAsync());
    }

    [Fact]
    public async Task A_site_is_given_up_when_its_application_has_stopped()
    {
        _folder.Add("large.bin", 3_000_000);
        HostedApp app = await HostedApp.StartAsync(app => app.UseMillraceStaticFiles(_folder.Root));
        await app.GetAsync("/large.bin");
        Assert.True(OpenBelowRoot() > 0, "no descriptor below the root is open");
        await app.DisposeAsync();
        await SoonAsync(() => Task.FromResult(OpenBelowRoot() == 0));
    }

    private int OpenBelowRoot() => Directory.GetFiles("/proc/self/fd")
        .Count(path => new FileInfo(path).LinkTarget is string target && target.StartsWith(_folder.Root, StringComparison.Ordinal));

    /// <summary>Every byte of a release is its number, so that a mixture shows.</summary>
    private static void AddRelease(string folder, int release)
    {
        Directory.CreateDirectory(folder);
        foreach (int size in Sizes)
        {
            byte[] content = new byte[size + release];
            content.AsSpan().Fill((byte)release);
            File.WriteAllBytes(Path.Combine(folder, $"{size}.bin"), content);
        }
    }

    /// <summary>The release of an answer, which is whole and of that one only.</summary>
    private static async Task<int> AskAsync(HostedApp app, int size)
    {
        (HttpStatusCode status, byte[] body) = await app.GetAsync($"/{size}.bin");
        Assert.Equal(HttpStatusCode.OK, status);
        int release = body.Length - size;
        Assert.Equal(-1, body.AsSpan().IndexOfAnyExcept((byte)release));
        return release;
    }

    private static async Task SoonAsync(Func<Task<bool>> check)
    {
        using var deadline = new CancellationTokenSource(HostedApp.Limit);
        while (!await check())
        {
            await Task.Delay(5, deadline.Token);
        }
    }

    [LibraryImport("libc", EntryPoint = "dup2")]
    private static partial int Duplicate(int from, int to);
}
