using System.Text.Json;
using Microsoft.Playwright;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Pages;

/// <summary>
/// The program's own pages for people with a screen reader, a keyboard, or a phone: axe-core's rules, all of them, in a Chromium of the
/// machine. The scores are in the output, and with the artifacts.
/// </summary>
public class AccessibilityTests(ITestOutputHelper output)
{
    private const int Desk = 1280;
    private const int Phone = 390;

    /// <summary>What people operate, where it is shown.</summary>
    private const string MarkStops =
        """
        () => [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]:not([tabindex='-1'])")]
          .filter(one => one.checkVisibility() && !one.disabled)
          .map((one, i) => { one.dataset.stop = i; return one.outerHTML.slice(0, 120); })
        """;

    /// <summary>The marked element that has the focus, and whether it shows this within the window; -1 for none.</summary>
    private const string Focused =
        """
        () => {
          const one = document.activeElement, style = getComputedStyle(one), box = one.getBoundingClientRect();
          const isMarked = (style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0) || style.boxShadow !== 'none';
          const isInside = box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
          return [Number(one.dataset.stop ?? -1), isMarked && isInside && one.matches(':focus-visible') ? 1 : 0];
        }
        """;

    private static readonly Lazy<Task<string>> Axe = new(static async () => await File.ReadAllTextAsync(Path.Combine(
        await ProgramPages.ToolsAsync(), "node_modules", "axe-core", "axe.min.js")));

    public static TheoryData<string> Names => [ProgramPages.Listing, ProgramPages.Error, ProgramPages.Dashboard];

    [Theory]
    [MemberData(nameof(Names))]
    public async Task Axe_finds_nothing_in_light_and_dark_on_desk_and_phone(string name)
    {
        BrowserSession.Require();
        string axe = await Axe.Value;
        await using ProgramPages pages = await ProgramPages.StartAsync();
        await using BrowserSession browser = await BrowserSession.StartAsync();
        await pages.AskForMissingAsync();
        var violations = new List<string>();
        var scores = new List<string>();
        foreach (ColorScheme scheme in (ColorScheme[])[ColorScheme.Light, ColorScheme.Dark])
        {
            foreach (int width in (int[])[Desk, Phone])
            {
                IPage page = await OpenAsync(browser, pages, name, scheme, width);
                await page.EvaluateAsync(axe);
                JsonElement result = (await page.EvaluateAsync<JsonElement?>("() => axe.run()"))!.Value;
                string where = $"{name}, {scheme.ToString().ToLowerInvariant()}, {width} px";
                string[] found = [.. result.GetProperty("violations").EnumerateArray().Select(one => $"{where}: {Describe(one)}")];
                int passed = result.GetProperty("passes").GetArrayLength();
                Assert.True(passed >= 10, $"{where}: only {passed} rules were applied.");
                violations.AddRange(found);
                scores.Add($"{where}: {100 * passed / (passed + found.Length)} of 100 ({passed} rules passed, {found.Length} violated)");
                await page.Context.CloseAsync();
            }
        }

        scores.ForEach(output.WriteLine);
        await File.WriteAllLinesAsync(Path.Combine(Places.Artifacts, $"accessibility-{name}.txt"), [.. scores, .. violations]);
        Assert.True(violations.Count == 0, string.Join('\n', violations));
    }

    [Theory]
    [MemberData(nameof(Names))]
    public async Task A_phone_never_scrolls_sideways(string name)
    {
        BrowserSession.Require();
        await using ProgramPages pages = await ProgramPages.StartAsync();
        await using BrowserSession browser = await BrowserSession.StartAsync();
        await pages.AskForMissingAsync();

        IPage page = await OpenAsync(browser, pages, name, ColorScheme.Light, Phone);

        Assert.Equal(Phone, await page.EvaluateAsync<int>("() => document.documentElement.scrollWidth"));
    }

    [Theory]
    [MemberData(nameof(Names))]
    public async Task The_tab_key_reaches_all_that_can_be_operated_and_shows_where_it_is(string name)
    {
        BrowserSession.Require();
        await using ProgramPages pages = await ProgramPages.StartAsync();
        await using BrowserSession browser = await BrowserSession.StartAsync();
        foreach (int width in (int[])[Desk, Phone])
        {
            IPage page = await OpenAsync(browser, pages, name, ColorScheme.Light, width);
            string[] stops = await page.EvaluateAsync<string[]>(MarkStops);
            Assert.True(stops.Length > 0 || name == ProgramPages.Error, "Nothing can be operated.");
            var reached = new HashSet<int>();
            for (int i = 0; i <= stops.Length; i++)
            {
                await page.Keyboard.PressAsync("Tab");
                int[] focus = await page.EvaluateAsync<int[]>(Focused);
                if (focus[0] >= 0)
                {
                    Assert.True(focus[1] == 1, $"{width} px: one does not see that this has the focus: {stops[focus[0]]}");
                    reached.Add(focus[0]);
                }
            }

            string[] missed = [.. Enumerable.Range(0, stops.Length).Where(stop => !reached.Contains(stop)).Select(stop => stops[stop])];
            Assert.True(missed.Length == 0, $"{width} px: Tab does not reach\n{string.Join('\n', missed)}");
            await page.Context.CloseAsync();
        }
    }

    private static async Task<IPage> OpenAsync(BrowserSession browser, ProgramPages pages, string name, ColorScheme scheme, int width) =>
        await pages.OpenAsync(
            browser,
            await browser.NewProfileAsync(new() { ColorScheme = scheme, ViewportSize = new() { Width = width, Height = 844 } }),
            name);

    private static string Describe(JsonElement violation) =>
        $"{violation.GetProperty("id").GetString()}: {violation.GetProperty("help").GetString()} "
        + string.Join(" ", violation.GetProperty("nodes").EnumerateArray().Select(static node => node.GetProperty("html").GetString()));
}
