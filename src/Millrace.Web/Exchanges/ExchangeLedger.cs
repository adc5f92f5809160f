using Millrace.Engine;
using Millrace.Http;

namespace Millrace.Web.Exchanges;

/// <summary>
/// The exchanges of one reactor: rents their records, and tells the observer of each that is over. There is one only where somebody
/// observes. Nothing is allocated for a request once there are as many records as requests at a time. Reactor thread only.
/// </summary>
internal sealed class ExchangeLedger(IExchangeObserver observer)
{
    /// <summary>Kept for the next requests; a peak beyond is left to the collector.</summary>
    private const int KeptMax = 1_024;

    private readonly Stack<Exchange> _exchanges = new();
    private readonly Stack<PendingExchanges> _pending = new();

    /// <summary>The first byte of a request has come. Where no answer is owed in the end, <see cref="Drop"/> it.</summary>
    public Exchange Begin(Connection connection)
    {
        if (!_exchanges.TryPop(out Exchange? exchange))
        {
            exchange = new Exchange();
        }

        exchange.Begin(connection.KeepRemoteEndPoint());
        return exchange;
    }

    /// <summary>Nobody is told of it.</summary>
    public void Drop(Exchange exchange)
    {
        exchange.Trim();
        if (_exchanges.Count < KeptMax)
        {
            _exchanges.Push(exchange);
        }
    }

    /// <summary>
    /// From now on the exchange is told of in any case, after those that were added to the connection before: when its
    /// <see cref="Exchange.EndsAt"/> is handed over, or the connection is gone. The exchange is the ledger's then.
    /// </summary>
    public void Add(Connection connection, Exchange exchange)
    {
        if (connection.Witness is not PendingExchanges pending)
        {
            pending = _pending.TryPop(out PendingExchanges? kept) ? kept : new PendingExchanges(this);
            connection.Witness = pending;
        }

        pending.Add(exchange);
    }

    /// <summary>A request of HTTP/1.1 is there, in the connection's input, and is answered next.</summary>
    public void Take(Connection connection, Exchange exchange, RequestHead head)
    {
        exchange.Protocol = ExchangeProtocols.Of(head.Version);
        exchange.Take(head, connection.Input);
        Add(connection, exchange);
    }

    /// <summary>The same where it may have turned out to be none.</summary>
    public void Take(Connection connection, Exchange exchange, RequestHead head, HeadResult result)
    {
        if (result.IsComplete)
        {
            Take(connection, exchange, head);
        }
        else
        {
            exchange.TakeRefused(head, connection.Input);
            Add(connection, exchange);
        }
    }

    /// <summary>All of an answer of HTTP/1.1 is written, or no more of it will be. Nothing where nobody observes.</summary>
    public static void End(Connection connection, ref Exchange? exchange)
    {
        if (exchange is null)
        {
            return;
        }

        exchange.EndWhereItIs(connection);
        exchange = null;

        // It may be with the kernel already.
        connection.Witness?.OnHandedOver(connection);
    }

    /// <summary>The same of an answer of HTTP/2, which is written among others; it is the ledger's from now on.</summary>
    public void End(Connection connection, Exchange exchange, AnswerEnd end)
    {
        exchange.End(connection.WrittenBytes, connection.HasLostOutput ? AnswerEnd.Cut : end);
        Add(connection, exchange);
        connection.Witness?.OnHandedOver(connection);
    }

    /// <summary>An exchange is over.</summary>
    internal void Tell(Exchange exchange, long handedBytes)
    {
        exchange.Settle(handedBytes);
        observer.OnFinished(exchange);
        Drop(exchange);
    }

    internal void Return(PendingExchanges pending)
    {
        if (_pending.Count < KeptMax)
        {
            _pending.Push(pending);
        }
    }
}
