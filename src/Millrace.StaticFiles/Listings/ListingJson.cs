using System.Buffers;
using System.Text;
using System.Text.Json;

namespace Millrace.StaticFiles.Listings;

/// <summary>
/// Renders a directory as a JSON array, for programs: <c>[{"name", "type", "size", "mtime"}]</c>, in which a directory has no size. JSON is
/// Unicode: bytes of a name that are not UTF-8 become U+FFFD.
/// </summary>
internal static class ListingJson
{
    private const int EntryBytes = 128;

    /// <summary>The entries are in the order in which they are listed.</summary>
    public static byte[] Render(ReadOnlySpan<ListingEntry> entries)
    {
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
