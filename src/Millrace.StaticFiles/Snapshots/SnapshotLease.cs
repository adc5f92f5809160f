using System.Diagnostics;
using System.Runtime.InteropServices;

namespace Millrace.StaticFiles.Snapshots;

/// <summary>One request's use of a snapshot, on any thread. <see cref="Release"/> must be called exactly once.</summary>
internal readonly struct SnapshotLease(RequestCounter counter, int stripe)
{
    public CatalogSnapshot Snapshot => counter.Snapshot;

    public void Release() => counter.Exit(stripe);
}

/// <summary>
/// Counts the requests of any thread that use a snapshot while it is current, and keeps it alive until the last of them ends. In stripes,
/// one for each processor and each in its own cache line: two interlocked operations per request, on memory that no other core writes.
/// </summary>
/// <remarks>
/// Dekker pattern: <see cref="TryEnter"/> increments its stripe, fences, reads <see cref="_isSuperseded"/>; <see cref="Supersede"/> sets
/// that, fences, reads the stripes. One of them sees the other: an accepted request is counted, and a refused one takes its count back at
/// once. A stripe that was zero after the fence holds no accepted request again, so reading one stripe after the other is as good as
/// reading all at once.
/// </remarks>
internal sealed class RequestCounter(CatalogSnapshot snapshot)
{
    private readonly Stripe[] _stripes = new Stripe[Environment.ProcessorCount];
    private volatile bool _isSuperseded;
    private int _isReleased;

    public CatalogSnapshot Snapshot => snapshot;

    /// <summary>Begins a request; false after <see cref="Supersede"/>.</summary>
    public bool TryEnter(out SnapshotLease lease)
    {
        int stripe = Thread.GetCurrentProcessorId() % _stripes.Length;
        lease = new SnapshotLease(this, stripe);
        Interlocked.Increment(ref _stripes[stripe].Requests);
        if (!_isSuperseded)
        {
            return true;
        }

        Exit(stripe);
        return false;
    }

    public void Exit(int stripe)
    {
        int remaining = Interlocked.Decrement(ref _stripes[stripe].Requests);
        Debug.Assert(remaining >= 0, "each request ends once");
        if (_isSuperseded)
        {
            ReleaseIfDone();
        }
    }

    /// <summary>No further request begins. The snapshot is released now, or with the last request.</summary>
    public void Supersede()
    {
        _isSuperseded = true;
        Interlocked.MemoryBarrier();
        ReleaseIfDone();
    }

    private void ReleaseIfDone()
    {
        foreach (ref Stripe stripe in _stripes.AsSpan())
        {
            if (Volatile.Read(ref stripe.Requests) != 0)
            {
                return;
            }
        }

        if (Interlocked.Exchange(ref _isReleased, 1) == 0)
        {
            snapshot.Release();
        }
    }

    /// <summary>Two cache lines, because processors fetch them in pairs.</summary>
    [StructLayout(LayoutKind.Explicit, Size = 128)]
    private struct Stripe
    {
        [FieldOffset(64)]
        public int Requests;
    }
}
