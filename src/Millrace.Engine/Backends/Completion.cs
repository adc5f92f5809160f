namespace Millrace.Engine.Backends;

/// <summary>
/// One finished operation, or one step of a multishot operation. For a receive with bytes, <see cref="Data"/> points into a provided
/// buffer, which must be returned by <see cref="Backend.ReturnBuffer"/> before the iteration ends.
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
