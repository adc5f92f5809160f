using System.Runtime.CompilerServices;
using System.Runtime.Intrinsics.X86;

namespace Millrace.Engine.Connections;

/// <summary>
/// The objects that a connection's completions touch, for prefetching. With hundreds of active connections these objects leave the nearer
/// caches between two completions, and each access would wait for memory; they are prefetched while another connection is processed.
/// </summary>
internal struct PrefetchSet
{
    public const int PartsMax = 16;

    private Parts _parts;
    private RangesOfParts _ranges;
    private KindsOfParts _kinds;

    public int Count { get; private set; }

    /// <summary>Adds an object; beyond <see cref="PartsMax"/> it is not prefetched, with no other effect.</summary>
    public void Add(object part, PrefetchRange range, CompletionKinds kinds)
    {
        if (Count < PartsMax)
        {
            _parts[Count] = part;
            _ranges[Count] = range;
            _kinds[Count] = kinds;
            Count++;
        }
    }

    public void Clear()
    {
        _parts = default;
        Count = 0;
    }

    public readonly void Prefetch(CompletionKinds kinds)
    {
        for (int i = 0; i < Count; i++)
        {
            if ((_kinds[i] & kinds) != 0)
            {
                Prefetch(_parts[i], _ranges[i]);
            }
        }
    }

    /// <summary>Prefetches an object. No effect on processors whose prefetch instruction the runtime does not expose.</summary>
    public static unsafe void Prefetch(object part, PrefetchRange range)
    {
        if (!Sse.IsSupported)
        {
            return;
        }

        // The collector may move the object meanwhile, and its neighbourhood may be anything or unmapped: such a prefetch is useless, and
        // never faults.
        (nuint first, nuint end) = range.LinesAround(*(nuint*)Unsafe.AsPointer(ref part));
        for (nuint line = first; line < end; line += PrefetchRange.LineBytes)
        {
            Sse.Prefetch0((void*)line);
        }
    }

    [InlineArray(PartsMax)]
    private struct Parts
    {
        private object _first;
    }

    [InlineArray(PartsMax)]
    private struct RangesOfParts
    {
        private PrefetchRange _first;
    }

    [InlineArray(PartsMax)]
    private struct KindsOfParts
    {
        private CompletionKinds _first;
    }
}

/// <summary>The completions by which a connection progresses.</summary>
[Flags]
internal enum CompletionKinds : byte
{
    Received = 1,
    Sent = 2,
    Either = Received | Sent,
}

/// <summary>
/// Memory around the start of an object, in bytes: its own, and that of objects allocated directly before and after it. Objects allocated
/// together are adjacent, and a collector that moves them keeps their order.
/// </summary>
/// <param name="After">Bytes from the object's start on.</param>
/// <param name="Before">Bytes before its start.</param>
internal readonly record struct PrefetchRange(ushort After, ushort Before = 0)
{
    public const int LineBytes = 64;

    /// <summary>The cache lines of an object at an address: the start of the first, and the end of the range.</summary>
    public (nuint First, nuint End) LinesAround(nuint beginning) =>
        ((beginning - Before) & ~(nuint)(LineBytes - 1), beginning + After);
}
