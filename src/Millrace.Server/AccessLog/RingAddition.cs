namespace Millrace.Server.AccessLog;

/// <summary>What became of a line that was added.</summary>
internal enum RingAddition
{
    Added,

    /// <summary>With it the ring is half full: who takes should make haste.</summary>
    HalfFull,

    Dropped,
}
