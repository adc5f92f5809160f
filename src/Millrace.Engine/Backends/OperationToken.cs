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

    ReceiveDatagrams,
    SendDatagram,
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

/// <summary>
/// The pauses between repeated cancels of an operation that has not ended. A cancel finds a waiting operation, but can miss one that is
/// between two waits (-ENOENT) or on an io_uring worker (-EALREADY: it is interrupted once, and may start again): a send whose peer reads
/// nothing would then never end. An operation that cannot be interrupted, such as a read from a dead disk, costs one cancel in eight
/// seconds.
/// </summary>
internal struct CancelRetry
{
    /// <summary>Long enough for most cancels to take effect, and less than the grace period after the drain deadline.</summary>
    public const int FirstMs = 250;

    public const int MaxMs = 8_000;

    private int _pauseMs;

    public long NextMs(long nowMs)
    {
        _pauseMs = _pauseMs == 0 ? FirstMs : Math.Min(_pauseMs * 2, MaxMs);
        return nowMs + _pauseMs;
    }
}

/// <summary>
/// One finished operation, or one step of a multishot operation. For a receive with bytes, <see cref="Data"/> points into a provided
/// buffer, which must be returned by <see cref="Backend.ReturnBuffer"/> before the iteration ends; for a message see
/// <see cref="Backend.SubmitReceiveDatagrams"/>.
/// </summary>
internal unsafe struct Completion
{
    public OperationToken Token;

    /// <summary>A count or a descriptor, or -errno.</summary>
    public int Result;

    public CompletionFlags Flags;
    public ushort BufferId;
    public byte* Data;

    public readonly bool IsTerminal => (Flags & CompletionFlags.More) == 0;

    public readonly bool HasBuffer => (Flags & CompletionFlags.HasBuffer) != 0;
}

[Flags]
internal enum CompletionFlags : byte
{
    None = 0,

    /// <summary>The operation continues and will complete again.</summary>
    More = 1,
    HasBuffer = 2,
}
