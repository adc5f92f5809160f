using System.Numerics;
using System.Text;
using System.Text.RegularExpressions;
using FsCheck;
using FsCheck.Fluent;
using Millrace.Http;
using Millrace.StaticFiles.Listings;

namespace Millrace.StaticFiles.Tests.Listings;

public partial class ListingOrderTests
{
    /// <summary>Names of the same few characters, so that they often begin alike.</summary>
    private static readonly Arbitrary<string> ShortNames =
        Gen.Elements("aAbB019-.".ToCharArray()).NonEmptyListOf().Select(static chars => string.Concat(chars.Take(8))).ToArbitrary();

    private static readonly ListingEntry[] Entries =
    [
        File("b.txt", 20, 3),
        File("A.txt", 10, 2),
        Directory("z", 9),
        File("a.txt", 20, 1),
        File("C", 5, 2),
        Directory("Y", 4),
        File("ä", 5, 7),
    ];

    [Theory]
    [InlineData("", "Y/ z/ A.txt a.txt b.txt C ä")]
    [InlineData("sort=name&order=desc", "z/ Y/ ä C b.txt a.txt A.txt")]
    [InlineData("sort=size", "Y/ z/ C ä A.txt a.txt b.txt")]
    [InlineData("sort=size&order=desc", "z/ Y/ b.txt a.txt A.txt ä C")]
    [InlineData("sort=time&order=asc", "Y/ z/ a.txt A.txt C b.txt ä")]
    [InlineData("order=desc&sort=time", "z/ Y/ ä b.txt C A.txt a.txt")]
    public void Directories_come_first_then_the_column_decides_then_the_name(string query, string expected)
    {
        ListingEntry[] entries = [.. Entries];

        ListingOrder.Parse(Encoding.ASCII.GetBytes(query)).Sort(entries);

        Assert.Equal(expected, string.Join(' ', entries.Select(Name)));
    }

    [Theory]
    [InlineData("file2.txt file10.txt file100.txt")]
    [InlineData("2.txt 10.txt 10a.txt 010b.txt a")]
    [InlineData("a a1 a1b A2 a10 B")]
    [InlineData("v1.2.3 v1.2.10 v1.10.1")]
    [InlineData("IMG_9.jpg img_10.jpg IMG_11.jpg")]
    [InlineData("a01 a1 a02 a2")]
    [InlineData("x99999999999999999999998 x99999999999999999999999 x100000000000000000000000")]
    [InlineData("a-1 a0 aa")]
    [InlineData("12a 12b 13a 123")]
    public void Numbers_in_names_are_compared_as_numbers_and_letters_without_their_case(string names)
    {
        string[] expected = names.Split(' ');
        for (int seed = 0; seed < 5; seed++)
        {
            ListingEntry[] entries = [.. expected.Select(static name => File(name, 0, 0))];
            new Random(seed).Shuffle(entries);

            default(ListingOrder).Sort(entries);

            Assert.Equal(expected, entries.Select(Name));
        }
    }

    [Fact]
    public void The_order_of_names_is_that_of_their_words_and_numbers() => Check.One(
        Config.QuickThrowOnFailure.WithMaxTest(2000),
        Prop.ForAll(ShortNames, ShortNames, (left, right) =>
        {
            ListingEntry[] entries = [File(left, 0, 0), File(right, 0, 0)];
            default(ListingOrder).Sort(entries);

            // A number sorts where its digits do, and all numbers sort alike against what is none.
            IEnumerable<(char, BigInteger)> KeyOf(string name) => Words().Matches(name).Select(static word =>
                char.IsAsciiDigit(word.Value[0]) ? ('0', BigInteger.Parse(word.Value, null)) : (char.ToLowerInvariant(word.Value[0]), BigInteger.Zero));
            (char, BigInteger)[] first = [.. KeyOf(Name(entries[0]))];
            (char, BigInteger)[] second = [.. KeyOf(Name(entries[1]))];
            int differs = first.Zip(second).TakeWhile(static pair => pair.First == pair.Second).Count();
            Assert.True(
                differs == first.Length
                    ? differs < second.Length || string.CompareOrdinal(Name(entries[0]), Name(entries[1])) <= 0
                    : differs < second.Length && first[differs].CompareTo(second[differs]) < 0,
                $"{Name(entries[0])} before {Name(entries[1])}");
        }));

    [Theory]
    [InlineData("x=1&sort=time", ListingColumn.Time, false)]
    [InlineData("sort=size&sort=name", ListingColumn.Name, false)]
    [InlineData("sort=SIZE&order=down", ListingColumn.Name, false)]
    [InlineData("sort=sizes&&order=desc&", ListingColumn.Name, true)]
    [InlineData("sort", ListingColumn.Name, false)]
    public void What_a_query_does_not_say_plainly_is_by_name_ascending(string query, object column, bool isDescending) =>
        Assert.Equal(new ListingOrder((ListingColumn)column, isDescending), ListingOrder.Parse(Encoding.ASCII.GetBytes(query)));

    [Theory]
    [InlineData("", 5_000, 1)]
    [InlineData("page=1", 5_000, 1)]
    [InlineData("sort=size&page=2&order=desc", 5_000, 2)]
    [InlineData("page=5", 5_000, 5)]
    [InlineData("page=6", 5_000, 5)]
    [InlineData("page=6", 5_001, 6)]
    [InlineData("page=2147483647", 1_000, 1)]
    [InlineData("page=99999999999999999999", 5_000, 1)]
    [InlineData("page=0", 5_000, 1)]
    [InlineData("page=-3", 5_000, 1)]
    [InlineData("page=2x", 5_000, 1)]
    [InlineData("page=", 5_000, 1)]
    [InlineData("Page=2", 5_000, 1)]
    [InlineData("page=2&page=3", 5_000, 3)]
    [InlineData("page=2", 0, 1)]
    public void A_page_is_one_that_there_is(string query, int entries, int page) => Assert.Equal(
        page, ListingForm.Html(Encoding.ASCII.GetBytes(query), ContentCoding.Identity, entries).Page);

    [Fact]
    public void Json_has_no_pages_so_a_number_makes_no_other_listing() => Assert.Equal(
        ListingForm.Json("page=2"u8, ContentCoding.Gzip), ListingForm.Json(""u8, ContentCoding.Gzip));

    [Fact]
    public void There_is_one_order_however_the_entries_came() => Check.QuickThrowOnFailure(
        Prop.ForAll(ArbMap.Default.ArbFor<string[]>(), ArbMap.Default.ArbFor<int>(), (names, seed) =>
        {
            ListingEntry[] entries = [.. names.Where(name => name is not null).Distinct().Select(name => File(name, name.Length, 0))];
            ListingEntry[] shuffled = [.. entries];
            new Random(seed).Shuffle(shuffled);
            var order = new ListingOrder((ListingColumn)(Math.Abs((long)seed) % 3), Math.Abs((long)seed) % 2 == 1);

            order.Sort(entries);
            order.Sort(shuffled);

            Assert.Equal(entries.Select(Name), shuffled.Select(Name));
        }));

    private static ListingEntry File(string name, long size, long time) =>
        new(Encoding.UTF8.GetBytes(name), false, size, time);

    private static ListingEntry Directory(string name, long time) =>
        new(Encoding.UTF8.GetBytes(name), true, time, time);

    private static string Name(ListingEntry entry) => Encoding.UTF8.GetString(entry.Name.Span) + (entry.IsDirectory ? "/" : "");

    [GeneratedRegex("[0-9]+|[^0-9]")]
    private static partial Regex Words();
}
