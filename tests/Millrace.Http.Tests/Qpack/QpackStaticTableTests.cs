namespace Millrace.Http.Tests;

/// <summary>RFC 9204 appendix A.</summary>
public class QpackStaticTableTests
{
    [Fact]
    [Trait("Rfc", "9204-A")]
    public void Every_entry_is_the_one_of_appendix_A()
    {
        Assert.Equal(99, QpackStaticTable.Count);
        for (int index = 0; index < QpackStaticTable.Count; index++)
        {
            (string name, string value) = ReferenceQpackTable.Static[index];
            Assert.Equal((index, name, value), (index, Latin1.Text(QpackStaticTable.Name(index)), Latin1.Text(QpackStaticTable.Value(index))));
        }
    }

    [Fact]
    public void Every_field_is_found_as_its_entry_and_every_name_as_its_first()
    {
        for (int index = 0; index < QpackStaticTable.Count; index++)
        {
            ReadOnlySpan<byte> name = QpackStaticTable.Name(index);
            Assert.True(QpackStaticTable.TryFind(name, QpackStaticTable.Value(index), out int found, out bool hasValue));
            Assert.Equal((index, true), (found, hasValue));

            Assert.True(QpackStaticTable.TryFind(name, "~"u8, out found, out hasValue));
            Assert.False(hasValue);
            Assert.Equal(ReferenceQpackTable.Static.Index().First(entry => entry.Item.Name == ReferenceQpackTable.Static[index].Name).Index, found);
        }
    }

    [Theory]
    [InlineData("")]
    [InlineData("a")]
    [InlineData("Age")]
    [InlineData("access-control-allow-credentialz")]
    [InlineData("access-control-allow-credentials-and-more")]
    public void A_name_that_is_not_in_it_is_not_found(string name) =>
        Assert.False(QpackStaticTable.TryFind(Latin1.Bytes(name), default, out _, out _));

    [Fact]
    public void Names_that_HPACK_has_too_are_known_by_its_index()
    {
        for (int index = 0; index < QpackStaticTable.Count; index++)
        {
            Assert.Equal(StaticTable.Find(QpackStaticTable.Name(index)), QpackStaticTable.HpackIndex(index));
        }

        Assert.Equal(StaticTable.Find(":authority"u8), QpackStaticTable.HpackIndex(0));
        Assert.Equal(0, QpackStaticTable.HpackIndex(98));
    }
}
