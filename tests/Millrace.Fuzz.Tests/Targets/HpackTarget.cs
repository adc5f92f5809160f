using Millrace.Fuzz.Tests.Kit;
using Millrace.Http;

namespace Millrace.Fuzz.Tests.Targets;

/// <summary>
/// The field blocks of a connection (RFC 7541): each block follows a byte with its length.
/// </summary>
internal sealed class HpackTarget : FuzzTarget
{
    private readonly GuardedMemory _block = new(4096);
    private readonly GuardedMemory _scratch = new(64 * 1024);

    public override string Name => "hpack";

    public override int OutcomesMin => 8;

    public override IReadOnlyList<string> Words =>
    [
        "\u0082", "\u0080", "\u00BE", "\u00BF", "\u00C0", "\u00FF\0", "\u003F\u00E1\u001F", "\u003F\u00E2\u001F", "\u0020",
        "\u003F\u0003",
        "\u0040\u0001a\u00011", "\u007E\u00012", "\u0000\u0001b\0", "\u0010\u0001c\0", "\u0040\u0000\u0000", "\u0041\u008C\u00F1\u00E3\u00C2",
        "\u00FF\u00FF\u00FF\u00FF", "\u00FF\u00FF\u00FF\u00FF\u00FF\u0007", "\u00FF\u0080\u0080\u0080\u0080\u0080\u0000",
    ];

    public override byte[] Generate(Random random)
    {
        var input = new List<byte>();
        for (int blocks = random.Next(1, 5); blocks > 0; blocks--)
        {
            byte[] block = HpackGenerator.Any(random);
            block = block.Length > byte.MaxValue ? block[..byte.MaxValue] : block;
            input.Add((byte)block.Length);
            input.AddRange(block);
        }

        return [.. input];
    }

    public override string Check(ReadOnlySpan<byte> input)
    {
        var decoder = new HpackDecoder();
        var reference = new ReferenceHpack();
        string last = "nothing";
        int entries = 0;
        for (int at = 0; at < input.Length;)
        {
            int length = Math.Min(input[at], input.Length - at - 1);
            byte[] block = input.Slice(at + 1, length).ToArray();
            at += 1 + length;
            string expected = reference.Decode(block);
            Span<byte> scratch = _scratch.Take(HpackDecoder.ScratchBytes(length));
            Agree(expected, CollectedFields.Decode(decoder, _block.Copy(block), scratch), "block");
            last = expected.Split('\n')[^2];
            entries = reference.Table.Count;
            CheckEncoder(expected);
            if (last != "Ok")
            {
                break;
            }
        }

        return $"{last} {Math.Min(entries, 3)}";
    }

    /// <summary>A field that the writer takes is read as what it was, into whatever state the decoder was in.</summary>
    private void CheckEncoder(string decoded)
    {
        foreach (string line in decoded.Split('\n'))
        {
            int colon = line.IndexOf(": ", StringComparison.Ordinal);
            if (colon <= 0)
            {
                continue;
            }

            byte[] name = Latin1.Bytes(line[..colon]);
            byte[] value = Latin1.Bytes(line[(colon + 2)..]);
            Span<byte> room = _scratch.Take(FieldBlockWriter.FieldOverheadBytesMax + name.Length + value.Length);
            var writer = new FieldBlockWriter(room);
            try
            {
                writer.Field(name, value);
            }
            catch (ArgumentException)
            {
                // Not a field of a response.
                continue;
            }

            string expected = $"{line[..colon].ToLowerInvariant()}: {line[(colon + 2)..].Trim(' ', '\t')}\nOk\n0 0";
            Agree(expected, new ReferenceHpack().Decode(room[..writer.Finish()].ToArray()), "written again");
        }
    }
}
