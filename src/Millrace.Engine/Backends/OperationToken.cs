namespace Millrace.Engine.Backends;

/// <summary>What an operation does: the top byte of its token.</summary>
internal enum OperationKind : byte
{
    None,
    Accept,
    Receive,
    Send,
    FileRead,
    Cancel,
    Connect,

    /// <summary>A read into the application's memory.</summary>
    FileReadOperation,
}

/// <summary>
/// Identifies one operation: kind(8) | generation(24) | slot(32). A completion whose generation is not its slot's present one belongs to an
/// earlier user of the slot and is dropped; 2^24 generations per slot make an accidental match impossible while operations of the earlier
/// one can still be in flight.
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
