using System.Diagnostics.CodeAnalysis;
using System.Numerics;
using System.Runtime.CompilerServices;

namespace Millrace.HttpServer.RateLimiting;

/// <summary>
/// The token buckets of all clients, in a table of a fixed size that all reactors share. A bucket is the time at which it will be full
/// again (GCRA, the virtual scheduling algorithm of ITU-T I.371): a request moves it on by one interval, by compare-and-swap, so that the
/// count is exact with any number of reactors. A bucket that is full is the same as none, and its slot is free. Any thread; no locks.
/// </summary>
/// <remarks>
/// If all slots that a client may have are taken, the client there whose bucket is full first is forgotten: it may send more than its
/// limit, and nobody else less.
/// </remarks>
internal sealed class ClientBuckets
{
    /// <summary>Bytes of a slot.</summary>
    public const int SlotBytes = 16;

    /// <summary>
    /// The slots, one after the other, that a client may have. In a table that is half full, one client in thousands finds all taken.
    /// </summary>
    private const int Window = 16;

    /// <summary>Other reactors may take a slot in between; each time, another request has made progress.</summary>
    private const int AttemptsMax = 8;

    /// <summary>Both words of a slot hold a generation, so that a time is never taken for that of another owner.</summary>
    private const int GenerationBits = 2;
    private const ulong GenerationMask = (1 << GenerationBits) - 1;

    /// <summary>A new bucket is full since a time below this, in nanoseconds, which depends on its client.</summary>
    private const ulong NewTimeMask = (1 << 28) - 1;

    private readonly Slot[] _slots;
    private readonly int _shift;
    private long _forgotten;

    /// <param name="bytes">The memory; rounded down to a power of two.</param>
    public ClientBuckets(long bytes)
    {
        _slots = new Slot[Math.Max(Window, 1 << BitOperations.Log2((ulong)bytes / SlotBytes))];
        _shift = 64 - BitOperations.Log2((uint)_slots.Length);
    }

    /// <summary>Clients that were forgotten because the table was full.</summary>
    public long Forgotten => Volatile.Read(ref _forgotten);

    /// <summary>
    /// Takes one request from a bucket. Returns 0, or, if the bucket is empty, after how long it holds one; then nothing has changed.
    /// </summary>
    /// <param name="key">The bucket: evenly distributed, and not 0.</param>
    /// <param name="nowNs">The current time; with the capacity, less than 2^62.</param>
    /// <param name="intervalNs">After how long a bucket holds one request more.</param>
    /// <param name="capacityNs">After how long an empty bucket is full.</param>
    public long Take(ulong key, long nowNs, long intervalNs, long capacityNs)
    {
        for (int attempt = 0; attempt < AttemptsMax; attempt++)
        {
            ref Slot slot = ref Find(key, nowNs, out Slot seen);
            bool isOwn = IsOf(key, seen) && seen.IsOwned;
            if (!isOwn && !TryGive(ref slot, ref seen, key, nowNs))
            {
                continue;
            }

            if (TryAdvance(ref slot, seen, nowNs, intervalNs, capacityNs, out long waitNs))
            {
                return waitNs;
            }
        }

        return 0;
    }

    /// <summary>Gives back a request that was taken and did not take place.</summary>
    public void Return(ulong key, long intervalNs)
    {
        for (int i = 0; i < Window; i++)
        {
            ref Slot slot = ref At(key, i);
            Slot seen = slot.Read();
            if (!IsOf(key, seen))
            {
                continue;
            }

            while (seen.IsOwned)
            {
                // It may be another bucket of the client by now, from which nothing was taken.
                long next = Math.Max(0, seen.FullAtNs - intervalNs);
                ulong before = Interlocked.CompareExchange(ref slot.FullAt, seen.With(next), seen.FullAt);
                if (before == seen.FullAt)
                {
                    return;
                }

                seen.FullAt = before;
            }

            return;
        }
    }

    private static bool IsOf(ulong key, Slot slot) => slot.Owner >> GenerationBits == key << GenerationBits >> GenerationBits;

    /// <summary>
    /// Moves a bucket on by one request, or tells how long it is empty. Returns false if the slot has been given to another client.
    /// </summary>
    private static bool TryAdvance(ref Slot slot, Slot seen, long nowNs, long intervalNs, long capacityNs, out long waitNs)
    {
        waitNs = 0;
        while (seen.IsOwned)
        {
            long next = Math.Max(seen.FullAtNs, nowNs) + intervalNs;
            if (next - nowNs > capacityNs)
            {
                waitNs = next - nowNs - capacityNs;
                return Volatile.Read(ref slot.Owner) == seen.Owner;
            }

            ulong before = Interlocked.CompareExchange(ref slot.FullAt, seen.With(next), seen.FullAt);
            if (before == seen.FullAt)
            {
                return Volatile.Read(ref slot.Owner) == seen.Owner;
            }

            seen.FullAt = before;
        }

        return false;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private ref Slot At(ulong key, int offset) => ref _slots[((int)(key >> _shift) + offset) & (_slots.Length - 1)];

    /// <summary>
    /// Finds the slot of a key, or else the first one that is free, or else the one that is free soonest. Slots are never emptied, so the
    /// first that was never used ends the search.
    /// </summary>
    private ref Slot Find(ulong key, long nowNs, out Slot seen)
    {
        seen = default;
        ref Slot found = ref Unsafe.NullRef<Slot>();
        long soonestNs = long.MaxValue;
        for (int i = 0; i < Window; i++)
        {
            ref Slot slot = ref At(key, i);
            Slot read = slot.Read();
            if (IsOf(key, read))
            {
                seen = read;
                return ref slot;
            }

            long freeAtNs = read.IsOwned ? Math.Max(read.FullAtNs, nowNs) : nowNs;
            if (freeAtNs < soonestNs)
            {
                found = ref slot;
                (seen, soonestNs) = (read, freeAtNs);
            }

            if (read.Owner == 0)
            {
                break;
            }
        }

        return ref found;
    }

    /// <summary>
    /// Frees a slot, if it is not free, and gives it to a client, with a full bucket. Returns false if another thread was faster.
    /// </summary>
    private bool TryGive(ref Slot slot, ref Slot seen, ulong key, long nowNs)
    {
        if (!seen.IsFree)
        {
            // The owner is read again, as it and the time were not read at once.
            bool isForgotten = seen.IsOwned && seen.FullAtNs > nowNs;
            ulong free = ((key & NewTimeMask) << GenerationBits) | (seen.Owner & GenerationMask);
            if (Volatile.Read(ref slot.Owner) != seen.Owner
                || Interlocked.CompareExchange(ref slot.FullAt, free, seen.FullAt) != seen.FullAt)
            {
                return false;
            }

            seen.FullAt = free;
            if (isForgotten)
            {
                Interlocked.Increment(ref _forgotten);
            }
        }

        ulong owner = (key << GenerationBits) | ((seen.Owner + 1) & GenerationMask);
        ulong before = Interlocked.CompareExchange(ref slot.Owner, owner, seen.Owner);
        bool isGiven = before == seen.Owner;
        seen.Owner = owner;
        return isGiven;
    }

    /// <summary>
    /// The owner's key and the time at which its bucket is full, each with a generation. That of the owner is one ahead, or, if the slot is
    /// free, equal: a slot is freed by its time, which only changes if nobody has taken a request meanwhile, and then given by its owner.
    /// A new owner's bucket is full from that moment on, whichever thread takes from it first. Generations repeat after four owners; a
    /// thread that slept so long does not mistake the new bucket for its own, as the times of two new buckets differ too.
    /// </summary>
    [SuppressMessage("Design", "CA1051", Justification = "Interlocked needs fields.")]
    private struct Slot
    {
        public ulong Owner;
        public ulong FullAt;

        public readonly bool IsOwned => ((Owner - FullAt) & GenerationMask) == 1;

        public readonly bool IsFree => ((Owner - FullAt) & GenerationMask) == 0;

        public readonly long FullAtNs => (long)(FullAt >> GenerationBits);

        public readonly ulong With(long fullAtNs) => ((ulong)fullAtNs << GenerationBits) | (FullAt & GenerationMask);

        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public readonly Slot Read() => new() { Owner = Volatile.Read(in Owner), FullAt = Volatile.Read(in FullAt) };
    }
}
