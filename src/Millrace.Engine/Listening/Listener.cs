using System.Net;
using Millrace.Engine.Listening;

namespace Millrace.Engine;

/// <summary>An address that a <see cref="ReactorGroup"/> accepts connections on. Any thread.</summary>
public sealed class Listener
{
    private readonly IReadOnlyList<(Reactor Reactor, Acceptor Acceptor)> _acceptors;
    private readonly EngineLog _log;
    private readonly (string Path, DateTime CreatedAt)? _file;

    internal Listener(EndPoint endPoint, IReadOnlyList<(Reactor, Acceptor)> acceptors, EngineLog log, SocketOwner owner)
    {
        _log = log;
        EndPoint = endPoint;
        _acceptors = acceptors;
        if (owner == SocketOwner.Listener && SocketEndPoint.FilePathOf(endPoint) is { } path && File.Exists(path))
        {
            _file = (path, File.GetCreationTimeUtc(path));
        }
    }

    /// <summary>The address as bound: a port asked for as 0 is the one that was given.</summary>
    public EndPoint EndPoint { get; }

    /// <summary>
    /// Stops accepting: connections that the kernel has queued are still served, later ones refused. Those of a socket that was handed
    /// over wait for who listens there next.
    /// </summary>
    public async Task StopAsync()
    {
        foreach ((Reactor reactor, Acceptor acceptor) in _acceptors)
        {
            reactor.Post(static state => ((Acceptor)state!).Stop(), acceptor);
        }

        foreach ((_, Acceptor acceptor) in _acceptors)
        {
            await acceptor.Stopped.ConfigureAwait(false);
        }

        RemoveFile();
    }

    private void RemoveFile()
    {
        try
        {
            // Only our own file: another process may have taken the path over meanwhile.
            if (_file is { } file && File.Exists(file.Path) && File.GetCreationTimeUtc(file.Path) == file.CreatedAt)
            {
                File.Delete(file.Path);
            }
        }
        catch (Exception error) when (error is IOException or UnauthorizedAccessException)
        {
            // A file that stays is in nobody's way: who listens there next removes it.
            _log.SocketFileLeft(EndPoint, error.Message);
        }
    }
}
