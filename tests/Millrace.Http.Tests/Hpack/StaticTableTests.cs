namespace Millrace.Http.Tests;

/// <summary>RFC 7541 appendix A.</summary>
public class StaticTableTests
{
    [Fact]
    public void Every_entry_is_the_one_of_appendix_A()
    {
        byte[] block = [.. Enumerable.Range(1, StaticTable.Count).Select(index => (byte)(0x80 | index))];
        Assert.Equal(new ReferenceHpack().Decode(block), CollectedFields.Decode(new HpackDecoder(), block));
    }

    [Fact]
    public void Every_name_is_found_at_its_first_entry()
    {
        for (int index = 1; index <= StaticTable.Count; index++)
        {
            int first = StaticTable.Find(StaticTable.Name(index));
            Assert.True(first == StaticTable.FirstWith(index) && first <= index);
            Assert.Equal(Latin1.Text(StaticTable.Name(index)), Latin1.Text(StaticTable.Name(first)));
            Assert.True(first == 1 || !StaticTable.Name(first - 1).SequenceEqual(StaticTable.Name(index)));
        }
    }

    [Theory]
    [InlineData("")]
    [InlineData("a")]
    [InlineData("Age")]
    [InlineData("access-control-allow-origi")]
    [InlineData("access-control-allow-origim")]
    [InlineData("access-control-allow-origin-and-more")]
    public void A_name_that_is_not_in_it_is_not_found(string name) => Assert.Equal(0, StaticTable.Find(Latin1.Bytes(name)));
}
