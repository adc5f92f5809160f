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
    public const int PartsMax = 6;
    private const int LineBytes = 64;

    private Parts _parts;
    private Lines _lines;

    public int Count { get; private set; }

    /// <summary>What is beyond the most is not asked for, and nothing else.</summary>
    public void Add(object part, int bytes)
    {
        if (Count < PartsMax)
        {
            _parts[Count] = part;
            _lines[Count] = LinesOf(bytes);
            Count++;
        }
    }

    public void Clear()
    {
        _parts = default;
        Count = 0;
    }

    public readonly void Foresee()
    {
        for (int i = 0; i < Count; i++)
        {
            Foresee(_parts[i], _lines[i]);
        }
    }

    /// <summary>Asks for the beginning of an object. Nothing on processors whose instruction for that the runtime does not know.</summary>
    public static void Foresee(object part, int bytes) => Foresee(part, LinesOf(bytes));

    private static byte LinesOf(int bytes) => (byte)((bytes + LineBytes - 1) / LineBytes);

    private static unsafe void Foresee(object part, byte lines)
    {
        if (!Sse.IsSupported)
        {
            return;
        }

        // A collection may move the object meanwhile: what is asked for then is of no use, and never a fault.
        byte* first = *(byte**)Unsafe.AsPointer(ref part);
        for (int line = 0; line < lines; line++)
        {
            Sse.Prefetch0(first + (line * LineBytes));
        }
    }

    [InlineArray(PartsMax)]
    private struct Parts
    {
        private object _first;
    }

    [InlineArray(PartsMax)]
    private struct Lines
    {
        private byte _first;
    }
}
