using System.Diagnostics;
using Millrace.Engine;

namespace Millrace.Tls.Handshakes;

/// <summary>
/// Shares a reactor between handshakes and everything else. A handshake step costs some hundred microseconds (a signature, two curve
/// operations), a request on an established connection ten. Each iteration of the loop makes steps until their time is used up; the others
/// wait for the next iteration, after the requests that arrived meanwhile. Steps of clients that have responded, which proves their address
/// and costs little, come first; then the others, round-robin by client address. Reactor thread only.
/// </summary>
internal sealed class HandshakeScheduler(Reactor reactor, TimeSpan budget)
{
    private readonly long _budget = (long)(budget.TotalSeconds * Stopwatch.Frequency);
    private readonly Queue<TlsServerFilter> _responded = new();
    private readonly FairQueue<TlsServerFilter> _started = new();
    private long _iteration = -1;
    private long _spent;
    private bool _isPosted;

    /// <summary>Whether a step may be made now: the iteration has time left, and no step is queued.</summary>
    public bool IsFree => WaitingCount == 0 && HasTime;

    private int WaitingCount => _responded.Count + _started.Count;

    private bool HasTime => reactor.Counters.Iterations != _iteration || _spent < _budget;

    public void Spend(long ticks)
    {
        if (_iteration != reactor.Counters.Iterations)
        {
            _iteration = reactor.Counters.Iterations;
            _spent = 0;
        }

        _spent += ticks;
    }

    public void Defer(TlsServerFilter filter, bool hasResponded)
    {
        if (hasResponded)
        {
            _responded.Enqueue(filter);
        }
        else
        {
            _started.Enqueue(filter.Client, filter);
        }

        PostIfWaiting();
    }

    /// <summary>Makes a step that waited for something else than the reactor. Any thread.</summary>
    public void Resume(TlsServerFilter filter) =>
        reactor.Post(static resumed => ((TlsServerFilter)resumed!).RunDeferredStep(), filter);

    private void PostIfWaiting()
    {
        if (WaitingCount > 0 && !_isPosted)
        {
            _isPosted = true;
            reactor.Post(static scheduler => ((HandshakeScheduler)scheduler!).Run(), this);
        }
    }

    private void Run()
    {
        _isPosted = false;
        while (HasTime && (_responded.TryDequeue(out TlsServerFilter? filter) || _started.TryDequeue(out filter)))
        {
            filter.RunDeferredStep();
        }

        PostIfWaiting();
    }
}
