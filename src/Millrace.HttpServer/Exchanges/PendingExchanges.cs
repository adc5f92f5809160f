using Millrace.Engine;
using Millrace.Engine.Connections;

namespace Millrace.HttpServer.Exchanges;

/// <summary>
/// The exchanges of one connection whose responses the kernel has not taken completely, in the order of their ends. It is attached to the
/// connection only while there are any: an idle connection holds none. Reactor thread only.
/// </summary>
internal sealed class PendingExchanges(ExchangeRecorder recorder) : IOutputObserver
{
    private HttpExchange? _first;
    private HttpExchange? _last;

    public int Count { get; private set; }

    public void Add(HttpExchange exchange)
    {
        Count++;
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

    public void OnTransferred(Connection connection)
    {
        long transferred = connection.TransferredBytes;
        while (_first is { } exchange && exchange.EndsAt <= transferred)
        {
            ReportFirst(transferred);
        }

        LeaveIfEmpty(connection);
    }

    public void OnGone(Connection connection)
    {
        while (_first is not null)
        {
            ReportFirst(connection.TransferredBytes);
        }

        LeaveIfEmpty(connection);
    }

    private void ReportFirst(long transferredBytes)
    {
        HttpExchange exchange = _first!;
        Count--;
        _first = exchange.Next;
        _last = _first is null ? null : _last;
        recorder.Report(exchange, transferredBytes);
    }

    private void LeaveIfEmpty(Connection connection)
    {
        if (_first is null)
        {
            connection.Observer = null;
            recorder.Return(this);
        }
    }
}
