using Millrace.Fuzz.Tests.Kit;
using Millrace.Http;

namespace Millrace.Fuzz.Tests.Targets;

/// <summary>
/// What a decoder of QPACK gets (RFC 9204), as a <see cref="QpackScript"/>: instructions of the encoder stream in pieces, sections, and
/// what the session does between them. The model says the same of each step, of the table and of the answers.
/// </summary>
internal sealed class QpackTarget : FuzzTarget
{
    private readonly GuardedMemory _room = new(64 * 1024);
    private readonly byte[] _scratch = new byte[QpackDecoder.ScratchBytes(4096, sectionBytes: 256)];

    public override string Name => "qpack";

    public override int OutcomesMin => 20;

    public override IReadOnlyList<string> Words =>
    [
        "\0\u0003\u003F\u00E1\u001F", "\0\u0004\u0041a\u00011", "\u0001\u0003\u0003\0\u0080", "\u0001\u0003\u0002\u0080\u0010", "\u0002\0",
        "\u0003\0", "\u0001\u0003\0\0\u00C1", "\u00FF\u0024", "\u00C0\u0001b", "\u0081\u0001c", "\u0001\u0005\u0003\u0081\u0010\u0011\0",
        "\u00FF\u00FF\u00FF\u00FF\u00FF\u00FF\u00FF\u00FF\u00FF\u0007", "\u0068\u0025\u00A8\u0049\u00E9\u005B\u00A9\u007D\u007F",
    ];

    public override byte[] Generate(Random random) => QpackGenerator.Script(random);

    public override string Check(ReadOnlySpan<byte> input)
    {
        QpackScript script = QpackScript.Parse(input);
        string[] expected = [.. script.ByModel()];
        foreach (int pieceBytes in (ReadOnlySpan<int>)[int.MaxValue, 1, 7])
        {
            Agree(string.Join('\n', expected), string.Join('\n', script.ByDecoder(_scratch, pieceBytes)), $"pieces of {pieceBytes}");
        }

        foreach (string step in expected)
        {
            CheckWriter(step);
        }

        string[] last = expected.LastOrDefault("nothing\n0 ").Split('\n');
        return $"{last[^2]} {last[^1][..1]}";
    }

    /// <summary>A field that the writer takes is read as what it was.</summary>
    private void CheckWriter(string step)
    {
        foreach (string line in step.Split('\n'))
        {
            int colon = line.IndexOf(": ", StringComparison.Ordinal);
            if (colon <= 0)
            {
                continue;
            }

            byte[] name = Latin1.Bytes(line[..colon]);
            byte[] value = Latin1.Bytes(line[(colon + 2)..]);
            var writer = new QpackBlockWriter(_room.Take(QpackBlockWriter.FieldOverheadBytesMax + name.Length + value.Length));
            try
            {
                writer.Field(name, value);
            }
            catch (ArgumentException)
            {
                // Not a field of a response.
                continue;
            }

            Span<byte> room = _room.Take(QpackBlockWriter.FieldOverheadBytesMax + name.Length + value.Length)[..writer.Finish()];
            string expected = $"{line[..colon].ToLowerInvariant()}: {line[(colon + 2)..].Trim(' ', '\t')}\nOk";
            Agree(expected, new ReferenceQpack(0, 0).Section(0, [0, 0, .. room], long.MaxValue), "written again");
        }
    }
}
