using System.Diagnostics;

namespace Millrace.StaticFiles.Scanning;

/// <summary>
/// A resource that the live snapshots of a site share: memory or descriptors. Builds take from it one after the other; any thread can
/// return what is freed.
/// </summary>
/// <param name="perSnapshotMax">The most that one snapshot may hold, including what it shares with others.</param>
/// <param name="totalMax">The most that all live snapshots may hold; old ones live as long as their slowest client.</param>
internal sealed class ResourceBudget(long perSnapshotMax, long totalMax)
{
    private long _held;

    public long Held => Interlocked.Read(ref _held);

    /// <summary>
    /// Whether a snapshot that holds this much may take more. The result is valid until <see cref="Take"/>, as builds do not overlap.
    /// </summary>
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
