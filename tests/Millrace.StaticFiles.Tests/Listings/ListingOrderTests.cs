using System.Text;
using FsCheck;
using FsCheck.Fluent;
using Millrace.StaticFiles.Listings;

namespace Millrace.StaticFiles.Tests.Listings;

public class ListingOrderTests
{
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
    [InlineData("x=1&sort=time", ListingColumn.Time, false)]
    [InlineData("sort=size&sort=name", ListingColumn.Name, false)]
    [InlineData("sort=SIZE&order=down", ListingColumn.Name, false)]
    [InlineData("sort=sizes&&order=desc&", ListingColumn.Name, true)]
    [InlineData("sort", ListingColumn.Name, false)]
    public void What_a_query_does_not_say_plainly_is_by_name_ascending(string query, object column, bool isDescending) =>
        Assert.Equal(new ListingOrder((ListingColumn)column, isDescending), ListingOrder.Parse(Encoding.ASCII.GetBytes(query)));

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
}
