using Millrace.Server.AccessLog.Formats;
using Millrace.Server.Proxies;
using Millrace.Web.Exchanges;

namespace Millrace.Server.AccessLog;

/// <summary>Writes a line for each exchange of one reactor, into its ring. Reactor thread; never waits, and allocates
/// nothing but the address that a proxy has named.</summary>
internal sealed class AccessLogObserver(AccessJournal journal, ILineFormat format, ClientFinder clients, LineRing ring) : IExchangeObserver
{
    private readonly LineBuffer _line = new();

    public void OnFinished(Exchange exchange)
    {
        _line.Clear();
        format.Write(_line, exchange, clients.Of(exchange));
        _line.Add((byte)'\n');
        journal.OnAdded(ring.Add(_line.Bytes));
    }
}
