using System.Buffers;
using System.Security.Cryptography;
using System.Text;

namespace Millrace.StaticFiles.Listings;

/// <summary>
/// Renders a directory as an HTML page: self-contained, without a script, sortable by links. Its references are relative, so that they work
/// with a proxy that strips a prefix.
/// </summary>
internal static class ListingPage
{
    /// <summary>The usual size of an entry; the buffer grows for long names.</summary>
    private const int EntryBytes = 256;

    /// <summary>The path is the directory's decoded one in the URL, with '/' at both ends. Sorts the entries in place.</summary>
    public static byte[] Render(ReadOnlySpan<byte> directoryPath, Span<ListingEntry> entries, ListingOrder order)
    {
        order.Sort(entries);
        var page = new ArrayBufferWriter<byte>(4096 + (EntryBytes * entries.Length));
        WriteHead(page, directoryPath);
        WriteBreadcrumbs(page, directoryPath);
        WriteSummary(page, entries);
        WriteColumns(page, order);
        WriteParent(page, directoryPath);
        foreach (ref readonly ListingEntry entry in entries)
        {
            WriteEntry(page, entry);
        }

        page.Write("</tbody>\n</table>\n</body>\n</html>\n"u8);
        return page.WrittenSpan.ToArray();
    }

    private static void WriteHead(ArrayBufferWriter<byte> page, ReadOnlySpan<byte> directoryPath)
    {
        page.Write("""
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <title>
            """u8);
        page.WriteText(directoryPath);
        page.Write("</title>\n<style>"u8);
        page.Write(ListingStyle.Sheet);
        page.Write("</style>\n</head>\n<body>\n"u8);
    }

    /// <summary>Links each ancestor directory, by as many levels up as follow it in the path.</summary>
    private static void WriteBreadcrumbs(ArrayBufferWriter<byte> page, ReadOnlySpan<byte> directoryPath)
    {
        page.Write("<h1>"u8);
        int levelsUp = directoryPath.Count((byte)'/') - 1;
        while (!directoryPath.IsEmpty)
        {
            int slash = directoryPath.IndexOf((byte)'/');
            int bytes = slash < 0 ? directoryPath.Length : slash + 1;
            if (levelsUp > 0)
            {
                page.Write("<a href=\""u8);
                for (int i = 0; i < levelsUp; i++)
                {
                    page.Write("../"u8);
                }

                page.Write("\"><bdi>"u8);
                page.WriteText(directoryPath[..bytes]);
                page.Write("</bdi></a>"u8);
            }
            else
            {
                page.Write("<bdi>"u8);
                page.WriteText(directoryPath[..bytes]);
                page.Write("</bdi>"u8);
            }

            directoryPath = directoryPath[bytes..];
            levelsUp--;
        }

        page.Write("</h1>\n"u8);
    }

    private static void WriteSummary(ArrayBufferWriter<byte> page, ReadOnlySpan<ListingEntry> entries)
    {
        int directories = 0;
        long bytes = 0;
        foreach (ref readonly ListingEntry entry in entries)
        {
            directories += entry.IsDirectory ? 1 : 0;
            // Sparse files can claim sizes whose sum exceeds the range of the type.
            bytes += entry.IsDirectory ? 0 : Math.Min(entry.Size, long.MaxValue - bytes);
        }

        int files = entries.Length - directories;
        page.Write("<p>"u8);
        page.WriteNumber(directories, "N0");
        page.Write(directories == 1 ? " directory, "u8 : " directories, "u8);
        page.WriteNumber(files, "N0");
        page.Write(files == 1 ? " file, "u8 : " files, "u8);
        page.WriteSize(bytes);
        page.Write("</p>\n"u8);
    }

    private static void WriteColumns(ArrayBufferWriter<byte> page, ListingOrder order)
    {
        page.Write("<table>\n<thead><tr>"u8);
        WriteColumn(page, order, ListingColumn.Name, "name"u8, "Name"u8);
        WriteColumn(page, order, ListingColumn.Size, "size"u8, "Size"u8);
        WriteColumn(page, order, ListingColumn.Time, "time"u8, "Modified (UTC)"u8);
        page.Write("</tr></thead>\n<tbody>\n"u8);
    }

    private static void WriteColumn(
        ArrayBufferWriter<byte> page, ListingOrder order, ListingColumn column, ReadOnlySpan<byte> key, ReadOnlySpan<byte> title)
    {
        page.Write("<th scope=\"col\""u8);
        if (column == order.Column)
        {
            page.Write(order.IsDescending ? " aria-sort=\"descending\""u8 : " aria-sort=\"ascending\""u8);
        }

        page.Write("><a href=\"?sort="u8);
        page.Write(key);
        page.Write(order.AfterClickOn(column).IsDescending ? "&amp;order=desc\">"u8 : "&amp;order=asc\">"u8);
        page.Write(title);
        page.Write("</a></th>"u8);
    }

    private static void WriteParent(ArrayBufferWriter<byte> page, ReadOnlySpan<byte> directoryPath)
    {
        if (directoryPath.Length > 1)
        {
            page.Write("<tr><td><a href=\"../\">../</a></td><td></td><td></td></tr>\n"u8);
        }
    }

    private static void WriteEntry(ArrayBufferWriter<byte> page, in ListingEntry entry)
    {
        page.Write("<tr><td><a href=\""u8);
        page.WriteReference(entry.Name.Span);
        page.Write(entry.IsDirectory ? "/\"><bdi>"u8 : "\"><bdi>"u8);
        page.WriteText(entry.Name.Span);
        page.Write(entry.IsDirectory ? "/</bdi></a></td><td>"u8 : "</bdi></a></td><td title=\""u8);
        if (!entry.IsDirectory)
        {
            page.WriteNumber(entry.Size, "N0");
            page.Write(entry.Size == 1 ? " byte\">"u8 : " bytes\">"u8);
            page.WriteSize(entry.Size);
        }

        Span<byte> time = stackalloc byte[ListingEntry.TimeBytes];
        entry.WriteTime(time);
        page.Write("</td><td><time datetime=\""u8);
        page.Write(time);
        page.Write("\">"u8);
        page.Write(time[..10]);
        page.Write("<span> "u8);
        page.Write(time[11..19]);
        page.Write("</span></time></td></tr>\n"u8);
    }
}

/// <summary>
/// The style sheet of a listing, which is part of its page: nothing else is fetched, and it needs no file name of the site.
/// </summary>
internal static class ListingStyle
{
    /// <summary>Allows the page only its own style, by hash: markup that a file name might inject has no effect.</summary>
    public static readonly string ContentSecurityPolicy =
        $"default-src 'none'; style-src 'sha256-{Convert.ToBase64String(SHA256.HashData(Sheet))}'; base-uri 'none'; form-action 'none'";

    public static readonly byte[] ContentSecurityPolicyBytes = Encoding.ASCII.GetBytes(ContentSecurityPolicy);

    /// <summary>
    /// On a narrow screen the time of day is hidden so that a line fits. White space in names is preserved, because names may differ by it.
    /// </summary>
    public static ReadOnlySpan<byte> Sheet => """
        :root{color-scheme:light dark;--page:#fff;--text:#1b1f24;--dim:#59636e;--line:#d8dee4;--link:#0550ae;--row:#f3f6f9}
        @media(prefers-color-scheme:dark){:root{--page:#0f1419;--text:#e6e9ec;--dim:#98a3ae;--line:#2d353d;--link:#7ab7ff;--row:#1a2129}}
        *{box-sizing:border-box}
        body{margin:0 auto;max-width:64rem;padding:1.5rem 1rem 3rem;background:var(--page);color:var(--text);
        font:1rem/1.5 system-ui,sans-serif}
        a{color:var(--link);text-decoration:none}
        a:hover,a:focus-visible{text-decoration:underline}
        h1{margin:0 .75rem;font-size:1.25rem;font-weight:600;overflow-wrap:anywhere;white-space:pre-wrap}
        h1 a{padding:.25rem 0}
        p{margin:.25rem .75rem 1rem;color:var(--dim);font-size:.875rem}
        table{width:100%;border-collapse:collapse;font-variant-numeric:tabular-nums}
        th,td{padding:.5rem .75rem;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap;color:var(--dim)}
        th:first-child,td:first-child{width:100%;text-align:left;white-space:pre-wrap;overflow-wrap:anywhere}
        th{position:sticky;top:0;background:var(--page);font-size:.875rem;font-weight:600}
        th a{color:inherit}
        th[aria-sort=ascending] a::after{content:" \2191"}
        th[aria-sort=descending] a::after{content:" \2193"}
        td:first-child a{display:block}
        tbody tr:hover{background:var(--row)}
        @media(max-width:40rem){
        body{padding:1rem 0 2rem}
        h1,p{margin-left:.5rem;margin-right:.5rem}
        th,td{padding:.625rem .5rem}
        td{font-size:.875rem}
        td:first-child{font-size:1rem}
        time span{display:none}
        }
        """u8;
}
