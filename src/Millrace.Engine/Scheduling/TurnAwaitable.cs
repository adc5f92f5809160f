using System.Runtime.CompilerServices;

namespace Millrace.Engine;

/// <summary>Awaited to continue in a reactor's next turn; see <see cref="Reactor.NextTurn"/>.</summary>
#pragma warning disable CA1815 // Nobody compares awaitables.
public readonly struct TurnAwaitable : ICriticalNotifyCompletion
#pragma warning restore CA1815
{
    private readonly HomeAwaitable _home;

    internal TurnAwaitable(Reactor reactor) => _home = reactor.SwitchTo();

    /// <summary>Never: the present turn is to be left.</summary>
    public bool IsCompleted => false;

    /// <summary>For the compiler.</summary>
    public TurnAwaitable GetAwaiter() => this;

    /// <summary>For the compiler.</summary>
    /// <exception cref="ObjectDisposedException">The reactor has ended.</exception>
    public void GetResult() => _home.GetResult();

    /// <summary>For the compiler.</summary>
    public void OnCompleted(Action continuation) => _home.OnCompleted(continuation);

    /// <summary>For the compiler.</summary>
    public void UnsafeOnCompleted(Action continuation) => _home.UnsafeOnCompleted(continuation);
}
