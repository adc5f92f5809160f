using Millrace.Interop.Files;

namespace Millrace.StaticFiles.Building;

/// <summary>
/// All that a snapshot owns outside the managed heap: its root, the memory of its bodies, its descriptors; each counted in the
/// budget it was taken from. Filled by the build; disposed once, by the build if it fails and by the snapshot otherwise.
/// </summary>
internal sealed unsafe class SnapshotResources(RootDirectory root, Budget memory, Budget descriptors) : IDisposable
{
    private readonly NativeArena _arena = new();
    private readonly List<int> _descriptors = [];
    private readonly long _bytesMax = memory.Available;
    private readonly long _descriptorsMax = descriptors.Available;

    public RootDirectory Root => root;

    /// <summary>The memory its bodies take, what alignment costs included.</summary>
    public long BakedBytes { get; private set; }

    public int DescriptorCount => _descriptors.Count;

    public bool HasRoomFor(long bodyBytes) => BakedBytes + NativeArena.RoundUp(bodyBytes) <= _bytesMax;

    /// <summary>Memory for a body there is room for; taken only by <see cref="Commit"/>.</summary>
    public byte* Reserve(long bodyBytes) => _arena.Reserve(bodyBytes);

    public void Commit(long bodyBytes)
    {
        _arena.Commit(bodyBytes);
        BakedBytes += NativeArena.RoundUp(bodyBytes);
        memory.Take(NativeArena.RoundUp(bodyBytes));
    }

    /// <summary>Takes a descriptor into possession, while the budget lasts.</summary>
    public bool TryHold(int fd)
    {
        if (_descriptors.Count >= _descriptorsMax)
        {
            return false;
        }

        _descriptors.Add(fd);
        descriptors.Take(1);
        return true;
    }

    public void Dispose()
    {
        foreach (int fd in _descriptors)
        {
            _ = FileCalls.Close(fd);
        }

        descriptors.Return(_descriptors.Count);
        _descriptors.Clear();
        _arena.Dispose();
        memory.Return(BakedBytes);
        BakedBytes = 0;
        root.Dispose();
    }
}
