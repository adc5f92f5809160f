using System.Runtime.CompilerServices;

namespace Millrace.Engine;

/// <summary>
/// Awaited to continue on a reactor's thread (<see cref="Reactor.SwitchTo"/>; completes at once on that thread), or in its next iteration
/// (<see cref="Reactor.Yield"/>).
/// </summary>
#pragma warning disable CA1815 // Awaitables are not compared.
public readonly struct ReactorAwaitable : ICriticalNotifyCompletion
#pragma warning restore CA1815
{
    private static readonly Action<object?> Run = static continuation => ((Action)continuation!)();

    private readonly Reactor _reactor;
    private readonly bool _yields;

    internal ReactorAwaitable(Reactor reactor, bool yields = false)
    {
        _reactor = reactor;
        _yields = yields;
    }

    /// <summary>Whether the caller need not leave: it is on the reactor's thread already, and does not yield.</summary>
    public bool IsCompleted => !_yields && _reactor.IsReactorThread;

    /// <summary>Awaiter pattern.</summary>
    public ReactorAwaitable GetAwaiter() => this;

    /// <summary>Awaiter pattern.</summary>
    /// <exception cref="ObjectDisposedException">The reactor has ended.</exception>
    /// <exception cref="InvalidOperationException">The continuation was run on another thread.</exception>
    public void GetResult()
    {
        ObjectDisposedException.ThrowIf(!_reactor.IsReactorThread && _reactor.HasEnded, _reactor);
        _reactor.AssertReactorThread();
    }

    /// <summary>Awaiter pattern.</summary>
    public void OnCompleted(Action continuation) => UnsafeOnCompleted(continuation);

    /// <summary>Awaiter pattern.</summary>
    public void UnsafeOnCompleted(Action continuation)
    {
        if (_yields)
        {
            _reactor.Postpone(continuation);
        }
        else
        {
            _reactor.PostContinuation(Run, continuation);
        }
    }
}
