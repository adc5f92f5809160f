using System.Diagnostics;

namespace Millrace.StaticFiles.Building;

/// <summary>
/// A resource that the living snapshots of a site share: memory, or descriptors. Builds take from it one after the other, a
/// snapshot that ends returns its part from any thread.
/// </summary>
/// <param name="perSnapshotMax">What one snapshot may hold.</param>
/// <param name="totalMax">What all living ones may hold: old ones live for as long as their slowest client.</param>
internal sealed class Budget(long perSnapshotMax, long totalMax)
{
    private long _held;

    public long Held => Interlocked.Read(ref _held);

    /// <summary>What the next snapshot may take. It can only grow until then, as builds do not overlap.</summary>
    public long Available => Math.Clamp(totalMax - Held, 0, perSnapshotMax);

    public void Take(long amount)
    {
        long held = Interlocked.Add(ref _held, amount);
        Debug.Assert(held <= totalMax, "a build takes no more than was available");
    }

    public void Return(long amount)
    {
        long held = Interlocked.Add(ref _held, -amount);
        Debug.Assert(held >= 0, "no more is returned than was taken");
    }
}
