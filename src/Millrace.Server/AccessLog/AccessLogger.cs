using Microsoft.Extensions.Logging;
using Millrace.Engine;
using Millrace.HttpServer.Clients;
using Millrace.HttpServer.Exchanges;
using Millrace.Interop;
using Millrace.Interop.Files;
using Millrace.Server.Host;

namespace Millrace.Server.AccessLog;

/// <summary>
/// The access log: one line per request. Reactors write lines into rings of their own (<see cref="LineRing"/>), and a thread writes them to
/// their destination (<see cref="LineWriter"/>): a slow destination never delays a request. Lines of one connection keep their order.
/// </summary>
internal sealed class AccessLogger(AccessLogFormat format, ClientFinder clients, ILogSink sink, AccessLogEvents events)
    : IDisposable, IThreadPoolWorkItem
{
    /// <summary>Per reactor: about five thousand lines, as many as it produces while a disk is briefly busy.</summary>
    private const int RingBytes = 1024 * 1024;

    /// <summary>Five escaped texts of a client, and the server's own fields.</summary>
    private const int LineBytesMax = (5 * LineBuffer.TextBytesMax * LineBuffer.EscapedBytesMax) + 1024;

    private const int DropLinePauseMs = 1_000;

    /// <summary>A busy disk has recovered by then; a reader that has stopped never does.</summary>
    private static readonly TimeSpan FlushTimeout = TimeSpan.FromSeconds(5);

    private readonly Lock _reportLock = new();
    private readonly LogRateLimiter _dropLines = new(DropLinePauseMs);
    private LineRing[] _rings = [];
    private LineWriter? _writer;
    private long _dropsReported;

    /// <summary>Lines dropped because they arrived faster than they could be written. Any thread.</summary>
    public long Dropped => _rings.Sum(static ring => ring.Dropped);

    /// <summary>Whether the file was created at the start, and given to the user who serves.</summary>
    public bool IsNew => sink is FileSink { IsNew: true };

    /// <summary>Opens the destination; null if no access log is configured.</summary>
    /// <exception cref="AccessLogException">The log cannot be opened; the message says why.</exception>
    /// <exception cref="ServiceException">There is no such user.</exception>
    public static AccessLogger? Open(AccessLogOptions options, ClientOptions clients, ServiceOptions service, ILoggerFactory logging)
    {
        if (options.Destination is null)
        {
            return null;
        }

        ILogSink opened = LogDestination.Of(options.Destination, service.User is { } user ? ServiceUser.Find(user) : null);
        int result = opened.Open();
        if (result < 0)
        {
            opened.Dispose();
            throw new AccessLogException(LogDestination.Describe(opened.Name, options.Destination, result))
            {
                IsMistake = LogDestination.PathAt(options.Destination) >= 0 && FileProblem.IsMistake(result),
            };
        }

        return new AccessLogger(
            options.Format, new ClientFinder(clients), opened, new AccessLogEvents(logging.CreateLogger("Millrace.AccessLog")));
    }

    /// <summary>Starts writing, and returns the factory of observers for the reactors of a group.</summary>
    public Func<Reactor, Action<HttpExchange>> Start(int reactors)
    {
        _rings = [.. Enumerable.Range(0, reactors).Select(static _ => new LineRing(RingBytes))];
        _writer = new LineWriter(sink, events, _rings, LineBytesMax, FlushTimeout);
        return reactor => new AccessLogObserver(this, new LineFormat(format), clients, _rings[reactor.Index]).OnFinished;
    }

    /// <summary>Reopens a file that has been renamed: further lines go to a new file under the original name. Any thread.</summary>
    public void Reopen()
    {
        if (sink is FileSink)
        {
            _writer?.Reopen();
        }
    }

    /// <summary>Writes the remaining lines. The reactors must have ended.</summary>
    public void Dispose()
    {
        if (_writer is null)
        {
            sink.Dispose();
            return;
        }

        _writer.Dispose();
        ReportOfDrops();
    }

    /// <summary>Called when a reactor has added or dropped a line.</summary>
    internal void OnAdded(RingAddResult addition)
    {
        if (addition == RingAddResult.Added)
        {
            _writer!.Notify();
        }
        else if (addition == RingAddResult.HalfFull)
        {
            _writer!.Hurry();
        }
        else if (_dropLines.Admits(Environment.TickCount64))
        {
            // Not on the reactor: the server's own log may be slow too.
            ThreadPool.UnsafeQueueUserWorkItem(this, preferLocal: false);
        }
    }

    void IThreadPoolWorkItem.Execute() => ReportOfDrops();

    private void ReportOfDrops()
    {
        lock (_reportLock)
        {
            long total = Dropped;
            if (total > _dropsReported)
            {
                events.Dropped(total - _dropsReported, total, sink.Name);
                _dropsReported = total;
            }
        }
    }
}

/// <summary>
/// Writes a line for each exchange of one reactor into its ring. Reactor thread; never waits, and allocates only the client address that
/// a proxy has reported.
/// </summary>
internal sealed class AccessLogObserver(AccessLogger logger, LineFormat format, ClientFinder clients, LineRing ring)
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

internal sealed record AccessLogOptions
{
    /// <summary>A file's path, <c>-</c> for standard output, or <c>syslog</c>, optionally with a socket's path; null for none.</summary>
    public string? Destination { get; init; }

    public AccessLogFormat Format { get; init; } = AccessLogFormat.Combined;
}

internal enum AccessLogFormat
{
    /// <summary>NCSA common: client, time, request line, status, bytes.</summary>
    Common,

    /// <summary>Common with Referer and User-Agent.</summary>
    Combined,

    /// <summary>One JSON object per line, with all fields.</summary>
    Json,
}

/// <summary>The access log cannot be opened; the message names cause and remedy.</summary>
internal sealed class AccessLogException(string message) : Exception(message)
{
    /// <summary>Whether its path is wrong, as opposed to a refusal of the host.</summary>
    public bool IsMistake { get; init; }
}
