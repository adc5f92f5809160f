using Millrace.Fuzz.Tests.Kit;
using Millrace.Http;

namespace Millrace.Fuzz.Tests.Targets;

/// <summary>HTTP/2 frames one after the other, each checked before and after its payload has come; and the preface.</summary>
internal sealed class FrameTarget : FuzzTarget
{
    private readonly GuardedMemory _payload = new(4096);
    private readonly GuardedMemory _header = new(FrameHeader.Size);

    public override string Name => "frame";

    public override int InputBytesMax => 512;

    public override int OutcomesMin => 10;

    public override IReadOnlyList<string> Words =>
    [
        "\0\0\0\u0004\0\0\0\0\0", "\0\0\u0006\u0004\0\0\0\0\0", "\0\u0004\0\0\u0001", "\0\0\u0004\u0008\0\0\0\0\0\0\0\0\0",
        "\0\0\u0005\u0002\0\0\0\0\u0001", "\0\0\u0008\u0006\u0001\0\0\0\0", "\0\0\u0004\u0010\0\0\0\0\0",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ];

    public override byte[] Generate(Random random)
        => [.. Enumerable.Range(0, random.Next(1, 4)).SelectMany(_ => FrameGenerator.Any(random))];

    public override string Check(ReadOnlySpan<byte> input)
    {
        CheckPreface(input);
        string outcome = "";
        byte[] rest = input.ToArray();
        while (ReferenceFrames.Describe(rest, FrameHeader.DefaultLengthMax) is string expected)
        {
            FrameHeader header = FrameHeader.Read(_header.Copy(rest.AsSpan(0, FrameHeader.Size)));
            int payloadBytes = Math.Min(header.Length, rest.Length - FrameHeader.Size);
            ReadOnlySpan<byte> payload = _payload.Copy(rest.AsSpan(FrameHeader.Size, payloadBytes));
            Agree(expected, FrameDescription.Of(header, payload, FrameHeader.DefaultLengthMax), "frame");
            CheckRoundTrip(header, rest);
            bool isFault = expected.StartsWith("fault", StringComparison.Ordinal);
            outcome = isFault ? $"{(Enum.IsDefined(header.Type) ? header.Type : "unknown")} {expected}" : expected.Split(' ')[0];
            if (isFault || expected == "awaited")
            {
                break;
            }

            rest = rest[(FrameHeader.Size + payloadBytes)..];
        }

        return outcome;
    }

    private static void CheckPreface(ReadOnlySpan<byte> input)
    {
        const string Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
        string text = Latin1.Text(input);
        PrefaceMatch expected = text.StartsWith(Preface, StringComparison.Ordinal) ? PrefaceMatch.Whole
            : Preface.StartsWith(text, StringComparison.Ordinal) ? PrefaceMatch.Partial
            : PrefaceMatch.No;
        Agree($"{expected}", $"{ConnectionPreface.Match(input)}", "preface");
    }

    /// <summary>A header written again is the same, but for the reserved bit.</summary>
    private void CheckRoundTrip(FrameHeader header, byte[] bytes)
    {
        Span<byte> again = _header.Take(FrameHeader.Size);
        FrameHeader.Write(again, header.Length, header.Type, header.Flags, header.StreamId);
        byte[] expected = bytes[..FrameHeader.Size];
        expected[5] &= 0x7F;
        Agree(Convert.ToHexString(expected), Convert.ToHexString(again), "a header written anew");
    }
}
