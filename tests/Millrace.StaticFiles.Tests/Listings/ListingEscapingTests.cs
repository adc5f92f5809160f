using System.Text;
using FsCheck;
using FsCheck.Fluent;
using Millrace.StaticFiles.Listings;

namespace Millrace.StaticFiles.Tests.Listings;

public class ListingEscapingTests
{
    /// <summary>Bytes of names, those that mean something in HTML, URLs or UTF-8 more often than the others.</summary>
    private static readonly Gen<byte> NameByte = Gen.OneOf(
        Gen.Elements("&<>\"'`=/:;#?%+\\ .\t\n\r-~"u8.ToArray().Where(value => value != '/').ToArray()),
        Gen.Elements<byte>(0x01, 0x1f, 0x7f, 0x80, 0xbf, 0xc0, 0xc3, 0xa9, 0xe2, 0x80, 0xae, 0xed, 0xa0, 0xf0, 0x9f, 0x98, 0x80, 0xff),
        Gen.Choose(1, 255).Where(value => value != '/').Select(value => (byte)value));

    private static readonly Arbitrary<byte[]> Names = NameByte.NonEmptyListOf().Select(bytes => bytes.Take(255).ToArray()).ToArbitrary();

    [Fact]
    public void Whatever_a_name_holds_it_stays_text_and_its_link_asks_for_its_very_bytes() => Check.One(
        Config.QuickThrowOnFailure.WithMaxTest(3000),
        Prop.ForAll(Names, name =>
        {
            ShownRow row = ShownRow.Of(name);

            Assert.Equal(name, row.NameAskedFor);
            Assert.DoesNotContain(row.Text, character => char.IsControl(character));
        }));

    [Fact]
    public void Whatever_a_path_holds_it_stays_text_in_title_and_breadcrumbs() => Check.One(
        Config.QuickThrowOnFailure.WithMaxTest(1000),
        Prop.ForAll(Names, name =>
        {
            byte[] plain = ListingPage.Render("/abc/d/"u8, [], default);
            byte[] page = ListingPage.Render([(byte)'/', .. name, (byte)'/', (byte)'d', (byte)'/'], [], default);

            foreach (char markup in "<>\"'=")
            {
                // A "=" is no markup by itself, but in text it is as it was.
                int own = markup == '=' ? 2 * name.Count(value => value == '=') : 0;
                Assert.Equal(plain.Count(value => value == markup) + own, page.Count(value => value == markup));
            }
        }));

    [Theory]
    [InlineData("javascript:alert(1)", "./javascript%3Aalert%281%29")]
    [InlineData("//evil.example", "./%2F%2Fevil.example")]
    [InlineData("a b&c=d?e#f", "./a%20b%26c%3Dd%3Fe%23f")]
    [InlineData("100%", "./100%25")]
    [InlineData("..%2f", "./..%252f")]
    [InlineData("\\\\host", "./%5C%5Chost")]
    [InlineData("ü", "./%C3%BC")]
    [InlineData("plain-name_1.tar~", "./plain-name_1.tar~")]
    public void A_link_leads_to_the_entry_and_nowhere_else(string name, string reference) =>
        Assert.Equal(reference, ShownRow.Of(Encoding.UTF8.GetBytes(name)).Reference);

    [Theory]
    [InlineData("<script>alert(1)</script>", "<script>alert(1)</script>")]
    [InlineData("&amp;", "&amp;")]
    [InlineData("grün – 日本語 😀", "grün – 日本語 😀")]
    [InlineData("a\tb\nc\u007f", "a␉b␊c␡")]
    [InlineData("jpg\u202Egpj.exe", "jpg\uFFFDgpj.exe")]
    [InlineData("a\u2066b\u0085c", "a\uFFFDb\uFFFDc")]
    [InlineData("a\uFFFFb\uFFFEc", "a\uFFFDb\uFFFDc")]
    [InlineData("  two  blanks ", "  two  blanks ")]
    public void A_name_is_shown_as_it_is_but_for_what_cannot_be_seen(string name, string text) =>
        Assert.Equal(text, ShownRow.Of(Encoding.UTF8.GetBytes(name)).Text);

    [Fact]
    public void What_is_no_utf8_is_shown_as_such_and_linked_as_it_is()
    {
        ShownRow row = ShownRow.Of([(byte)'a', 0xff, 0xc0, 0xaf, (byte)'b']);

        Assert.Equal("a\uFFFD\uFFFD\uFFFDb", row.Text);
        Assert.Equal("./a%FF%C0%AFb", row.Reference);
    }

    [Fact]
    public void A_directory_ends_with_a_slash_in_text_and_link()
    {
        ShownRow row = ShownRow.Of("a:b"u8.ToArray(), true);

        Assert.Equal("./a%3Ab/", row.Reference);
        Assert.Equal("a:b/", row.Text);
        Assert.Equal("", row.Size);
    }
}
