using Millrace.Engine.Watching;

namespace Millrace.Server.Admin;

/// <summary>
/// Tells from looks at their pulses whether all reactors turn: one that is in the same callback at several looks in a row does not. One
/// that rests in the kernel is well. Pure: the caller looks once a second.
/// </summary>
internal sealed class ReactorHealth(int reactors)
{
    /// <summary>
    /// So long in one callback is no slow disk any more, nor a process that was stopped or a machine that slept, which is one look however
    /// long it took.
    /// </summary>
    public const int LooksMost = 5;

    private readonly long[] _beats = new long[reactors];
    private readonly int[] _looks = new int[reactors];

    /// <summary>The first reactor that does not turn; null while all do.</summary>
    public int? Stuck { get; private set; }

    /// <param name="beats">The pulse of each reactor.</param>
    public void Look(ReadOnlySpan<long> beats)
    {
        Stuck = null;
        for (int i = 0; i < beats.Length; i++)
        {
            bool isSame = beats[i] == _beats[i] && !Pulse.IsAtRest(beats[i]);
            _looks[i] = isSame ? _looks[i] + 1 : 0;
            _beats[i] = beats[i];
            Stuck ??= _looks[i] >= LooksMost ? i : null;
        }
    }
}
