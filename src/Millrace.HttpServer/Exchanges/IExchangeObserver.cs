using Millrace.Engine;

namespace Millrace.HttpServer.Exchanges;

/// <summary>
/// Is notified of every finished request, answered or not, when the kernel has taken the last byte of its response or will take no more.
/// Each reactor has its own observer, which is called only on the reactor's thread: it needs no lock, and must neither wait nor throw.
/// </summary>
internal interface IExchangeObserver
{
    /// <param name="exchange">Valid only during the call: it is reused for another request.</param>
    void OnFinished(HttpExchange exchange);
}

/// <summary>Notifies several observers of one reactor, in order.</summary>
internal sealed class CompositeObserver(IReadOnlyList<IExchangeObserver> observers) : IExchangeObserver
{
    private readonly IExchangeObserver[] _observers = [.. observers];

    /// <summary>The factory that combines these factories; null if there are none.</summary>
    public static Func<Reactor, IExchangeObserver>? Join(params Func<Reactor, IExchangeObserver>?[] makers) =>
        makers.OfType<Func<Reactor, IExchangeObserver>>().ToArray() switch
        {
            [] => null,
            [var only] => only,
            var several => reactor => new CompositeObserver([.. several.Select(make => make(reactor))]),
        };

    public void OnFinished(HttpExchange exchange)
    {
        foreach (IExchangeObserver observer in _observers)
        {
            observer.OnFinished(exchange);
        }
    }
}
