using System.Text;
using Millrace.StaticFiles.Pages;

namespace Millrace.StaticFiles.Listings;

/// <summary>
/// The style sheet and the script of a listing, which are part of its page: nothing else is fetched. The page works without the script,
/// which adds the filter and the visitor's time zone.
/// </summary>
internal static class ListingStyle
{
    /// <summary>
    /// On a narrow screen the time of day is hidden so that a line fits. White space in names is preserved, because names may differ by it.
    /// An icon is the shape of an element without content: a picture would need a URL, which the policy forbids.
    /// </summary>
    public static readonly byte[] Sheet = Encoding.UTF8.GetBytes(PageStyle.Colors + """
        body{margin:0 auto;max-width:64rem;padding:1.5rem 1rem 3rem;background:var(--page);color:var(--text);
        font:1rem/1.5 system-ui,sans-serif}
        a{color:var(--link);text-decoration:none}
        a:hover,a:focus-visible{text-decoration:underline}
        a:focus-visible,input:focus-visible{outline:2px solid var(--link);outline-offset:1px;border-radius:2px}
        bdi{white-space:pre-wrap;overflow-wrap:anywhere}
        header,.filter,main>nav{margin:0 .75rem 1rem}
        ol{display:flex;flex-wrap:wrap;margin:0;padding:0;list-style:none}
        li a{display:inline-block;min-width:1.5rem;padding:.125rem 0}
        li::after{content:"/";margin:0 .5rem;color:var(--dim)}
        h1{margin:0;font-size:1.5rem;line-height:1.25;font-weight:600}
        p{margin:.25rem 0;color:var(--dim);font-size:.875rem}
        .filter:not([hidden]){display:flex;flex-wrap:wrap;align-items:center;gap:.5rem}
        input{flex:0 1 20rem;min-width:0;padding:.375rem .5rem;border:1px solid var(--dim);border-radius:4px;background:var(--page);
        color:var(--text);font:1rem/1.25 system-ui,sans-serif}
        table{width:100%;border-collapse:collapse;font-variant-numeric:tabular-nums}
        th,td{padding:.5rem .75rem;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap;color:var(--dim)}
        th:first-child,td:first-child{width:100%;text-align:left;white-space:normal}
        th{position:sticky;top:0;background:var(--page);font-size:.875rem;font-weight:600}
        th a{color:inherit}
        th[aria-sort=ascending] a::after{content:" \2191"}
        th[aria-sort=descending] a::after{content:" \2193"}
        td a{display:block;position:relative;padding-left:1.75rem}
        td a::before{content:"";position:absolute;left:0;top:.25em;width:16px;height:16px;background:var(--dim);
        clip-path:path(evenodd,"M3 1h6l4 4v10H3zM4.5 2.5v11h7V6H8V2.5z")}
        .d a::before{background:var(--link);clip-path:path("M1 3h5l2 2h7v9H1z")}
        .u a::before{clip-path:path("M8 1l6 6h-4v8H6V7H2z")}
        .t a::before{clip-path:path(evenodd,"M3 1h6l4 4v10H3zM4.5 2.5v11h7V6H8V2.5zM6 8h4v1H6zM6 10h4v1H6z")}
        .i a::before{clip-path:path(evenodd,"M1 2h14v12H1zM2.5 3.5v9h11v-9zM3.5 11.5l3-4 2 2.5 1.5-1.5 2.5 3zM10 5h2v2h-2z")}
        .a a::before{clip-path:path("M5 2l8-1v10H9V9h2.5V4L6.5 5v9H2v-4h3z")}
        .v a::before{clip-path:path(evenodd,"M1 2h14v12H1zM2.5 3.5v9h11v-9zM6 5l5 3-5 3z")}
        .z a::before{clip-path:path(evenodd,"M1 2h14v4h-1v8H2V6H1zM6 7.5V9h4V7.5z")}
        tbody tr:hover{background:var(--row)}
        main>nav{display:flex;flex-wrap:wrap;gap:.5rem 1.25rem;margin-top:1rem}
        @media(max-width:40rem){
        body{padding:1rem 0 2rem}
        header,.filter,main>nav{margin-left:.5rem;margin-right:.5rem}
        th,td{padding:.625rem .5rem}
        td{font-size:.875rem}
        td:first-child{font-size:1rem}
        time span{display:none}
        }
        """);

    /// <summary>Shows times in the visitor's zone and notation, and the filter, which hides rows whose name lacks the text.</summary>
    public static readonly byte[] Script = """
        (() => {
          const day = new Intl.DateTimeFormat(undefined, { year: "numeric", month: "2-digit", day: "2-digit" });
          const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
          for (const time of document.querySelectorAll("time")) {
            const at = new Date(time.dateTime);
            time.firstChild.data = day.format(at);
            time.lastChild.textContent = " " + clock.format(at);
          }
          document.getElementById("modified").textContent = "Modified";
          const rows = [...document.querySelectorAll("tbody tr:not(.u)")].map(row => [row, row.cells[0].textContent.toLowerCase()]);
          const field = document.getElementById("filter");
          const count = document.getElementById("count");
          const apply = () => {
            const text = field.value.trim().toLowerCase();
            let shown = 0;
            for (const [row, name] of rows) {
              row.hidden = !name.includes(text);
              shown += row.hidden ? 0 : 1;
            }
            count.textContent = text && `${shown} of ${rows.length}`;
          };
          field.addEventListener("input", apply);
          addEventListener("pageshow", apply);
          field.parentNode.hidden = false;
        })();
        """u8.ToArray();

    public static byte[] ContentSecurityPolicy { get; } = PageStyle.PolicyOf(
        style: "7uLzBOmIuze8bnn4+0GwAKE+VdCGSKihExC6fSSj8ZM=", script: "ydgOldLWjoBE6VjPWtmK43sPbkqVMrLHmc0tDrhmEjo=");
}
