using Microsoft.Playwright;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests;

/// <summary>A video is what browsers fetch by ranges: to find its index, and to seek.</summary>
public class VideoTests
{
    private const int Seconds = 40;

    private const string Page = """
        <!doctype html>
        <title>Video</title>
        <link rel="icon" href="data:,">
        <video id="video" preload="metadata" muted src="/wheel.webm"></video>
        """;

    // Reached only by what hangs.
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(90);

    // Seeks and waits for the picture to be there, which may be presented after the seek has ended: until then the one before is drawn. The
    // sum of its pixels distinguishes two pictures.
    private const string Seek = """
        async seconds => {
            const video = document.getElementById("video");
            const seeked = new Promise((resolve, reject) => { video.onseeked = resolve; video.onerror = reject; });
            const presented = new Promise(resolve => {
                const onPicture = (now, picture) =>
                    Math.abs(picture.mediaTime - seconds) < 0.1 ? resolve() : video.requestVideoFrameCallback(onPicture);
                video.requestVideoFrameCallback(onPicture);
            });
            video.currentTime = seconds;
            await seeked;
            await presented;
            const canvas = new OffscreenCanvas(video.videoWidth, video.videoHeight);
            const context = canvas.getContext("2d");
            context.drawImage(video, 0, 0);
            const pixels = context.getImageData(0, 0, canvas.width, canvas.height).data;
            return [video.currentTime, pixels.reduce((sum, value, i) => (sum * 31 + value * (i & 255)) % 1000000007, 0)];
        }
        """;

    private const string PlayToEnd = """
        async () => {
            const video = document.getElementById("video");
            const ended = new Promise((resolve, reject) => { video.onended = resolve; video.onerror = reject; });
            await video.play();
            await ended;
            return video.currentTime;
        }
        """;

    // Plays, and returns how far it came and how long that took: however late an event is, no picture comes before its time.
    private const string PlayOn = """
        async () => {
            const video = document.getElementById("video");
            const from = video.currentTime;
            const begin = performance.now();
            const moved = new Promise((resolve, reject) => {
                video.ontimeupdate = () => video.currentTime > from + 0.3 && resolve();
                video.onerror = reject;
            });
            await video.play();
            await moved;
            video.pause();
            const played = video.currentTime - from;
            return [played, (performance.now() - begin) / 1000];
        }
        """;

    [Fact]
    public async Task A_video_plays_and_seeks_to_its_end_and_back()
    {
        BrowserSession.Require();
        Tool.Require("ffmpeg");
        CancellationToken stop = TestContext.Current.CancellationToken;
        using var folder = new TempFolder();
        await FilmAsync(folder.PathOf("wheel.webm"));
        File.WriteAllText(folder.PathOf("index.html"), Page);
        await using ServerProcess server = await ServerProcess.StartAsync(folder.Root, "--listen", "127.0.0.1:0");
        await using var observer = new Observer(server.Url);
        await using BrowserSession browser = await BrowserSession.StartAsync();
        IBrowserContext profile = await browser.NewProfileAsync();
        IPage page = await browser.OpenAsync(profile, observer.Url);
        await page.WaitForFunctionAsync("() => document.getElementById('video').readyState >= HTMLMediaElement.HAVE_METADATA");
        double duration = await page.EvaluateAsync<double>("() => document.getElementById('video').duration");
        Assert.InRange(duration, Seconds - 1, Seconds + 1);

        double[] nearEnd = await page.EvaluateAsync<double[]>(Seek, duration - 1.5).WaitAsync(Patience, stop);
        double end = await page.EvaluateAsync<double>(PlayToEnd).WaitAsync(Patience, stop);
        Assert.InRange(end, duration - 0.5, duration + 0.5);
        await BrowserSession.PhotographAsync(page, "video-end");
        double[] nearStart = await page.EvaluateAsync<double[]>(Seek, 2).WaitAsync(Patience, stop);
        double[] played = await page.EvaluateAsync<double[]>(PlayOn).WaitAsync(Patience, stop);
        Assert.InRange(played[0], 0.3, played[1] + 0.5);
        double[] nearEndAgain = await page.EvaluateAsync<double[]>(Seek, duration - 1.5).WaitAsync(Patience, stop);

        Assert.Equal(duration - 1.5, nearEnd[0], tolerance: 0.1);
        Assert.Equal(2, nearStart[0], tolerance: 0.1);
        Assert.NotEqual(nearEnd[1], nearStart[1]);
        Assert.Equal(nearEnd[1], nearEndAgain[1]);
        AssertFetchedByRanges(observer, new FileInfo(folder.PathOf("wheel.webm")).Length);
        browser.AssertNothingWorseThanDropped();
    }

    private static void AssertFetchedByRanges(Observer observer, long bytes)
    {
        Exchange[] asked = [.. observer.Exchanges.Where(static exchange => exchange.Target == "/wheel.webm")];
        Exchange[] parts = [.. asked.Where(static exchange => exchange.Status == 206)];
        // For a part it has kept, the browser asks whether it is still right.
        Assert.All(asked.Except(parts), static exchange => Assert.Equal(304, exchange.Status));
        Assert.All(parts, static part => Assert.Equal("video/webm", part.Reported("Content-Type")));
        Assert.All(parts, part => Assert.EndsWith($"/{bytes}", part.Reported("Content-Range"), StringComparison.Ordinal));
        Assert.Contains(parts, static part => part.Asked("Range") == "bytes=0-");
        Assert.Contains(parts, static part => part.Asked("Range") is string range && range != "bytes=0-");
    }

    /// <summary>A counting test picture with noise: some 20 MB, far more than a browser loads ahead.</summary>
    private static Task<string> FilmAsync(string path) => Tool.RunToSuccessAsync(
        TimeSpan.FromMinutes(3),
        "ffmpeg", "-v", "error", "-f", "lavfi", "-i", $"testsrc2=size=480x270:rate=15:duration={Seconds},noise=alls=20:allf=t",
        "-c:v", "libvpx", "-deadline", "realtime", "-cpu-used", "16", "-b:v", "4M", "-g", "15", path);
}
