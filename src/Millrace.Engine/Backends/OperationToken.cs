namespace Millrace.Engine.Backends;

/// <summary>What an operation was for: the top byte of its token.</summary>
internal enum OperationKind : byte
{
    None,
    Accept,
    Receive,
    Send,
    FileRead,
    Cancel,
    Connect,

    /// <summary>A read into memory of the application's.</summary>
    MemoryRead,
}

/// <summary>
/// Names one operation to the backend and back: kind(8) | generation(24) | slot(32). A completion whose generation is
/// not its slot's present one belongs to an earlier tenant and is dropped; 2^24 generations per slot make an
/// accidental match impossible while the earlier one's operations can still be in flight.
/// </summary>
internal readonly record struct OperationToken(ulong Value)
{
    public const uint GenerationMask = 0xFF_FFFF;

    public OperationToken(OperationKind kind, uint generation, int slot)
        : this(((ulong)kind << 56) | ((ulong)(generation & GenerationMask) << 32) | (uint)slot)
    {
    }

    public OperationKind Kind => (OperationKind)(Value >> 56);

    public uint Generation => (uint)(Value >> 32) & GenerationMask;

    public int Slot => (int)(uint)Value;
}
