using System.Buffers.Text;
using Millrace.Http;

namespace Millrace.StaticFiles.Listings;

/// <summary>In which form a listing is sent: type, coding, order, and which page of it. JSON has all entries, and no pages.</summary>
internal readonly record struct ListingForm(bool AsJson, ContentCoding Coding, ListingOrder Order, int Page)
{
    /// <summary>The entries of a page: more make a browser slow, and nobody reads them.</summary>
    public const int PageEntriesMax = 1_000;

    /// <summary>The formats that the page links as downloads of the whole directory.</summary>
    public ArchiveFormats Archives { get; init; }

    private static ReadOnlySpan<byte> PageName => "page="u8;

    public static ListingForm Json(ReadOnlySpan<byte> query, ContentCoding coding) => new(true, coding, ListingOrder.Parse(query), 1);

    /// <summary>A page for browsers. A number beyond the last page means the last: the directory may have had more.</summary>
    public static ListingForm Html(ReadOnlySpan<byte> query, ContentCoding coding, int entries) =>
        new(false, coding, ListingOrder.Parse(query), Math.Clamp(ParsePage(query), 1, PagesOf(entries)));

    public static int PagesOf(int entries) => Math.Max(1, (entries + PageEntriesMax - 1) / PageEntriesMax);

    /// <summary>Reads "page=2" from a query, the last if there are several; 1 if there is none, or it is not a number.</summary>
    private static int ParsePage(ReadOnlySpan<byte> query)
    {
        int page = 1;
        foreach (Range part in query.Split((byte)'&'))
        {
            ReadOnlySpan<byte> parameter = query[part];
            if (parameter.StartsWith(PageName))
            {
                ReadOnlySpan<byte> value = parameter[PageName.Length..];
                page = Utf8Parser.TryParse(value, out int number, out int bytes) && bytes == value.Length ? number : 1;
            }
        }

        return page;
    }
}
