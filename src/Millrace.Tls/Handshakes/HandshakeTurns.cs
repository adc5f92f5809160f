using System.Diagnostics;
using Millrace.Engine;

namespace Millrace.Tls.Handshakes;

/// <summary>
/// Shares a reactor between handshakes and everything else. A handshake's step costs some hundred microseconds (a signature, two
/// operations on curves), a request on an established connection ten: in each turn of the loop steps are made until their time is used up,
/// and the others wait in order for the next turn, behind the requests that came meanwhile. Reactor thread only.
/// </summary>
internal sealed class HandshakeTurns(Reactor reactor, TimeSpan budget)
{
    private readonly long _budget = (long)(budget.TotalSeconds * Stopwatch.Frequency);
    private readonly Queue<TlsStage> _waiting = new();
    private long _turn = -1;
    private long _spent;
    private bool _isPosted;

    /// <summary>Whether a step may be made now: there is time left in this turn, and nobody has waited longer.</summary>
    public bool IsFree => _waiting.Count == 0 && HasTime;

    private bool HasTime => reactor.Counters.Turns != _turn || _spent < _budget;

    /// <summary>Notes what a step has cost.</summary>
    public void Spend(long ticks)
    {
        if (_turn != reactor.Counters.Turns)
        {
            _turn = reactor.Counters.Turns;
            _spent = 0;
        }

        _spent += ticks;
    }

    /// <summary>Puts a stage's step off.</summary>
    public void Await(TlsStage stage)
    {
        _waiting.Enqueue(stage);
        PostIfWaiting();
    }

    private void PostIfWaiting()
    {
        if (_waiting.Count > 0 && !_isPosted)
        {
            _isPosted = true;
            reactor.Post(static turns => ((HandshakeTurns)turns!).Run(), this);
        }
    }

    private void Run()
    {
        _isPosted = false;
        while (HasTime && _waiting.TryDequeue(out TlsStage? stage))
        {
            stage.TakeTurn();
        }

        PostIfWaiting();
    }
}
