using System.Runtime.CompilerServices;
using Millrace.StaticFiles.Scanning;

namespace Millrace.StaticFiles.Snapshots;

/// <summary>
/// Stat results shared by all responses of one loop iteration, so that a hot file is checked once per iteration instead of once per
/// response. Valid because all reads whose completions an iteration delivers had ended before the first one is delivered: one stat after
/// that point follows each of these reads. Lease owner's thread.
/// </summary>
/// <param name="files">The file system operations to use.</param>
internal sealed class StatCache(AssetFiles files)
{
    private Slots _slots;

    /// <summary>The state of an open file, whose descriptor stays open for as long as this cache is used. 0 or -errno.</summary>
    /// <param name="descriptor">The open file.</param>
    /// <param name="iteration">The number of the loop iteration.</param>
    /// <param name="state">The file's state at some moment of that iteration.</param>
    public int Stat(int descriptor, long iteration, out FileState state)
    {
        ref Entry entry = ref _slots[descriptor & (Slots.Count - 1)];
        if (entry.Iteration == iteration && entry.Descriptor == descriptor)
        {
            state = entry.State;
            return 0;
        }

        int result = files.Stat(descriptor, out state);
        if (result >= 0)
        {
            entry = new Entry(descriptor, iteration, state);
        }

        return result;
    }

    private readonly record struct Entry(int Descriptor, long Iteration, FileState State);

    [InlineArray(Count)]
    private struct Slots
    {
        public const int Count = 16;

        private Entry _first;
    }
}
