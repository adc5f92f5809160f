using Millrace.Engine;
using Millrace.Engine.Connections;

namespace Millrace.Web.Exchanges;

/// <summary>
/// The exchanges of one connection whose answers are not all with the kernel, in the order in which they end. On the connection only
/// while there are any: one that waits for its next request holds none. Reactor thread only.
/// </summary>
internal sealed class PendingExchanges(ExchangeLedger ledger) : IOutputWitness
{
    private Exchange? _first;
    private Exchange? _last;

    public void Add(Exchange exchange)
    {
        exchange.Next = null;
        if (_last is null)
        {
            _first = exchange;
        }
        else
        {
            _last.Next = exchange;
        }

        _last = exchange;
    }

    public void OnHandedOver(Connection connection)
    {
        long handed = connection.HandedBytes;
        while (_first is { } exchange && exchange.EndsAt <= handed)
        {
            TellFirst(handed);
        }

        LeaveIfEmpty(connection);
    }

    public void OnGone(Connection connection)
    {
        while (_first is not null)
        {
            TellFirst(connection.HandedBytes);
        }

        LeaveIfEmpty(connection);
    }

    private void TellFirst(long handedBytes)
    {
        Exchange exchange = _first!;
        _first = exchange.Next;
        _last = _first is null ? null : _last;
        ledger.Tell(exchange, handedBytes);
    }

    private void LeaveIfEmpty(Connection connection)
    {
        if (_first is null)
        {
            connection.Witness = null;
            ledger.Return(this);
        }
    }
}
