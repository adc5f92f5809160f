using System.Globalization;
using System.Text;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Http3.Kit;

/// <summary>A page with 40 scripts, 30 style sheets and 30 pictures, each of which leaves a trace.</summary>
internal static class HundredParts
{
    /// <summary>Counts the scripts, the style sheets and the pictures that a page has loaded: 40, 30 and 30.</summary>
    public const string Count =
        """
        () => [
          window.parts,
          [...document.querySelectorAll('i')].filter(one => getComputedStyle(one).paddingLeft === '7px').length,
          [...document.images].filter(one => one.complete && one.naturalWidth === 9).length,
        ]
        """;

    /// <summary>The protocols that the page and its parts came by, as a browser knows them.</summary>
    public const string Protocols =
        "performance.getEntries().filter(entry => 'nextHopProtocol' in entry).map(entry => entry.nextHopProtocol)";

    /// <param name="folder">Where the page is written.</param>
    /// <param name="script">What the page does when it has loaded.</param>
    public static void Write(TempFolder folder, string script = "")
    {
        var page = new StringBuilder("<!doctype html><html lang=en><head><meta charset=utf-8><title>parts</title><link rel=icon href=data:,>");
        for (int i = 0; i < 40; i++)
        {
            folder.WriteText($"s{i}.js", $"window.parts = (window.parts ?? 0) + 1; // {new string('s', 300 * i)}\n");
            page.Append(CultureInfo.InvariantCulture, $"<script src=s{i}.js></script>");
        }

        for (int i = 0; i < 30; i++)
        {
            folder.WriteText($"c{i}.css", $"#c{i} {{ padding-left: 7px }} /* {new string('c', 500 * i)} */\n");
            page.Append(CultureInfo.InvariantCulture, $"<link rel=stylesheet href=c{i}.css>");
        }

        page.Append("</head><body>");
        for (int i = 0; i < 30; i++)
        {
            folder.WriteText($"p{i}.svg", $"<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'><!--{new string('p', 1_000 * i)}--></svg>");
            page.Append(CultureInfo.InvariantCulture, $"<i id=c{i}></i><img src=p{i}.svg alt=''>");
        }

        page.Append(CultureInfo.InvariantCulture, $"<script>{script}</script>");
        folder.WriteText("index.html", page.Append("</body></html>\n").ToString());
    }
}
