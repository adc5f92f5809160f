using System.Diagnostics;
using System.Runtime.InteropServices;

namespace Millrace.StaticFiles.Catalog;

/// <summary>
/// One lease on one snapshot, shared by requests on any thread. They are counted in stripes, one per processor, each in a cache line of its
/// own: two interlocked operations a request, on memory that no other core writes. The lease ends with the last request after it was
/// superseded.
/// </summary>
/// <remarks>
/// Who enters counts first and looks for <see cref="_isSuperseded"/> then; who supersedes sets that first and looks at the counts then,
/// with full fences between. So whoever got in is seen; who did not takes his count back at once. A stripe that was zero behind the
/// fence holds nobody any more, so a look at one stripe after the other is as good as one at all.
/// </remarks>
internal sealed class SharedAdoption
{
    private readonly CatalogSnapshot _snapshot;
    private readonly Stripe[] _stripes = new Stripe[Environment.ProcessorCount];
    private volatile bool _isSuperseded;
    private int _isReleased;

    /// <param name="snapshot">Leased; the lease is taken over.</param>
    public SharedAdoption(CatalogSnapshot snapshot) => _snapshot = snapshot;

    public CatalogSnapshot Snapshot => _snapshot;

    /// <summary>
    /// Begins a request, unless none may begin any more. It ends with <see cref="Exit"/> of the same stripe, on any thread.
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
        int left = Interlocked.Decrement(ref _stripes[stripe].Requests);
        Debug.Assert(left >= 0, "each request ends once");
        if (_isSuperseded)
        {
            ReleaseIfDone();
        }
    }

    /// <summary>No request will begin any more.</summary>
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

    /// <summary>Two lines: processors fetch them in pairs.</summary>
    [StructLayout(LayoutKind.Explicit, Size = 128)]
    private struct Stripe
    {
        [FieldOffset(64)]
        public int Requests;
    }
}
