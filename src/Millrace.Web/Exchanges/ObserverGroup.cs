using Millrace.Engine;

namespace Millrace.Web.Exchanges;

/// <summary>Several observers of one reactor, told in their order.</summary>
internal sealed class ObserverGroup(IReadOnlyList<IExchangeObserver> observers) : IExchangeObserver
{
    private readonly IExchangeObserver[] _observers = [.. observers];

    /// <summary>What makes a reactor's observer of those that there are; null where there is none.</summary>
    public static Func<Reactor, IExchangeObserver>? Join(params Func<Reactor, IExchangeObserver>?[] makers) =>
        makers.OfType<Func<Reactor, IExchangeObserver>>().ToArray() switch
        {
            [] => null,
            [var only] => only,
            var several => reactor => new ObserverGroup([.. several.Select(make => make(reactor))]),
        };

    public void OnFinished(Exchange exchange)
    {
        foreach (IExchangeObserver observer in _observers)
        {
            observer.OnFinished(exchange);
        }
    }
}
