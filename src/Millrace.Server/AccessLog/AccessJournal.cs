using Microsoft.Extensions.Logging;
using Millrace.Engine;
using Millrace.Interop;
using Millrace.Server.AccessLog.Formats;
using Millrace.Server.AccessLog.Sinks;
using Millrace.Server.Proxies;
using Millrace.Server.Service;
using Millrace.Web.Exchanges;

namespace Millrace.Server.AccessLog;

/// <summary>
/// The access log: one line for every request. Reactors write theirs into rings of their own (<see cref="LineRing"/>), and a thread brings
/// them to where they are kept (<see cref="LineWriter"/>): nothing that happens there holds up a request. Lines of one connection are in
/// their order.
/// </summary>
internal sealed class AccessJournal : IDisposable, IThreadPoolWorkItem
{
    /// <summary>Of each reactor: some five thousand lines, what it answers while a disk is busy with something else.</summary>
    private const int RingBytes = 1024 * 1024;

    /// <summary>Five texts of a client's, escaped, and what is ours.</summary>
    private const int LineBytesMax = (5 * LineText.BytesMax * LineText.EscapedBytesMax) + 1024;

    private const int DropLinePauseMs = 1_000;

    /// <summary>A disk that is busy has had its time by then; a reader that has stopped never takes more.</summary>
    private static readonly TimeSpan EndPatience = TimeSpan.FromSeconds(5);

    private readonly AccessLogFormat _format;
    private readonly ClientFinder _clients;
    private readonly ILogSink _sink;
    private readonly AccessLogNotices _notices;
    private readonly Lock _telling = new();
    private readonly LinePace _dropLines = new(DropLinePauseMs);
    private LineRing[] _rings = [];
    private LineWriter? _writer;
    private long _dropsTold;

    private AccessJournal(AccessLogFormat format, ClientFinder clients, ILogSink sink, AccessLogNotices notices)
    {
        _clients = clients;
        _format = format;
        _sink = sink;
        _notices = notices;
    }

    /// <summary>Lines that were dropped because they came faster than they could be kept. Any thread.</summary>
    public long Dropped => _rings.Sum(static ring => ring.Dropped);

    /// <summary>Attempts to write, or to open anew, that failed. Any thread.</summary>
    public long Faults => _writer?.Faults ?? 0;

    /// <summary>Whether it is a file that was made at the start, and given to the user who serves.</summary>
    public bool IsNew => _sink is FileSink { IsNew: true };

    /// <summary>Opens what is written to; null where no access log was asked for.</summary>
    /// <param name="options">Where, and how its lines are.</param>
    /// <param name="proxies">Who is believed about clients.</param>
    /// <param name="service">Who will serve, and so open it anew.</param>
    /// <param name="logging">Told of its faults.</param>
    /// <exception cref="AccessLogException">It cannot be had; the message says why.</exception>
    /// <exception cref="ServiceException">There is no such user.</exception>
    public static AccessJournal? Open(AccessLogOptions options, ProxyOptions proxies, ServiceOptions service, ILoggerFactory logging)
    {
        if (options.Destination is null)
        {
            return null;
        }

        ILogSink sink = LogDestination.Of(options.Destination, service.User is { } user ? ServiceUser.Find(user) : null);
        int result = sink.Open();
        if (result < 0)
        {
            sink.Dispose();
            throw new AccessLogException($"The access log cannot be opened at {sink.Name}: {Errno.Describe(result)}.");
        }

        var notices = new AccessLogNotices(logging.CreateLogger("Millrace.AccessLog"));
        return new AccessJournal(options.Format, new ClientFinder(proxies), sink, notices);
    }

    /// <summary>Begins to write, and gives what makes the observers of a group's reactors.</summary>
    public Func<Reactor, IExchangeObserver> Start(int reactors)
    {
        _rings = [.. Enumerable.Range(0, reactors).Select(static _ => new LineRing(RingBytes))];
        _writer = new LineWriter(_sink, _notices, _rings, LineBytesMax, EndPatience);
        return reactor => new AccessLogObserver(this, LineFormats.Make(_format), _clients, _rings[reactor.Index]);
    }

    /// <summary>What was a file has another name now, and lines are to go to a new one under the old name. Any thread.</summary>
    public void Reopen()
    {
        if (_sink is FileSink)
        {
            _writer?.Reopen();
        }
    }

    /// <summary>Writes what is left. The reactors have ended.</summary>
    public void Dispose()
    {
        if (_writer is null)
        {
            _sink.Dispose();
            return;
        }

        _writer.Dispose();
        TellOfDrops();
    }

    /// <summary>A line was added by a reactor, or dropped.</summary>
    internal void OnAdded(RingAddition addition)
    {
        if (addition == RingAddition.Added)
        {
            _writer!.Notify();
        }
        else if (addition == RingAddition.HalfFull)
        {
            _writer!.Hurry();
        }
        else if (_dropLines.Admits(Environment.TickCount64))
        {
            // Not here: whoever keeps the server's own log may be as slow.
            ThreadPool.UnsafeQueueUserWorkItem(this, preferLocal: false);
        }
    }

    void IThreadPoolWorkItem.Execute() => TellOfDrops();

    private void TellOfDrops()
    {
        lock (_telling)
        {
            long total = Dropped;
            if (total > _dropsTold)
            {
                _notices.Dropped(total - _dropsTold, total, _sink.Name);
                _dropsTold = total;
            }
        }
    }
}
