using System.Buffers.Binary;
using System.Text.Json;
using Microsoft.Playwright;
using Millrace.Server.Admin;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Pages;

/// <summary>
/// The pictures of the program's pages in the documents: light, dark, and on a phone. MILLRACE_ACCEPT_PICTURES=1 takes them again, of the
/// same content each time, and without a version.
/// </summary>
public class PagePictureTests
{
    private const int BytesMax = 60_000;

    private static readonly Picture[] Pictures =
    [
        .. from name in (string[])[ProgramPages.Listing, ProgramPages.Error, ProgramPages.Dashboard]
           let width = name == ProgramPages.Dashboard ? 1000 : 860
           let height = name == ProgramPages.Error ? 420 : 800
           from picture in (Picture[])
           [
               new(name, "light", ColorScheme.Light, width, height),
               new(name, "dark", ColorScheme.Dark, width, height),
               new(name, "narrow", ColorScheme.Light, 390, height),
           ]
           select picture,
    ];

    [Fact]
    public async Task The_pictures_in_the_documents_are_there_and_small()
    {
        if (Environment.GetEnvironmentVariable("MILLRACE_ACCEPT_PICTURES") == "1" && Environment.GetEnvironmentVariable("CI") != "true")
        {
            await TakeAsync();
        }

        foreach (Picture picture in Pictures)
        {
            byte[] bytes = await File.ReadAllBytesAsync(picture.Path);
            Assert.True(bytes.AsSpan(1).StartsWith("PNG"u8));
            Assert.Equal(picture.Width, BinaryPrimitives.ReadInt32BigEndian(bytes.AsSpan(16)));
            Assert.True(bytes.Length is >= 1_500 and <= BytesMax, $"{picture.Path} has {bytes.Length} bytes.");
        }
    }

    private static async Task TakeAsync()
    {
        await using ProgramPages pages = await ProgramPages.StartAsync();
        await using BrowserSession browser = await BrowserSession.StartAsync();
        foreach (Picture picture in Pictures)
        {
            IBrowserContext profile = await browser.NewProfileAsync(new()
            {
                ColorScheme = picture.Scheme,
                ViewportSize = new() { Width = picture.Width, Height = picture.Height },
                TimezoneId = "UTC",
                Locale = "en-GB",
            });
            IPage page = await pages.OpenAsync(browser, profile, picture.Name, PlayedStats.Json);
            await page.ScreenshotAsync(new() { Path = picture.Path, FullPage = picture is { Name: ProgramPages.Dashboard, Width: > 390 } });
            await profile.CloseAsync();
        }

        string tools = await ProgramPages.ToolsAsync();
        await Tool.RunToSuccessAsync(
            NodeProject.Deadline, "node", [Path.Combine(tools, "shrink.mjs"), .. Pictures.Select(static picture => picture.Path)]);
    }

    private sealed record Picture(string Name, string Look, ColorScheme Scheme, int Width, int Height)
    {
        public string Path => System.IO.Path.Combine(Places.Repository, "docs", "images", $"{Name}-{Look}.png");
    }

    /// <summary>Five minutes of a site that many people visit.</summary>
    private static class PlayedStats
    {
        private const int Samples = 300;

        private static readonly DateTimeOffset End = new(2026, 5, 4, 9, 30, 0, TimeSpan.Zero);

        public static string Json { get; } = JsonSerializer.Serialize(
            new Stats(
                Version: "",
                Backend: "io_uring",
                State: "ready",
                Trouble: null,
                Reactors: 2,
                Assets: 18_240,
                End.AddDays(-9).AddHours(-5).ToUnixTimeMilliseconds(),
                Requests: 204_381_774,
                BodyBytes: 6_120_000_000_000,
                [
                    new("mill.example, www.mill.example", "", 0, "valid", "is valid until 2026-07-12 (69 days)"),
                    new("archive.mill.example", "", 0, "due", "is valid until 2026-05-13 (9 days)"),
                ],
                Upstreams: [],
                [
                    new("/favicon.ico", 10_482), new("/wp-login.php", 6_120), new("/apple-touch-icon.png", 2_214),
                    new("/blog/2019/how-the-wheel-was-mended.html", 871), new("/.env", 640), new("/feed.xml", 96),
                ],
                [.. Enumerable.Range(0, Samples).Select(SampleAt)]),
            StatsJson.Default.Stats);

        private static StatsSample SampleAt(int i)
        {
            double tide = Math.Sin(i / 55.0) + (0.35 * Math.Sin((i / 17.0) + 1));
            long requests = (long)(1_150 + (320 * tide));
            long unmodified = requests * 27 / 100;
            long found = requests * 66 / 100;
            long lost = requests / 40;
            bool isPeak = i is > 205 and < 222;
            return new StatsSample(
                i + 1,
                End.AddSeconds(i - Samples + 1).ToUnixTimeMilliseconds(),
                Seconds: 1,
                [0, 0, found, requests - found - lost, lost, isPeak ? 9 : 0],
                [0, requests / 20, requests * 3 / 5, requests - (requests / 20) - (requests * 3 / 5)],
                unmodified,
                found * 27_000,
                [unmodified, lost, found * 83 / 100, found * 12 / 100, found * 5 / 100],
                [found * 38 / 100, found * 18 / 100, found * 44 / 100, 0],
                P50: 0.00011 + (0.00002 * tide),
                P99: isPeak ? 0.0121 : 0.0021 + (0.0006 * tide),
                (long)(410 + (130 * Math.Sin((i / 60.0) - 0.4))),
                (long)(38 + (12 * tide)),
                TurnedAway: 0,
                [0.00021 + (0.00006 * tide), 0.00033 + (0.00011 * Math.Sin(i / 29.0))],
                0.21 + (0.06 * tide),
                (long)(96e6 + (4e6 * Math.Sin(i / 90.0))));
        }
    }
}
