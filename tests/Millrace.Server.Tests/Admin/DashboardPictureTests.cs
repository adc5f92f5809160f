using System.Buffers.Binary;
using Microsoft.Playwright;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Admin;

/// <summary>
/// The pictures of the live page in the documents. MILLRACE_ACCEPT_PICTURES=1 takes them again, which needs five minutes of load.
/// </summary>
public class DashboardPictureTests
{
    private const int BytesMax = 250_000;
    private const int Width = 1280;
    private const int Height = 1050;

    private static readonly TimeSpan Shown = TimeSpan.FromSeconds(300);

    [Fact]
    public async Task The_pictures_in_the_documents_are_there_and_small()
    {
        if (Environment.GetEnvironmentVariable("MILLRACE_ACCEPT_PICTURES") == "1" && Environment.GetEnvironmentVariable("CI") != "true")
        {
            await TakeAsync();
        }

        foreach (ColorScheme scheme in (ColorScheme[])[ColorScheme.Light, ColorScheme.Dark])
        {
            byte[] picture = await File.ReadAllBytesAsync(PathOf(scheme));
            Assert.True(picture.AsSpan(1).StartsWith("PNG"u8));
            Assert.Equal(Width, BinaryPrimitives.ReadInt32BigEndian(picture.AsSpan(16)));
            Assert.InRange(picture.Length, 20_000, BytesMax);
        }
    }

    private static async Task TakeAsync()
    {
        await using ServerProcess server = await ServerProcess.StartAsync(Places.SampleSite, "--listen", "127.0.0.1:0", "--admin", "0");
        await using BrowserSession browser = await BrowserSession.StartAsync();
        await using var load = new Load(server.Url);
        // Sleeps: the page has a sample each second.
        await Task.Delay(Shown);
        foreach (ColorScheme scheme in (ColorScheme[])[ColorScheme.Light, ColorScheme.Dark])
        {
            IBrowserContext profile = await browser.NewProfileAsync(new()
            {
                ColorScheme = scheme,
                ViewportSize = new() { Width = Width, Height = Height },
            });
            IPage page = await browser.OpenAsync(profile, server.Admin);
            await page.Locator("#shares .bar i").First.WaitForAsync(new() { State = WaitForSelectorState.Attached });
            await page.ScreenshotAsync(new() { Path = PathOf(scheme) });
            await profile.CloseAsync();
        }
    }

    private static string PathOf(ColorScheme scheme) =>
        Path.Combine(Places.Repository, "docs", "images", scheme == ColorScheme.Light ? "dashboard-light.png" : "dashboard-dark.png");
}
