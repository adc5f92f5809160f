namespace Millrace.Engine.Backends;

/// <summary>
/// One finished operation, or one step of a multishot one. <see cref="Data"/> points into a provided buffer for a
/// receive that brought bytes; the buffer goes back with <see cref="Backend.ReturnBuffer"/> before the turn ends.
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

    /// <summary>The operation goes on and will complete again.</summary>
    More = 1,
    HasBuffer = 2,
}
