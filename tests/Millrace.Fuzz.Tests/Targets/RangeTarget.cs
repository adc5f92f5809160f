using Millrace.Fuzz.Tests.Kit;
using Millrace.Http;

namespace Millrace.Fuzz.Tests.Targets;

/// <summary>Range fields (RFC 9110 section 14) for representations of several sizes.</summary>
internal sealed class RangeTarget : FuzzTarget
{
    private static readonly int[] Sizes = [0, 1, 2, 10, 300];

    private readonly ByteRange[] _ranges = new ByteRange[ByteRanges.Max];
    private readonly GuardedMemory _value = new(ContentRange.MaxBytes);

    public override string Name => "range";

    public override int InputBytesMax => 400;

    public override int OutcomesMin => 10;

    public override IReadOnlyList<string> Words =>
    [
        "bytes=", "Bytes=", "-", ",", ", ", "0-", "-1", "0-0", "9-", "5-3", "-0", "9223372036854775807", "9223372036854775808",
        "99999999999999999999", "000", "\t",
    ];

    public override byte[] Generate(Random random)
    {
        IEnumerable<string> specs = Enumerable.Range(0, random.Next(1, 8)).Select(_ => random.Next(5) switch
        {
            0 => $"{random.Next(12)}-{random.Next(70)}",
            1 => $"{random.Next(320)}-{random.Next(320)}",
            2 => $"{random.Next(30) * 10}-{random.Next(30) * 10}",
            3 => $"{random.Next(320)}-",
            _ => $"-{random.Next(120)}",
        });
        return Latin1.Bytes("bytes=" + string.Join(random.Pick(",", ", ", " ,\t"), specs));
    }

    public override string Check(ReadOnlySpan<byte> input)
    {
        string text = Latin1.Text(input);
        return string.Join(' ', Check(input, text, Sizes[0]), Check(input, text, Sizes[1]), Check(input, text, Sizes[2]),
            Check(input, text, Sizes[3]), Check(input, text, Sizes[4]));
    }

    private string Check(ReadOnlySpan<byte> input, string text, int size)
    {
        RangeOutcome outcome = ByteRanges.Select(input, size, _ranges, out int count);
        ReadOnlySpan<ByteRange> parts = _ranges.AsSpan(0, count);
        string selected = outcome == RangeOutcome.Whole ? "whole" : outcome == RangeOutcome.Unsatisfiable ? "416" : "";
        long bytes = 0;
        foreach (ByteRange part in parts)
        {
            Require(part.First >= 0 && part.First <= part.Last && part.Last < size, $"{part} of {size} bytes");
            bytes += part.Length;
            Span<byte> value = _value.Take(ContentRange.MaxBytes);
            int written = ContentRange.Write(value, part, size);
            Agree($"bytes {part.First}-{part.Last}/{size}", Latin1.Text(value[..written]), "Content-Range");
            selected += $"{(selected == "" ? "" : " ")}{part.First}-{part.Last}";
        }

        Require(bytes <= size, $"{bytes} bytes are sent of {size}");
        Agree(ReferenceRanges.Select(text, size), selected, $"ranges of {size} bytes");
        return outcome == RangeOutcome.Partial ? $"{Math.Min(count, 4)}" : selected;
    }
}
