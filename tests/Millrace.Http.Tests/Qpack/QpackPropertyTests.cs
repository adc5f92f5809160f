namespace Millrace.Http.Tests;

public class QpackPropertyTests
{
    private static readonly byte[] Scratch = new byte[QpackDecoder.ScratchBytes(4096, sectionBytes: 4096)];

    [Fact]
    public void The_decoder_agrees_with_the_reference_over_a_connection() => Cases.Run(5_000, random =>
    {
        byte[] input = QpackGenerator.Script(random);
        Assert.Equal(
            (Convert.ToHexString(input), string.Join('\n', QpackScript.Parse(input).ByModel())),
            (Convert.ToHexString(input), string.Join('\n', QpackScript.Parse(input).ByDecoder(new byte[Scratch.Length]))));
    });

    [Fact]
    public void Instructions_in_pieces_are_read_as_by_the_reference() => Cases.Run(2_000, random =>
    {
        byte[] input = QpackGenerator.Script(random);
        int pieceBytes = random.Next(1, 6);
        Assert.Equal(
            string.Join('\n', QpackScript.Parse(input).ByModel()),
            string.Join('\n', QpackScript.Parse(input).ByDecoder(new byte[Scratch.Length], pieceBytes)));
    });

    // Section 3.2.2: a name may be borrowed from an entry that goes, or moves, to make room for the new one.
    [Fact]
    [Trait("Rfc", "9204-3.2.2")]
    public void A_full_table_is_that_of_the_reference_while_its_entries_come_and_go() => Cases.Run(100, random =>
    {
        byte[] scratch = new byte[Scratch.Length];
        var decoder = new QpackDecoder(512, 0);
        var reference = new ReferenceQpack(512, 0);
        Assert.Equal(reference.Instructions([0x3F, 0xE1, 0x03]), $"{decoder.ReadInstructions([0x3F, 0xE1, 0x03], scratch)}");
        for (int insertion = 0; insertion < 200; insertion++)
        {
            byte[] instruction = QpackGenerator.Insertion(random, decoder.Table.Count);
            Assert.Equal(reference.Instructions(instruction), $"{decoder.ReadInstructions(instruction, scratch)}");

            // 16 entries at most: the count is sent modulo 32.
            IEnumerable<byte> entries = Enumerable.Range(0, decoder.Table.Count).Select(index => (byte)(0x80 | index));
            byte[] all = [(byte)((decoder.InsertCount % 32) + 1), 0, .. entries];
            Assert.Equal(reference.Section(0, all, long.MaxValue), CollectedSection.Decode(decoder, 0, all, scratch));
            reference.Advance(1);
            decoder.Advance(1);
        }
    });

    [Fact]
    public void The_generator_makes_every_result_there_is()
    {
        // Otherwise agreement with the reference would say nothing about the results that never came up.
        var seen = new Dictionary<string, int>();
        for (int seed = 0; seed < 5_000; seed++)
        {
            foreach (string said in QpackScript.Parse(QpackGenerator.Script(new Random(seed))).ByModel())
            {
                string result = said.Split('\n')[^2].Split(' ')[^1];
                seen[result] = seen.GetValueOrDefault(result) + 1;
            }
        }

        // A flood and full answers take more steps than a script has.
        string[] others = ["Flood", "OutputFull"];
        Assert.Equal(Enum.GetNames<QpackResult>().Except(others).Order(), seen.Keys.Order());
        Assert.True(seen["Ok"] > 10_000, $"only {seen["Ok"]} steps were valid");
    }

    [Fact]
    public void Every_prefix_of_a_section_is_read_as_by_the_reference() => Cases.Run(300, random =>
    {
        byte[] section = QpackGenerator.Section(random, tableBytesMax: 4096, inserted: 0);
        for (int length = 0; length <= section.Length; length++)
        {
            Assert.Equal(
                new ReferenceQpack(4096, 2).Section(0, section[..length], long.MaxValue),
                CollectedSection.Decode(new QpackDecoder(4096, 2), 0, section.AsSpan(0, length), new byte[Scratch.Length]));
        }
    });

    [Fact]
    public void Integers_of_all_sizes_are_read_as_they_were_written() => Cases.Run(5_000, random =>
    {
        int prefixBits = random.Next(3, 9);
        long value = random.NextInt64(QpackInteger.Max + 1) >> random.Next(62);
        byte pattern = (byte)(0xFF << prefixBits);
        byte[] room = new byte[QpackInteger.BytesMax];
        int bytes = QpackInteger.Write(room, pattern, prefixBits, value);
        Assert.Equal(ReferenceQpackReader.Integer(pattern, prefixBits, value), room[..bytes]);
        int at = 0;
        Assert.Equal(QpackResult.Ok, QpackInteger.Read(room.AsSpan(0, bytes), prefixBits, ref at, out long read));
        Assert.Equal((value, bytes), (read, at));
        at = 0;
        Assert.Equal(QpackResult.Truncated, QpackInteger.Read(room.AsSpan(0, bytes - 1), prefixBits, ref at, out _));
        Assert.Equal(0, at);
    });
}
