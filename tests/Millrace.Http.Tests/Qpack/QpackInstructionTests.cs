namespace Millrace.Http.Tests;

/// <summary>The encoder stream, RFC 9204 sections 3.2 and 4.3.</summary>
public class QpackInstructionTests
{
    private const string Full = "3fe11f";

    [Fact]
    [Trait("Rfc", "9204-3.2.2")]
    public void A_table_has_no_capacity_until_the_encoder_sets_one()
    {
        var sections = new Sections();
        Assert.Equal(QpackResult.EntryTooLarge, sections.Take("41 61 01 31"));
        Assert.Equal(QpackResult.EntryTooLarge, new Sections().Take("c0 00"));
        Assert.Equal((1, 34), new Sections().Insert(Full + "41 61 01 31"));
    }

    [Fact]
    [Trait("Rfc", "9204-4.3.1")]
    public void A_capacity_above_the_limit_is_refused()
    {
        Assert.Equal(QpackResult.Ok, new Sections().Take("3fe11f"));
        Assert.Equal(QpackResult.BadCapacity, new Sections().Take("3fe21f"));
        Assert.Equal(QpackResult.BadCapacity, new Sections(tableBytesMax: 0).Take("21"));
        Assert.Equal(QpackResult.Ok, new Sections(tableBytesMax: 0).Take("20"));
    }

    [Fact]
    [Trait("Rfc", "9204-3.2.2")]
    [Trait("Rfc", "9204-4.3.1")]
    public void A_smaller_capacity_evicts_for_good()
    {
        var sections = new Sections();
        Assert.Equal((2, 68), sections.Insert(Full + "41 61 01 31 41 62 01 32"));
        Assert.Equal((1, 34), sections.Insert("3f22"));
        Assert.Equal((1, 34), sections.Insert(Full));
        Assert.Equal("b: 2\nOk", sections.Decode("0300 80"));
        Assert.Equal("BadReference", sections.Decode("0300 81"));
        Assert.Equal((0, 0), sections.Insert("20"));
        Assert.Equal(2, sections.Decoder.InsertCount);
    }

    [Fact]
    [Trait("Rfc", "9204-4.3.2")]
    [Trait("Rfc", "9204-4.3.3")]
    [Trait("Rfc", "9204-4.3.4")]
    public void Each_instruction_inserts_its_entry()
    {
        var sections = new Sections();
        sections.Insert(Full + "ff23 0131" + "68 25a849e95ba97d7f 8925a849e95bb8e8b4bf" + "80 0132" + "02");
        Assert.Equal(
            "x-frame-options: 1\ncustom-key: 2\ncustom-key: custom-value\nx-frame-options: 1\nOk",
            sections.Decode("0500 80 81 82 83"));
    }

    [Fact]
    [Trait("Rfc", "9204-3.2")]
    public void The_same_entry_can_be_inserted_twice() =>
        Assert.Equal((2, 68), new Sections().Insert(Full + "41 61 01 31 41 61 01 31"));

    [Theory]
    [Trait("Rfc", "9204-2.2.3")]
    [Trait("Rfc", "9204-3.1")]
    [InlineData("01", QpackResult.BadReference)]
    [InlineData("1fffff ff07", QpackResult.BadReference)]
    [InlineData("81 00", QpackResult.BadReference)]
    [InlineData("bfc0 ffff ffff ffff ff3f 00", QpackResult.BadReference)]
    [InlineData("ff24 00", QpackResult.BadIndex)]
    public void A_reference_to_no_entry_is_refused(string hex, object result)
    {
        var sections = new Sections();
        sections.Insert(Full + "41 61 01 31");
        Assert.Equal((QpackResult)result, sections.Take(hex));
        Assert.Equal(Http3Error.QpackEncoderStreamError, QpackResults.ErrorOfInstruction((QpackResult)result));
    }

    [Fact]
    [Trait("Rfc", "9204-3.2.2")]
    public void An_entry_that_is_evicted_by_an_insertion_lends_its_name()
    {
        var sections = new Sections(tableBytesMax: 40);
        sections.Insert("3f09 44 61626364 0131");
        for (int time = 0; time < 300; time++)
        {
            Assert.Equal((1, 37), sections.Insert("80 0132"));
            Assert.Equal((1, 37), sections.Insert("00"));
        }

        // 601 insertions; encoded modulo 2.
        Assert.Equal("abcd: 2\nOk", sections.Decode("0200 80"));
    }

    [Fact]
    [Trait("Rfc", "9204-3.2.2")]
    public void An_entry_larger_than_the_table_is_refused_before_it_has_come()
    {
        Assert.Equal(QpackResult.Ok, new Sections(tableBytesMax: 64).Take("3f21 5f01"));
        Assert.Equal((1, 64), new Sections(tableBytesMax: 64).Insert("3f21 41 61 1f" + string.Concat(Enumerable.Repeat("62", 31))));
        Assert.Equal(QpackResult.EntryTooLarge, new Sections(tableBytesMax: 64).Take("3f21 41 61 20" + string.Concat(Enumerable.Repeat("62", 32))));
        Assert.Equal(QpackResult.EntryTooLarge, new Sections(tableBytesMax: 64).Take("3f21 5f02"));
        Assert.Equal(QpackResult.EntryTooLarge, new Sections(tableBytesMax: 64).Take("3f21 c0 21"));

        // In Huffman code, 32 bytes may take 120.
        Assert.Equal(QpackResult.Ok, new Sections(tableBytesMax: 64).Take("3f21 c0 f8"));
        Assert.Equal(QpackResult.EntryTooLarge, new Sections(tableBytesMax: 64).Take("3f21 c0 f9"));
    }

    [Fact]
    [Trait("Rfc", "9204-4.2")]
    public void Instructions_are_read_the_same_however_they_come()
    {
        byte[] stream = Blocks.Bytes(
            Full + "ff23 0131" + "68 25a849e95ba97d7f 8925a849e95bb8e8b4bf" + "80 0132" + "02" + "5f8001" + new string('6', 2 * 159)
            + "7f ff00" + new string('7', 2 * 254) + "3fe11f");
        for (int piece = 1; piece <= stream.Length; piece++)
        {
            var sections = new Sections();
            foreach (byte[] bytes in stream.Chunk(piece))
            {
                Assert.Equal(QpackResult.Ok, sections.Take(bytes));
            }

            Assert.Equal((5, 5), (sections.Decoder.Table.Count, (int)sections.Decoder.InsertCount));
            Assert.True(sections.Decoder.HeldBytes <= 1024);
            Assert.Equal($"{new string('f', 159)}: {new string('w', 254)}\nOk", sections.Decode("0600 80"));
        }
    }

    [Fact]
    public void Small_instructions_that_copy_a_large_entry_without_end_are_a_flood()
    {
        var sections = new Sections();
        sections.Insert(Full + "41 61 7fa11e" + string.Concat(Enumerable.Repeat("62", 4000)));
        QpackResult result = QpackResult.Ok;
        int copies = 0;
        for (; result == QpackResult.Ok && copies < 1000; copies++)
        {
            result = sections.Take("00");
        }

        Assert.Equal((QpackResult.Flood, 16), (result, copies));
    }

    // An encoder that keeps a large entry by a copy, whenever the others would evict it.
    [Fact]
    public void Copies_that_keep_an_entry_are_no_flood()
    {
        var sections = new Sections();
        sections.Insert(Full + "41 61 7fb916" + string.Concat(Enumerable.Repeat("62", 3000)));
        for (int generation = 0; generation < 200; generation++)
        {
            // Ten entries of 82 bytes do not fit beside it any more.
            for (int entry = 0; entry < 10; entry++)
            {
                sections.Insert("c0 30" + string.Concat(Enumerable.Repeat("62", 48)));
            }

            sections.Insert("0a");
        }
    }
}
