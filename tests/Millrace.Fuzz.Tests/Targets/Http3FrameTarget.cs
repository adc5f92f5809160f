using Millrace.Fuzz.Tests.Kit;

namespace Millrace.Fuzz.Tests.Targets;

/// <summary>
/// A stream of HTTP/3 (RFC 9114 section 7): a byte for its kind and for the size of its pieces, then what it carries. Control streams are
/// also read by the reader of their frames.
/// </summary>
internal sealed class Http3FrameTarget : FuzzTarget
{
    private readonly GuardedMemory _stream = new(8192);

    public override string Name => "http3-frame";

    public override int InputBytesMax => 512;

    public override int OutcomesMin => 16;

    public override IReadOnlyList<string> Words =>
    [
        "\u0001\u0001a", "\0\0", "\u0004\0", "\u0004\u0004\u0001\u0001\u0007\u0001", "\u0007\u0001\u0004", "\u000D\u0001\u0009", "\u0003\u0001\0",
        "\u0080\u000F\u0007\0\u0004\u0004u=1", "\u0080\u000F\u0007\u0001", "\u0021\u0001a", "\u0040\u0001",
        "\u00C0\0\0\0\0\0\0\u0001", "\u00FF\u00FF\u00FF\u00FF\u00FF\u00FF\u00FF\u00FF",
    ];

    public override byte[] Generate(Random random)
    {
        int kind = random.Next(4);
        return [(byte)(kind + (4 * random.Next(8))), .. Http3Generator.Stream(random, kind)];
    }

    public override string Check(ReadOnlySpan<byte> input)
    {
        int first = input.IsEmpty ? 0 : input[0];
        int kind = first & 3;
        int pieceBytes = 1 + (first >> 2);
        byte[] bytes = input.IsEmpty ? [] : input[1..].ToArray();
        ReadOnlySpan<byte> stream = _stream.Copy(bytes);

        string expected = ReferenceHttp3.Frames(bytes, kind);
        Agree(expected, Http3Description.Frames(stream, kind, () => pieceBytes), "frames");
        string end = expected[(expected.LastIndexOf('\n') + 1)..];
        if (kind < 2)
        {
            return $"{kind} {end}";
        }

        string said = ReferenceHttp3.Control(bytes, isServer: kind == 2);
        Agree(said, Http3Description.Control(stream, isServer: kind == 2, () => pieceBytes), "control stream");
        return $"{kind} {said.Split('\n')[^1]} after {(said.Contains('\n', StringComparison.Ordinal) ? said.Split('\n')[^2].Split(' ')[0] : "")}";
    }
}
