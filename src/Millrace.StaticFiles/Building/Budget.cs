using System.Diagnostics;

namespace Millrace.StaticFiles.Building;

/// <summary>
/// A resource that the living snapshots of a site share: memory, or descriptors. Builds take from it one after the other; what is
/// freed is returned from any thread.
/// </summary>
/// <param name="perSnapshotMax">What one snapshot may hold, that which it shares with others included.</param>
/// <param name="totalMax">What all living ones may hold: old ones live for as long as their slowest client.</param>
internal sealed class Budget(long perSnapshotMax, long totalMax)
{
    private long _held;

    public long Held => Interlocked.Read(ref _held);

    /// <summary>Whether a snapshot that holds so much may take more. It stays true until taken, as builds do not overlap.</summary>
    public bool HasRoomFor(long amount, long heldBySnapshot) =>
        heldBySnapshot + amount <= perSnapshotMax && Held + amount <= totalMax;

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
