using System.Runtime.CompilerServices;

namespace Millrace.Engine;

/// <summary>Awaited to continue on a reactor's thread; see <see cref="Reactor.SwitchTo"/>. Completes at once on that thread.</summary>
#pragma warning disable CA1815 // Nobody compares awaitables.
public readonly struct HomeAwaitable : ICriticalNotifyCompletion
#pragma warning restore CA1815
{
    private static readonly Action<object?> Run = static continuation => ((Action)continuation!)();

    private readonly Reactor _reactor;

    internal HomeAwaitable(Reactor reactor) => _reactor = reactor;

    /// <summary>Whether the caller is at home already.</summary>
    public bool IsCompleted => _reactor.IsHome;

    /// <summary>For the compiler.</summary>
    public HomeAwaitable GetAwaiter() => this;

    /// <summary>For the compiler.</summary>
    /// <exception cref="ObjectDisposedException">The reactor has ended.</exception>
    /// <exception cref="InvalidOperationException">The continuation was run elsewhere.</exception>
    public void GetResult()
    {
        ObjectDisposedException.ThrowIf(!_reactor.IsHome && _reactor.HasEnded, _reactor);
        _reactor.AssertHome();
    }

    /// <summary>For the compiler.</summary>
    public void OnCompleted(Action continuation) => _reactor.PostContinuation(Run, continuation);

    /// <summary>For the compiler.</summary>
    public void UnsafeOnCompleted(Action continuation) => _reactor.PostContinuation(Run, continuation);
}
