namespace Millrace.Http.Tests;

/// <summary>RFC 7541 sections 2 to 6; RFC 9113 section 4.3.</summary>
public class HpackDecoderTests
{
    /// <summary>An entry "a: " + 27 letters of b, inserted: 60 bytes of size.</summary>
    private const string EntryOf60 = "40 01 61 1b 6262 6262 6262 6262 6262 6262 6262 6262 6262 6262 6262 6262 6262 62";

    [Fact]
    public void An_empty_block_has_no_fields() => Blocks.Give("Ok\n0 0", "", new HpackDecoder());

    // Section 6.1: the index value of 0 is not used; it MUST be treated as a decoding error.
    [Fact]
    public void Index_0_is_refused() => Assert.Equal(HpackResult.BadIndex, Blocks.ResultOf("80"));

    // Section 2.3.3: indices strictly greater than the sum of the lengths of both tables MUST be treated as a decoding error.
    [Theory]
    [InlineData("be")]
    [InlineData("ff 00")]
    [InlineData("7e 01 61")]
    [InlineData("0f 2f 01 61")]
    [InlineData("1f 2f 01 61")]
    [InlineData("ff 80 ff ff ff 07")]
    public void An_index_beyond_both_tables_is_refused(string hex) => Assert.Equal(HpackResult.BadIndex, Blocks.ResultOf(hex));

    [Fact]
    public void The_first_and_last_entry_of_both_tables_can_be_named()
    {
        var decoder = new HpackDecoder();
        Blocks.Give("a: 1\nb: 2\nOk\n2 68", "40 0161 0131 40 0162 0132", decoder);
        Blocks.Give(":authority: \nwww-authenticate: \nb: 2\na: 1\nOk\n2 68", "81 bd be bf", decoder);
        Assert.Equal(HpackResult.BadIndex, Blocks.ResultOf(decoder, "c0"));
    }

    [Fact]
    public void A_block_that_ends_within_a_field_is_refused_wherever_it_ends()
    {
        byte[] field = Blocks.Bytes("40 88 25a8 49e9 5ba9 7d7f 89 25a8 49e9 5bb8 e8b4 bf");
        for (int length = 1; length < field.Length; length++)
        {
            Assert.Equal((length, HpackResult.Truncated), (length, Blocks.ResultOf(Convert.ToHexString(field, 0, length))));
        }

        Assert.Equal(HpackResult.Ok, Blocks.ResultOf(Convert.ToHexString(field)));
    }

    [Fact]
    public void A_string_that_is_no_huffman_code_is_refused()
    {
        Assert.Equal(HpackResult.BadHuffman, Blocks.ResultOf("00 81 ff 00"));
        Assert.Equal(HpackResult.BadHuffman, Blocks.ResultOf("00 01 61 84 ff ff ff ff"));
    }

    [Fact]
    public void An_indexed_field_of_a_name_only_has_no_value() => Blocks.Give("accept: \nOk\n0 0", "93", new HpackDecoder());

    // Section 6.2.1: a literal whose name has index 0 brings its own; any other literal borrows it.
    [Fact]
    public void A_name_can_be_borrowed_from_either_table()
    {
        var decoder = new HpackDecoder();
        Blocks.Give("accept: a\nOk\n1 39", "53 01 61", decoder);
        Blocks.Give("accept: b\naccept: c\naccept: d\nOk\n2 78", "7e 01 62 0f 2f 01 63 1f 2f 01 64", decoder);
    }

    // Section 2.3.2: duplicate entries MUST NOT be treated as an error.
    [Fact]
    public void The_same_field_can_be_inserted_twice() =>
        Blocks.Give("a: 1\na: 1\na: 1\na: 1\nOk\n2 68", "40 0161 0131 40 0161 0131 be bf", new HpackDecoder());

    // Section 4.4: entries are evicted from the end until there is room.
    [Fact]
    public void The_oldest_entries_make_room()
    {
        var decoder = new HpackDecoder();
        Blocks.Give("a: 1\nb: 2\nc: 3\nOk\n2 68", "3f 31 40 0161 0131 40 0162 0132 40 0163 0133", decoder);
        Blocks.Give("c: 3\nb: 2\nOk\n2 68", "be bf", decoder);
        Assert.Equal(HpackResult.BadIndex, Blocks.ResultOf(decoder, "c0"));
    }

    [Fact]
    public void An_entry_of_exactly_the_tables_size_fits_and_is_alone()
    {
        var decoder = new HpackDecoder();
        string value = new('b', 27);
        Blocks.Give($"c: \na: {value}\nOk\n1 60", "3f 1d" + "40 0163 00" + EntryOf60, decoder);
        Blocks.Give($"a: {value}\nOk\n1 60", "be", decoder);
    }

    // Section 4.4: it is not an error to attempt to add an entry that is larger than the maximum size; the table is emptied.
    [Fact]
    public void An_entry_larger_than_the_table_empties_it_and_is_no_error()
    {
        var decoder = new HpackDecoder();
        Blocks.Give($"c: \na: {new string('b', 27)}\nOk\n0 0", "3f 1c" + "40 0163 00" + EntryOf60, decoder);
        Assert.Equal(HpackResult.BadIndex, Blocks.ResultOf(decoder, "be"));
    }

    // Section 4.4: a new entry can reference the name of an entry that will be evicted when it is added; the name must not be deleted.
    [Fact]
    public void A_name_is_borrowed_from_the_entry_that_makes_room()
    {
        var decoder = new HpackDecoder();
        Blocks.Give("abcd: 1\nOk\n1 37", "3f 06 40 0461626364 0131", decoder);
        for (int time = 0; time < 300; time++)
        {
            Blocks.Give("abcd: 2\nabcd: 2\nOk\n1 37", "7e 0132 be", decoder);
        }
    }

    // Section 4.3: a maximum size of 0 clears the table.
    [Fact]
    public void A_size_of_0_clears_the_table_and_keeps_it_empty()
    {
        var decoder = new HpackDecoder();
        Blocks.Give("a: 1\nOk\n1 34", "40 0161 0131", decoder);
        Blocks.Give("a: 1\nOk\n0 0", "20 40 0161 0131", decoder);
        Blocks.Give("a: 1\nOk\n1 34", "3f e1 1f 40 0161 0131", decoder);
    }

    [Fact]
    public void Entries_that_a_smaller_size_takes_do_not_return_with_a_larger_one()
    {
        var decoder = new HpackDecoder();
        Blocks.Give("a: 1\nb: 2\nOk\n2 68", "40 0161 0131 40 0162 0132", decoder);
        Blocks.Give("b: 2\nOk\n1 34", "3f 03 3f e1 1f be", decoder);
        Assert.Equal(HpackResult.BadIndex, Blocks.ResultOf(decoder, "bf"));
    }

    // Section 6.3: the new maximum size MUST be lower than or equal to the limit.
    [Fact]
    public void A_size_above_the_limit_is_refused()
    {
        Assert.Equal(HpackResult.Ok, Blocks.ResultOf("3f e1 1f"));
        Assert.Equal(HpackResult.BadSizeUpdate, Blocks.ResultOf("3f e2 1f"));
    }

    // Section 4.2: a dynamic table size update MUST occur at the beginning of the first block following the change.
    [Fact]
    public void A_size_after_a_field_is_refused() => Assert.Equal(HpackResult.BadSizeUpdate, Blocks.ResultOf("82 20"));

    [Fact]
    public void Two_sizes_at_the_start_take_effect_in_their_order()
    {
        var decoder = new HpackDecoder();
        Blocks.Give("a: 1\nOk\n1 34", "40 0161 0131", decoder);
        Blocks.Give("Ok\n0 0", "20 3f e1 1f", decoder);
    }

    // Section 3.1: fields are handed over in the order of the block.
    [Fact]
    public void The_fields_before_a_mistake_are_given() => Blocks.Give(":method: GET\nBadIndex\n0 0", "82 80", new HpackDecoder());

    // RFC 9113 section 4.3: the blocks of streams that nobody wants change the table too.
    [Fact]
    public void Dropped_fields_stay_in_the_table()
    {
        var decoder = new HpackDecoder();
        Assert.Equal(HpackResult.Ok, Blocks.ResultOf(decoder, "40 0161 0131"));
        Blocks.Give("a: 1\nOk\n1 34", "be", decoder);
    }

    [Fact]
    public void The_table_takes_as_many_entries_as_its_size_allows()
    {
        // The smallest entry, without name and value, counts 32 bytes: 128 of them.
        var decoder = new HpackDecoder();
        Assert.Equal(HpackResult.Ok, Blocks.ResultOf(decoder, string.Concat(Enumerable.Repeat("40 00 00", 200))));
        Assert.Equal((128, 4096), decoder.Table);
        Assert.Equal(HpackResult.Ok, Blocks.ResultOf(decoder, "ff 3e"));
        Assert.Equal(HpackResult.BadIndex, Blocks.ResultOf(decoder, "ff 3f"));
    }
}
