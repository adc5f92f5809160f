using System.Buffers;
using System.Text;
using System.Text.Json;

namespace Millrace.StaticFiles.Listings;

/// <summary>
/// A directory as a JSON array, for programs: <c>[{"name", "type", "size", "mtime"}]</c>, where a directory has no size. JSON is
/// Unicode: what of a name is no UTF-8 becomes U+FFFD.
/// </summary>
internal static class ListingJson
{
    private const int EntryBytes = 128;

    /// <param name="entries">What is in the directory; left sorted.</param>
    /// <param name="order">How.</param>
    public static byte[] Render(Span<ListingEntry> entries, ListingOrder order)
    {
        order.Sort(entries);
        var array = new ArrayBufferWriter<byte>(64 + (EntryBytes * entries.Length));
        using (var json = new Utf8JsonWriter(array))
        {
            Span<byte> time = stackalloc byte[ListingEntry.TimeBytes];
            json.WriteStartArray();
            foreach (ref readonly ListingEntry entry in entries)
            {
                json.WriteStartObject();
                json.WriteString("name"u8, Encoding.UTF8.GetString(entry.Name.Span));
                json.WriteString("type"u8, entry.IsDirectory ? "directory"u8 : "file"u8);
                if (!entry.IsDirectory)
                {
                    json.WriteNumber("size"u8, entry.Size);
                }

                entry.WriteTime(time);
                json.WriteString("mtime"u8, time);
                json.WriteEndObject();
            }

            json.WriteEndArray();
        }

        return array.WrittenSpan.ToArray();
    }
}
