using Millrace.Engine;
using Millrace.Engine.Connections;

namespace Millrace.HttpServer.Exchanges;

/// <summary>
/// The exchanges of one connection whose responses the kernel has not taken completely, in the order of their ends. It is attached to the
/// connection only while there are any: an idle connection holds none. Reactor thread only.
/// </summary>
internal sealed class PendingExchanges(ExchangeRecorder recorder) : IOutputObserver
{
    private readonly Queue<HttpExchange> _exchanges = new();

    public int Count => _exchanges.Count;

    public void Add(HttpExchange exchange) => _exchanges.Enqueue(exchange);

    public void OnTransferred(Connection connection)
    {
        long transferred = connection.TransferredBytes;
        while (_exchanges.TryPeek(out HttpExchange? exchange) && exchange.EndsAt <= transferred)
        {
            recorder.Report(_exchanges.Dequeue(), transferred);
        }

        LeaveIfEmpty(connection);
    }

    public void OnGone(Connection connection)
    {
        while (_exchanges.TryDequeue(out HttpExchange? exchange))
        {
            recorder.Report(exchange, connection.TransferredBytes);
        }

        LeaveIfEmpty(connection);
    }

    private void LeaveIfEmpty(Connection connection)
    {
        if (_exchanges.Count == 0)
        {
            connection.Observer = null;
            recorder.Return(this);
        }
    }
}
