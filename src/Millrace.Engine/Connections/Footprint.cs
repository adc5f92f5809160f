using System.Runtime.CompilerServices;
using System.Runtime.Intrinsics.X86;

namespace Millrace.Engine.Connections;

/// <summary>
/// The objects beside a connection that are touched whenever it gets on. Where hundreds of connections take turns these have left the
/// nearer caches since the last one, and a processor that comes to them one by one waits for each: asked for while another connection is
/// worked on, they are there.
/// </summary>
internal struct Footprint
{
    public const int PartsMax = 16;

    private Parts _parts;
    private Extents _extents;
    private Occasions _occasions;

    public int Count { get; private set; }

    /// <summary>What is beyond the most is not asked for, and nothing else.</summary>
    /// <param name="part">The object.</param>
    /// <param name="extent">What is touched of it, and of those beside it.</param>
    /// <param name="occasion">When.</param>
    public void Add(object part, Extent extent, Occasion occasion)
    {
        if (Count < PartsMax)
        {
            _parts[Count] = part;
            _extents[Count] = extent;
            _occasions[Count] = occasion;
            Count++;
        }
    }

    public void Clear()
    {
        _parts = default;
        Count = 0;
    }

    /// <summary>Asks for what is touched on this one occasion.</summary>
    public readonly void Foresee(Occasion occasion)
    {
        for (int i = 0; i < Count; i++)
        {
            if ((_occasions[i] & occasion) != 0)
            {
                Foresee(_parts[i], _extents[i]);
            }
        }
    }

    /// <summary>Asks for an object. Nothing on processors whose instruction for that the runtime does not know.</summary>
    public static unsafe void Foresee(object part, Extent extent)
    {
        if (!Sse.IsSupported)
        {
            return;
        }

        // A collection may move the object meanwhile, and beside it may be anything, or nothing that is mapped: to ask for that is of no
        // use, and never a fault.
        (nuint first, nuint end) = extent.LinesAround(*(nuint*)Unsafe.AsPointer(ref part));
        for (nuint line = first; line < end; line += Extent.LineBytes)
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
    private struct Extents
    {
        private Extent _first;
    }

    [InlineArray(PartsMax)]
    private struct Occasions
    {
        private Occasion _first;
    }
}
