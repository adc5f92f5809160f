using System.Text;
using System.Text.RegularExpressions;
using System.Xml.Linq;
using Millrace.StaticFiles.Listings;

namespace Millrace.StaticFiles.Tests.Listings;

/// <summary>
/// A row of a rendered page, read back by an XML parser: had a name smuggled in a tag, a quote or an entity, it would not be what it is.
/// </summary>
internal sealed partial record ShownRow(string Reference, string Text, string SizeTitle, string Size, string Time)
{
    public static ShownRow[] AllOf(byte[] page)
    {
        string html = new UTF8Encoding(false, throwOnInvalidBytes: true).GetString(page);
        var body = XElement.Parse(Body().Match(html).Value, LoadOptions.PreserveWhitespace);
        return [.. body.Elements().Select(Read)];
    }

    public static ShownRow Of(byte[] name, bool isDirectory = false, long size = 0, long modifiedAtNs = 0) =>
        Assert.Single(AllOf(ListingPage.Render("/"u8, [new ListingEntry(name, isDirectory, size, modifiedAtNs)], default)));

    /// <summary>What a browser would ask for: the reference without its "./", decoded.</summary>
    public byte[] NameAskedFor
    {
        get
        {
            Assert.StartsWith("./", Reference, StringComparison.Ordinal);
            var name = new List<byte>();
            for (int i = 2; i < Reference.Length; i++)
            {
                name.Add(Reference[i] == '%' ? Convert.FromHexString(Reference.AsSpan(i + 1, 2))[0] : (byte)Reference[i]);
                i += Reference[i] == '%' ? 2 : 0;
            }

            return [.. name];
        }
    }

    private static ShownRow Read(XElement row)
    {
        Assert.Equal(["td", "td", "td"], row.Elements().Select(cell => cell.Name.LocalName));
        XElement[] cells = [.. row.Elements()];
        XElement link = Assert.Single(cells[0].Elements());
        Assert.Equal("a", link.Name.LocalName);
        Assert.Equal("href", Assert.Single(link.Attributes()).Name.LocalName);
        Assert.DoesNotContain(link.Elements(), child => child.Name.LocalName != "bdi" || child.HasElements || child.HasAttributes);
        return new(
            link.Attribute("href")!.Value,
            link.Value,
            cells[1].Attribute("title")?.Value ?? "",
            cells[1].Value,
            cells[2].Element("time")?.Attribute("datetime")?.Value ?? "");
    }

    [GeneratedRegex("<tbody>.*</tbody>", RegexOptions.Singleline)]
    private static partial Regex Body();
}
