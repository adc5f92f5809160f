using System.Globalization;
using System.Threading.Channels;
using Microsoft.Extensions.Logging;
using Millrace.Interop.Files;
using Millrace.Quic.Connections;
using Millrace.Server.Host;

namespace Millrace.Server.Http3;

/// <summary>
/// A folder of qlog files, one for each connection, for debugging. Reactors give pieces; one task writes them, so that no reactor waits for
/// a disk. What it cannot write in time is lost, as is what comes after an error; both are logged once. Any thread.
/// </summary>
internal sealed partial class QlogFolder : IDisposable
{
    /// <summary>Files of one process: after these, connections have none.</summary>
    private const int FilesMax = 1_000;

    /// <summary>Pieces that wait to be written, of 16 KiB each.</summary>
    private const int WaitingMax = 1_024;

    private static readonly TimeSpan FlushTimeout = TimeSpan.FromSeconds(5);

    private readonly Channel<QlogPiece> _waiting = Channel.CreateBounded<QlogPiece>(
        new BoundedChannelOptions(WaitingMax) { SingleReader = true, FullMode = BoundedChannelFullMode.Wait });

    private readonly string _folder;
    private readonly ILogger _log;
    private readonly Task _writing;
    private int _files;
    private int _hasFailed;

    private QlogFolder(string folder, ILogger log)
    {
        _folder = folder;
        _log = log;
        _writing = Task.Run(WriteAsync);
        Tracing(folder);
    }

    /// <summary>Null if no folder is configured.</summary>
    /// <exception cref="ServiceException">There is no such folder.</exception>
    public static QlogFolder? Open(string? folder, ILogger log) =>
        folder is null ? null
        : Directory.Exists(folder) ? new QlogFolder(folder, log)
        : throw new ServiceException($"The folder for qlog files '{folder}' does not exist: create it (--qlog).") { IsMistake = true };

    /// <summary>An observer of a new connection; null if there are too many files.</summary>
    public IConnectionTrace? Trace(QuicConnection connection)
    {
        if (Interlocked.Increment(ref _files) > FilesMax)
        {
            return null;
        }

        string time = DateTime.UtcNow.ToString("yyyyMMdd'T'HHmmss", CultureInfo.InvariantCulture);
        return new QlogTrace(connection, new QlogFile(this, Path.Combine(_folder, $"{time}-{QlogTrace.NameOf(connection)}.sqlog")));
    }

    /// <summary>Writes what waits, for some seconds at most.</summary>
    public void Dispose()
    {
        _waiting.Writer.Complete();
        _ = _writing.Wait(FlushTimeout);
    }

    internal void Add(in QlogPiece piece)
    {
        if (!_waiting.Writer.TryWrite(piece) && Interlocked.Exchange(ref _hasFailed, 1) == 0)
        {
            Lost(_folder, "they come faster than they can be written");
        }
    }

    /// <summary>Without a buffer, whose last bytes would be written, and could fail, while it is closed.</summary>
    private static FileStream Create(string path) => new(path, FileMode.CreateNew, FileAccess.Write, FileShare.Read, bufferSize: 0);

    private async Task WriteAsync()
    {
        var open = new Dictionary<QlogFile, FileStream?>();
        await foreach (QlogPiece piece in _waiting.Reader.ReadAllAsync())
        {
            try
            {
                if (!open.TryGetValue(piece.File, out FileStream? stream))
                {
                    open[piece.File] = null;
                    open[piece.File] = stream = Create(piece.File.Path);
                }

                stream?.Write(piece.Bytes);
                if (piece.IsLast)
                {
                    stream?.Dispose();
                    open.Remove(piece.File);
                }
            }
            catch (Exception failure) when (failure is IOException or UnauthorizedAccessException)
            {
                open[piece.File]?.Dispose();
                open[piece.File] = null;
                if (Interlocked.Exchange(ref _hasFailed, 1) == 0)
                {
                    Lost(_folder, FileProblem.Of(piece.File.Path, failure));
                }
            }
        }

        foreach (FileStream? left in open.Values)
        {
            left?.Dispose();
        }
    }

    [LoggerMessage(700, LogLevel.Warning,
        "The events of QUIC connections are written to {Folder} (qlog), which costs time and disk space.")]
    private partial void Tracing(string folder);

    [LoggerMessage(701, LogLevel.Error, "Events of QUIC connections are not written to {Folder}: {Reason}.")]
    private partial void Lost(string folder, string reason);
}

/// <summary>A piece of a file.</summary>
internal readonly record struct QlogPiece(QlogFile File, byte[] Bytes, bool IsLast);

/// <summary>The file of one connection. The connection's thread.</summary>
internal sealed class QlogFile(QlogFolder folder, string path)
{
    public string Path => path;

    public void Write(byte[] bytes) => folder.Add(new QlogPiece(this, bytes, IsLast: false));

    public void Close() => folder.Add(new QlogPiece(this, [], IsLast: true));
}
