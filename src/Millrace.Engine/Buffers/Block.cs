namespace Millrace.Engine.Buffers;

/// <summary>A piece of native memory lent by <see cref="BlockPools"/>; whoever holds it returns it exactly once.</summary>
internal readonly unsafe struct Block(byte* address, int bytes)
{
    public readonly byte* Address = address;
    public readonly int Bytes = bytes;

    public bool IsNone => Address is null;
}
