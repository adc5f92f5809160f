using System.Diagnostics;
using Millrace.Engine.Backends;

namespace Millrace.Engine.Loop;

/// <summary>
/// Limits the time and bytes that one iteration of a reactor's loop spends on busy connections, so that a client with one small request
/// waits for a few iterations and never for all that others have queued. Time is shared: the more connections wait, the shorter is the
/// slice of each. Only callbacks that ask read the clock; those with one request do not. Reactor thread only.
/// </summary>
/// <param name="backend">Provides the clock.</param>
internal sealed class IterationBudget(Backend backend)
{
    /// <summary>
    /// The time for the completions of an iteration, and again for the deferred connections. An iteration of 2 ms is some thousand
    /// requests, so that its own cost (an enter, some microseconds) does not count; a new client needs three (accept, receive, send).
    /// </summary>
    public static readonly long PhaseTicks = Stopwatch.Frequency / 1_000;

    /// <summary>
    /// Shorter slices send more often for the same requests. The streams of a connection that goes on until all are answered are still in
    /// the cache when the next connection uses them again. A client with one small request does not wait for a slice but for the phase.
    /// </summary>
    public static readonly long SliceTicksMin = Stopwatch.Frequency / 4_000;

    /// <summary>
    /// Bytes of large sends per iteration, which the kernel copies within it: some 200 us. Connections with more to send take turns.
    /// </summary>
    public const long SendBytes = 1024 * 1024;

    /// <summary>A send of up to this many bytes costs what an empty one does and is not deferred.</summary>
    public const long SmallSendBytes = 16 * 1024;

    private long _phaseEnd;
    private long _sliceEnd;
    private int _waiting;
    private long _sendBytesLeft;

    public bool IsPhaseOver => backend.Timestamp >= _phaseEnd;

    /// <summary>
    /// Whether the current callback has used up its slice: it may take a few more small steps, and continues in a later iteration.
    /// </summary>
    public bool IsSliceOver
    {
        get
        {
            long now = backend.Timestamp;
            if (_sliceEnd == 0)
            {
                // First query: the callback began a few steps ago.
                _sliceEnd = Math.Min(now + Math.Max(SliceTicksMin, PhaseTicks / (1 + _waiting)), _phaseEnd);
            }

            return now >= _sliceEnd;
        }
    }

    public void BeginPhase(long ticks) => _phaseEnd = backend.Timestamp + ticks;

    /// <summary>Begins the slice of a callback, while this many others wait.</summary>
    public void BeginSlice(int waiting)
    {
        _sliceEnd = 0;
        _waiting = waiting;
    }

    public void BeginSends() => _sendBytesLeft = SendBytes;

    /// <summary>Whether this many bytes may be sent in this iteration. The first large send always may.</summary>
    public bool TrySend(long bytes)
    {
        if (bytes <= SmallSendBytes)
        {
            return true;
        }

        if (_sendBytesLeft <= 0)
        {
            return false;
        }

        _sendBytesLeft -= bytes;
        return true;
    }
}
