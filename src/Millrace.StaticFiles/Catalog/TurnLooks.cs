using System.Runtime.CompilerServices;
using Millrace.StaticFiles.Building;

namespace Millrace.StaticFiles.Catalog;

/// <summary>
/// Looks at files that all answers of one turn share. The reads that a reactor is told of in a turn had all ended before the first of them
/// is told, so that one look behind that is behind each of them. A hot file is looked at once a turn, instead of once for each who asks.
/// Adopter's thread.
/// </summary>
/// <param name="files">Through which they are looked at.</param>
internal sealed class TurnLooks(AssetFiles files)
{
    private Kept _kept;

    /// <summary>The state of what a descriptor is open on, which stays open for as long as this is used. 0 or -errno.</summary>
    /// <param name="descriptor">The file.</param>
    /// <param name="turn">The number of the turn.</param>
    /// <param name="state">Of some moment of that turn.</param>
    public int Look(int descriptor, long turn, out FileState state)
    {
        ref Shared shared = ref _kept[descriptor & (Kept.Count - 1)];
        if (shared.Turn == turn && shared.Descriptor == descriptor)
        {
            state = shared.State;
            return 0;
        }

        int result = files.Look(descriptor, out state);
        if (result >= 0)
        {
            shared = new Shared(descriptor, turn, state);
        }

        return result;
    }

    private readonly record struct Shared(int Descriptor, long Turn, FileState State);

    [InlineArray(Count)]
    private struct Kept
    {
        public const int Count = 16;

        private Shared _first;
    }
}
