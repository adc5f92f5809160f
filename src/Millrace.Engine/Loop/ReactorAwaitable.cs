using System.Runtime.CompilerServices;

namespace Millrace.Engine;

/// <summary>Awaited to continue on a reactor's thread; see <see cref="Reactor.SwitchTo"/>. Completes at once on that thread.</summary>
#pragma warning disable CA1815 // Awaitables are not compared.
public readonly struct ReactorAwaitable : ICriticalNotifyCompletion
#pragma warning restore CA1815
{
    private static readonly Action<object?> Run = static continuation => ((Action)continuation!)();

    private readonly Reactor _reactor;

    internal ReactorAwaitable(Reactor reactor) => _reactor = reactor;

    /// <summary>Whether the caller is on the reactor's thread already.</summary>
    public bool IsCompleted => _reactor.IsReactorThread;

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
    public void OnCompleted(Action continuation) => _reactor.PostContinuation(Run, continuation);

    /// <summary>Awaiter pattern.</summary>
    public void UnsafeOnCompleted(Action continuation) => _reactor.PostContinuation(Run, continuation);
}

/// <summary>Awaited to continue in a reactor's next iteration; see <see cref="Reactor.Yield"/>.</summary>
#pragma warning disable CA1815 // Awaitables are not compared.
public readonly struct YieldAwaitable : ICriticalNotifyCompletion
#pragma warning restore CA1815
{
    private readonly Reactor _reactor;

    internal YieldAwaitable(Reactor reactor) => _reactor = reactor;

    /// <summary>Never: the continuation must leave the current iteration.</summary>
    public bool IsCompleted => false;

    /// <summary>Awaiter pattern.</summary>
    public YieldAwaitable GetAwaiter() => this;

    /// <summary>Awaiter pattern.</summary>
    /// <exception cref="ObjectDisposedException">The reactor has ended.</exception>
    public void GetResult() => _reactor.SwitchTo().GetResult();

    /// <summary>Awaiter pattern.</summary>
    public void OnCompleted(Action continuation) => _reactor.Postpone(continuation);

    /// <summary>Awaiter pattern.</summary>
    public void UnsafeOnCompleted(Action continuation) => _reactor.Postpone(continuation);
}
