using System.Buffers;
using Millrace.StaticFiles.Archives;
using Millrace.StaticFiles.Pages;
using Millrace.StaticFiles.Rules;

namespace Millrace.StaticFiles.Listings;

/// <summary>
/// Renders a directory as an HTML page, or one of several: self-contained, sortable by links. Its references are relative, so that they
/// work with a proxy that strips a prefix.
/// </summary>
internal static class ListingPage
{
    /// <summary>The usual size of an entry; the buffer grows for long names.</summary>
    private const int EntryBytes = 256;

    /// <summary>The style, the script and what is around them.</summary>
    private const int OwnBytes = 8 * 1024;

    private static ReadOnlySpan<byte> RootName => "Home"u8;

    /// <summary>
    /// The path is the directory's decoded one in the URL, with '/' at both ends. The entries are all of the directory, in this order. A
    /// number beyond the last page means the last.
    /// </summary>
    public static byte[] Render(
        ReadOnlySpan<byte> directoryPath,
        ReadOnlySpan<ListingEntry> entries,
        ListingOrder order,
        int number = 1,
        ArchiveFormats archives = ArchiveFormats.None)
    {
        int pages = ListingForm.PagesOf(entries.Length);
        number = Math.Min(number, pages);
        int first = (number - 1) * ListingForm.PageEntriesMax;
        ReadOnlySpan<ListingEntry> shown = entries.Slice(first, Math.Min(ListingForm.PageEntriesMax, entries.Length - first));
        var page = new ArrayBufferWriter<byte>(OwnBytes + (EntryBytes * shown.Length));
        WriteHead(page, directoryPath);
        page.Write("<body>\n<header>\n"u8);
        WriteBreadcrumbs(page, directoryPath);
        WriteSummary(page, entries);
        if (pages > 1)
        {
            WriteRange(page, first, shown.Length);
        }

        WriteArchives(page, archives);
        page.Write("</header>\n<main>\n"u8);
        WriteFilter(page, isOfPage: pages > 1);
        WriteColumns(page, order);
        WriteParent(page, directoryPath);
        foreach (ref readonly ListingEntry entry in shown)
        {
            WriteEntry(page, entry);
        }

        page.Write("</tbody>\n</table>\n"u8);
        if (pages > 1)
        {
            WritePages(page, order, number, pages);
        }

        page.Write("</main>\n<script>"u8);
        page.Write(ListingStyle.Script);
        page.Write("</script>\n</body>\n</html>\n"u8);
        return page.WrittenSpan.ToArray();
    }

    private static void WriteHead(ArrayBufferWriter<byte> page, ReadOnlySpan<byte> directoryPath)
    {
        page.Write(PageStyle.Start);
        page.Write("Index of "u8);
        page.WriteText(directoryPath);
        page.Write("</title>\n<style>"u8);
        page.Write(ListingStyle.Sheet);
        page.Write("</style>\n</head>\n"u8);
    }

    /// <summary>
    /// Links each ancestor directory, by as many levels up as follow it in the path, and writes the directory's own name as the heading.
    /// </summary>
    private static void WriteBreadcrumbs(ArrayBufferWriter<byte> page, ReadOnlySpan<byte> directoryPath)
    {
        int levelsUp = directoryPath.Count((byte)'/') - 1;
        if (levelsUp == 0)
        {
            page.Write("<h1>"u8);
            page.Write(RootName);
            page.Write("</h1>\n"u8);
            return;
        }

        page.Write("<nav aria-label=\"Breadcrumb\"><ol>"u8);
        for (; levelsUp > 0; levelsUp--)
        {
            page.Write("<li><a href=\""u8);
            for (int i = 0; i < levelsUp; i++)
            {
                page.Write("../"u8);
            }

            page.Write("\">"u8);
            int slash = directoryPath.IndexOf((byte)'/');
            WriteName(page, directoryPath[..slash]);
            page.Write("</a></li>"u8);
            directoryPath = directoryPath[(slash + 1)..];
        }

        page.Write("</ol></nav>\n<h1>"u8);
        WriteName(page, directoryPath[..^1]);
        page.Write("</h1>\n"u8);
    }

    /// <summary>
    /// Writes a segment of the path: the one before the first slash is the root. Its direction does not affect what follows.
    /// </summary>
    private static void WriteName(ArrayBufferWriter<byte> page, ReadOnlySpan<byte> name)
    {
        if (name.IsEmpty)
        {
            page.Write(RootName);
            return;
        }

        page.Write("<bdi>"u8);
        page.WriteText(name);
        page.Write("</bdi>"u8);
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

    private static void WriteRange(ArrayBufferWriter<byte> page, int first, int count)
    {
        page.Write("<p>This page shows entries "u8);
        page.WriteNumber(first + 1, "N0");
        page.Write(" to "u8);
        page.WriteNumber(first + count, "N0");
        page.Write(".</p>\n"u8);
    }

    /// <summary>Links the downloads of the whole directory, which crawlers need not follow.</summary>
    private static void WriteArchives(ArrayBufferWriter<byte> page, ArchiveFormats archives)
    {
        if (archives == ArchiveFormats.None)
        {
            return;
        }

        page.Write("<p>Download all as"u8);
        foreach (ArchiveFormats format in ArchiveFormatNames.All)
        {
            if (archives.HasFlag(format))
            {
                page.Write(" <a href=\"?archive="u8);
                page.Write(format.Text());
                page.Write("\" rel=\"nofollow\" download>"u8);
                page.Write(format.Text());
                page.Write("</a>"u8);
            }
        }

        page.Write("</p>\n"u8);
    }

    /// <summary>Hidden unless the script runs, which it needs.</summary>
    private static void WriteFilter(ArrayBufferWriter<byte> page, bool isOfPage)
    {
        page.Write("<div class=\"filter\" hidden><label for=\"filter\">"u8);
        page.Write(isOfPage ? "Filter this page"u8 : "Filter"u8);
        page.Write("</label><input id=\"filter\" type=\"search\" autocomplete=\"off\" spellcheck=\"false\">"u8);
        page.Write("<output id=\"count\" for=\"filter\"></output></div>\n"u8);
    }

    private static void WriteColumns(ArrayBufferWriter<byte> page, ListingOrder order)
    {
        page.Write("<table>\n<thead><tr>"u8);
        WriteColumn(page, order, ListingColumn.Name, ">Name"u8);
        WriteColumn(page, order, ListingColumn.Size, ">Size"u8);
        WriteColumn(page, order, ListingColumn.Time, " id=\"modified\">Modified (UTC)"u8);
        page.Write("</tr></thead>\n<tbody>\n"u8);
    }

    private static void WriteColumn(ArrayBufferWriter<byte> page, ListingOrder order, ListingColumn column, ReadOnlySpan<byte> title)
    {
        page.Write("<th scope=\"col\""u8);
        if (column == order.Column)
        {
            page.Write(order.IsDescending ? " aria-sort=\"descending\""u8 : " aria-sort=\"ascending\""u8);
        }

        page.Write("><a href=\"?"u8);
        WriteOrder(page, order.AfterClickOn(column));
        page.Write("\""u8);
        page.Write(title);
        page.Write("</a></th>"u8);
    }

    private static void WriteOrder(ArrayBufferWriter<byte> page, ListingOrder order)
    {
        page.Write("sort="u8);
        page.Write(order.Column switch
        {
            ListingColumn.Size => "size"u8,
            ListingColumn.Time => "time"u8,
            _ => "name"u8,
        });
        page.Write(order.IsDescending ? "&amp;order=desc"u8 : "&amp;order=asc"u8);
    }

    private static void WriteParent(ArrayBufferWriter<byte> page, ReadOnlySpan<byte> directoryPath)
    {
        if (directoryPath.Length > 1)
        {
            page.Write("<tr class=\"u\"><td><a href=\"../\">Parent directory</a></td><td></td><td></td></tr>\n"u8);
        }
    }

    private static void WriteEntry(ArrayBufferWriter<byte> page, in ListingEntry entry)
    {
        page.Write("<tr"u8);
        page.Write(IconOf(entry));
        page.Write("><td><a href=\""u8);
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
        page.Write(time[11..16]);
        page.Write("</span></time></td></tr>\n"u8);
    }

    /// <summary>The class of a row that gives it the icon of its kind; empty for a file of any other kind.</summary>
    private static ReadOnlySpan<byte> IconOf(in ListingEntry entry) => entry.IsDirectory ? " class=\"d\""u8 : entry.Type?.Kind switch
    {
        ContentKind.Image => " class=\"i\""u8,
        ContentKind.Audio => " class=\"a\""u8,
        ContentKind.Video => " class=\"v\""u8,
        ContentKind.Archive => " class=\"z\""u8,
        ContentKind.Text => " class=\"t\""u8,
        _ => default,
    };

    private static void WritePages(ArrayBufferWriter<byte> page, ListingOrder order, int number, int pages)
    {
        page.Write("<nav aria-label=\"Pages\">"u8);
        if (number > 1)
        {
            WritePageLink(page, order, 1, "First"u8);
            WritePageLink(page, order, number - 1, "Previous"u8);
        }

        page.Write("<span>Page "u8);
        page.WriteNumber(number, "N0");
        page.Write(" of "u8);
        page.WriteNumber(pages, "N0");
        page.Write("</span>"u8);
        if (number < pages)
        {
            WritePageLink(page, order, number + 1, "Next"u8);
            WritePageLink(page, order, pages, "Last"u8);
        }

        page.Write("</nav>\n"u8);
    }

    private static void WritePageLink(ArrayBufferWriter<byte> page, ListingOrder order, int number, ReadOnlySpan<byte> text)
    {
        page.Write("<a href=\"?"u8);
        WriteOrder(page, order);
        page.Write("&amp;page="u8);
        page.WriteNumber(number);
        page.Write("\">"u8);
        page.Write(text);
        page.Write("</a>"u8);
    }
}
