using System.Text;
using System.Text.Json;
using Millrace.StaticFiles.Listings;

namespace Millrace.StaticFiles.Tests.Listings;

public class ListingJsonTests
{
    [Fact]
    public void Entries_are_an_array_in_their_order()
    {
        ListingEntry[] entries =
        [
            new("b"u8.ToArray(), true, 4096, 0),
            new("a.txt"u8.ToArray(), false, 5_368_709_120, 1_700_000_000_000_000_000),
        ];

        Assert.Equal(
            """[{"name":"b","type":"directory","mtime":"1970-01-01T00:00:00Z"},"""
            + """{"name":"a.txt","type":"file","size":5368709120,"mtime":"2023-11-14T22:13:20Z"}]""",
            Encoding.UTF8.GetString(ListingJson.Render(entries)));
        Assert.Equal("[]", Encoding.UTF8.GetString(ListingJson.Render([])));
    }

    [Fact]
    public void Any_name_comes_back_from_a_parser_as_it_was_and_what_is_no_utf8_as_its_replacement()
    {
        string[] names = ["\"quoted\"", "back\\slash", "new\nline", "</script>", "grün 😀", "\u2028"];
        ListingEntry[] entries =
        [
            .. names.Select(name => new ListingEntry(Encoding.UTF8.GetBytes(name), false, 0, 0)),
            new(new byte[] { (byte)'a', 0xff, 0xed, 0xa0, 0x80 }, false, 0, 0),
        ];

        using JsonDocument json = JsonDocument.Parse(ListingJson.Render(entries));

        Assert.Equal(
            [.. names.Append("a\uFFFD\uFFFD\uFFFD\uFFFD").Order(StringComparer.Ordinal)],
            json.RootElement.EnumerateArray().Select(entry => entry.GetProperty("name").GetString()).Order(StringComparer.Ordinal));
    }
}
