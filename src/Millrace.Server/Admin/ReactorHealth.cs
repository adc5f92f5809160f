using Millrace.Engine.Diagnostics;

namespace Millrace.Server.Admin;

/// <summary>
/// Detects stuck reactors from their heartbeats: a reactor is stuck if several consecutive checks find it in the same callback. A reactor
/// that waits in the kernel is healthy. Pure: the caller checks once a second.
/// </summary>
internal sealed class ReactorHealth(int reactors)
{
    /// <summary>
    /// Longer than a slow disk takes. A stopped process or a suspended machine counts as one check, however long it lasts.
    /// </summary>
    public const int ChecksMax = 5;

    private readonly long[] _heartbeats = new long[reactors];
    private readonly int[] _checks = new int[reactors];

    /// <summary>The index of the first stuck reactor; null if none is.</summary>
    public int? Stuck { get; private set; }

    /// <param name="heartbeats">The heartbeat of each reactor.</param>
    public void Check(ReadOnlySpan<long> heartbeats)
    {
        Stuck = null;
        for (int i = 0; i < heartbeats.Length; i++)
        {
            bool isSame = heartbeats[i] == _heartbeats[i] && !LoopHeartbeat.IsWaitingAt(heartbeats[i]);
            _checks[i] = isSame ? _checks[i] + 1 : 0;
            _heartbeats[i] = heartbeats[i];
            Stuck ??= _checks[i] >= ChecksMax ? i : null;
        }
    }
}
