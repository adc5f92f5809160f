namespace Millrace.Http.Tests;

public class HpackPropertyTests
{
    [Fact]
    public void The_decoder_agrees_with_the_reference_over_the_blocks_of_a_connection() => Cases.Run(3_000, random =>
    {
        var decoder = new HpackDecoder();
        var reference = new ReferenceHpack();
        for (int block = 0; block < 12; block++)
        {
            byte[] bytes = HpackGenerator.Any(random);
            long most = random.Pick(long.MaxValue, long.MaxValue, 0, 30, 1_000);
            string expected = reference.Decode(bytes, most);
            Assert.Equal((Convert.ToHexString(bytes), expected), (Convert.ToHexString(bytes), CollectedFields.Decode(decoder, bytes, most)));
            if (!expected.Contains("Ok\n", StringComparison.Ordinal))
            {
                return;
            }
        }
    });

    // Section 4.4: a name may be borrowed from an entry that goes, or moves, to make room for the new one.
    [Fact]
    public void A_full_table_is_that_of_the_reference_while_its_entries_come_and_go() => Cases.Run(100, random =>
    {
        var decoder = new HpackDecoder();
        var reference = new ReferenceHpack();
        for (int insertion = 0; insertion < 60; insertion++)
        {
            byte[] block = HpackGenerator.Insertion(random, reference.Table.Count);
            Assert.Equal(reference.Decode(block), CollectedFields.Decode(decoder, block));
            byte[] all = [.. Enumerable.Range(62, Math.Min(reference.Table.Count, 60)).Select(index => (byte)(0x80 | index))];
            Assert.Equal(reference.Decode(all), CollectedFields.Decode(decoder, all));
        }
    });

    [Fact]
    public void The_generator_makes_every_result_there_is()
    {
        // Otherwise agreement with the reference would say nothing about the results that never came up.
        var seen = new Dictionary<string, int>();
        for (int seed = 0; seed < 5_000; seed++)
        {
            var reference = new ReferenceHpack();
            long most = seed % 5 == 0 ? 30 : long.MaxValue;
            string result = reference.Decode(HpackGenerator.Any(new Random(seed)), most).Split('\n')[^2];
            seen[result] = seen.GetValueOrDefault(result) + 1;
        }

        Assert.Equal(Enum.GetNames<HpackResult>().Order(), seen.Keys.Order());
        Assert.True(seen["Ok"] > 1_000, $"only {seen["Ok"]} blocks were valid");
    }

    [Fact]
    public void Every_prefix_of_a_block_is_read_as_by_the_reference() => Cases.Run(300, random =>
    {
        byte[] bytes = HpackGenerator.Any(random);
        for (int length = 0; length <= Math.Min(bytes.Length, 300); length++)
        {
            Assert.Equal(new ReferenceHpack().Decode(bytes[..length]), CollectedFields.Decode(new HpackDecoder(), bytes[..length]));
        }
    });

    [Fact]
    public void A_field_that_was_encoded_is_decoded_by_the_reference() => Cases.Run(5_000, random =>
    {
        string name = random.Pick("content-type", "ETag", "x-unknown", "Date", "set-cookie", "a", new string('n', 200));
        string value = string.Concat(Enumerable.Range(0, random.Next(60)).Select(_ => (char)random.Next(0x21, 0x7F)));
        byte[] room = new byte[FieldBlockWriter.FieldOverheadBytesMax + name.Length + value.Length];
        var writer = new FieldBlockWriter(room);
        writer.Field(Latin1.Bytes(name), Latin1.Bytes(value));
        int bytes = writer.Finish();

        Assert.Equal($"{name.ToLowerInvariant()}: {value}\nOk\n0 0", new ReferenceHpack().Decode(room[..bytes]));
        for (int less = 0; less < bytes; less++)
        {
            byte[] guarded = new byte[less + 8];
            Assert.ThrowsAny<Exception>(() => new FieldBlockWriter(guarded.AsSpan(0, less)).Field(Latin1.Bytes(name), Latin1.Bytes(value)));
            Assert.True(guarded.AsSpan(less).IndexOfAnyExcept((byte)0) < 0);
        }
    });
}
