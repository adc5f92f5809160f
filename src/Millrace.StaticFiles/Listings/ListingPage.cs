using System.Buffers;

namespace Millrace.StaticFiles.Listings;

/// <summary>
/// Renders a directory as an HTML page: self-contained, without a script, sortable by links. Its references are relative, so that they work
/// with a proxy that strips a prefix.
/// </summary>
internal static class ListingPage
{
    /// <summary>The usual size of an entry; the buffer grows for long names.</summary>
    private const int EntryBytes = 256;

    /// <param name="directoryPath">The directory's decoded path in the URL, with '/' at both ends.</param>
    /// <param name="entries">The entries of the directory; they are sorted in place.</param>
    /// <param name="order">The sort order.</param>
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
            page.Write(order.Direction == SortDirection.Ascending ? " aria-sort=\"ascending\""u8 : " aria-sort=\"descending\""u8);
        }

        page.Write("><a href=\"?sort="u8);
        page.Write(key);
        SortDirection next = order.AfterClickOn(column).Direction;
        page.Write(next == SortDirection.Ascending ? "&amp;order=asc\">"u8 : "&amp;order=desc\">"u8);
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
