using Millrace.HttpServer.Exchanges;
using Millrace.Server.AccessLog.Formats;
using Millrace.Server.Proxies;

namespace Millrace.Server.AccessLog;

/// <summary>
/// Writes a line for each exchange of one reactor into its ring. Reactor thread; never waits, and allocates only the client address that
/// a proxy has reported.
/// </summary>
internal sealed class AccessLogObserver(AccessLogger logger, ILineFormat format, ClientFinder clients, LineRing ring) : IExchangeObserver
{
    private readonly LineBuffer _line = new();

    public void OnFinished(HttpExchange exchange)
    {
        _line.Clear();
        format.Write(_line, exchange, clients.Of(exchange));
        _line.Add((byte)'\n');
        logger.OnAdded(ring.Add(_line.Bytes));
    }
}
