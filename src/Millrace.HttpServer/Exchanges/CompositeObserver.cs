using Millrace.Engine;

namespace Millrace.HttpServer.Exchanges;

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
