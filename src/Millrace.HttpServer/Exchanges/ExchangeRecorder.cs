using Millrace.Engine;
using Millrace.Engine.Connections;
using Millrace.Http;

namespace Millrace.HttpServer.Exchanges;

/// <summary>
/// Records the exchanges of one reactor: rents their records and reports each finished one to the observer. It exists only if there is an
/// observer. It allocates nothing for a request once there is a record for each concurrent request. Reactor thread only.
/// </summary>
/// <param name="observer">
/// Is called for every finished request, answered or not, when the kernel has taken the last byte of its response or will take no more, on
/// the reactor's thread: it must neither wait nor throw. The exchange is valid only during the call: it is reused for another request.
/// </param>
internal sealed class ExchangeRecorder(Action<HttpExchange> observer)
{
    /// <summary>Records kept for reuse; the garbage collector takes more than these.</summary>
    private const int KeptMax = 1_024;

    /// <summary>
    /// Exchanges of one connection whose responses wait to be sent, at about a kilobyte each; beyond this number no request is taken.
    /// Otherwise thousands of small responses would fit in the limit on unsent bytes.
    /// </summary>
    public const int PendingMax = 256;

    private readonly Stack<HttpExchange> _exchanges = new();
    private readonly Stack<PendingExchanges> _pending = new();

    /// <summary>Begins a record at the first byte of a request. <see cref="Drop"/> it if no response is due.</summary>
    public HttpExchange Begin(IClientConnection connection)
    {
        if (!_exchanges.TryPop(out HttpExchange? exchange))
        {
            exchange = new HttpExchange();
        }

        exchange.Begin(connection.KeepRemoteEndPoint(), connection);
        return exchange;
    }

    /// <summary>
    /// Whether a connection has so many unfinished exchanges that it must take no request before some of its output, of which there is some
    /// in this case, is sent.
    /// </summary>
    public static bool IsFull(Connection connection) =>
        connection.Observer is PendingExchanges { Count: >= PendingMax } && connection.UnsentBytes > 0;

    /// <summary>Returns a record without reporting it.</summary>
    public void Drop(HttpExchange exchange)
    {
        exchange.Release();
        if (_exchanges.Count < KeptMax)
        {
            _exchanges.Push(exchange);
        }
    }

    /// <summary>
    /// Takes ownership of the exchange and guarantees that it is reported, after those added to the connection before: when the output up
    /// to <see cref="HttpExchange.EndsAt"/> is taken by the kernel, or the connection is gone.
    /// </summary>
    public void Add(Connection connection, HttpExchange exchange)
    {
        if (connection.Observer is not PendingExchanges pending)
        {
            pending = _pending.TryPop(out PendingExchanges? kept) ? kept : new PendingExchanges(this);
            connection.Observer = pending;
        }

        pending.Add(exchange);
    }

    /// <summary>
    /// Records an HTTP/1.1 request that is in the connection's input and is answered next, or what is there of one that is not complete.
    /// </summary>
    public void Record(Connection connection, HttpExchange exchange, RequestHead head, bool isComplete)
    {
        exchange.Protocol = isComplete ? head.Version : exchange.Protocol;
        exchange.Take(head, connection.Input, isRefused: !isComplete);
        Add(connection, exchange);
    }

    /// <summary>
    /// Ends the record of an HTTP/1.1 response: it is written completely, or no more of it will be. No effect if there is no observer.
    /// </summary>
    public static void End(Connection connection, ref HttpExchange? exchange)
    {
        if (exchange is null)
        {
            return;
        }

        exchange.EndAtWrittenBytes(connection);
        exchange = null;

        // The kernel may have taken it already.
        connection.Observer?.OnTransferred(connection);
    }

    /// <summary>Ends the record of an HTTP/2 response, which is written among others, and takes ownership of it.</summary>
    public void End(Connection connection, HttpExchange exchange, ResponseEnd end)
    {
        exchange.End(connection.WrittenBytes, connection.Writer.IsLost ? ResponseEnd.Cut : end);
        Add(connection, exchange);
        connection.Observer?.OnTransferred(connection);
    }

    internal void Report(HttpExchange exchange, long transferredBytes)
    {
        exchange.Complete(transferredBytes);
        observer(exchange);
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
