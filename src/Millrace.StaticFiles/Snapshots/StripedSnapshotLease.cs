using System.Diagnostics;
using System.Runtime.InteropServices;

namespace Millrace.StaticFiles.Snapshots;

/// <summary>
/// One lease on one snapshot, shared by requests on any thread. Requests are counted in stripes, one per processor and each in its own
/// cache line: two interlocked operations per request, on memory that no other core writes. After it was superseded, the lease ends with
/// the last request.
/// </summary>
/// <remarks>
/// Dekker pattern: <see cref="TryEnter"/> increments its stripe, fences, reads <see cref="_isSuperseded"/>; <see cref="Supersede"/> sets
/// that, fences, reads the stripes. One of them sees the other: an accepted request is counted, and a refused one takes its count back at
/// once. A stripe that was zero after the fence holds no accepted request again, so reading one stripe after the other is as good as
/// reading all at once.
/// </remarks>
internal sealed class StripedSnapshotLease
{
    private readonly CatalogSnapshot _snapshot;
    private readonly Stripe[] _stripes = new Stripe[Environment.ProcessorCount];
    private volatile bool _isSuperseded;
    private int _isReleased;

    /// <param name="snapshot">The leased snapshot; the lease passes to this object.</param>
    public StripedSnapshotLease(CatalogSnapshot snapshot) => _snapshot = snapshot;

    public CatalogSnapshot Snapshot => _snapshot;

    /// <summary>
    /// Begins a request, or returns false after <see cref="Supersede"/>. The request ends with <see cref="Exit"/> of the same stripe, on
    /// any thread.
    /// </summary>
    public bool TryEnter(out int stripe)
    {
        stripe = Thread.GetCurrentProcessorId() % _stripes.Length;
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

    /// <summary>Ends the lease: no further request begins.</summary>
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
            _snapshot.Release();
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
