namespace Millrace.Engine.Connections;

/// <summary>
/// Memory around the beginning of an object, in bytes: what is its own, and what belongs to those that were made right before it and behind
/// it. Objects that are made together lie side by side, and a collector that moves them keeps their order.
/// </summary>
/// <param name="Behind">From the object's beginning.</param>
/// <param name="Before">In front of it.</param>
internal readonly record struct Extent(ushort Behind, ushort Before = 0)
{
    public const int LineBytes = 64;

    /// <summary>The lines of cache of an object that lies there: where the first begins, and where what is touched ends.</summary>
    public (nuint First, nuint End) LinesAround(nuint beginning) =>
        ((beginning - Before) & ~(nuint)(LineBytes - 1), beginning + Behind);
}
