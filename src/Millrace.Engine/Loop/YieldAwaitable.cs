using System.Runtime.CompilerServices;

namespace Millrace.Engine;

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
