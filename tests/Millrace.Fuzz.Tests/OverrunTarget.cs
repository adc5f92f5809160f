using Millrace.Fuzz.Tests.Kit;

namespace Millrace.Fuzz.Tests;

/// <summary>A target with a planted fault that no framework can catch: it reads the byte after an input with an 'X' in it.</summary>
internal sealed class OverrunTarget : FuzzTarget
{
    public const string TargetName = "overrun";

    public override string Name => TargetName;

    public override IReadOnlyList<string> Words => ["X"];

    public override byte[] Generate(Random random) => [(byte)'X'];

    public override unsafe string Check(ReadOnlySpan<byte> input)
    {
        fixed (byte* start = input)
        {
            return input.Contains((byte)'X') ? $"{start[input.Length]}" : "";
        }
    }
}
