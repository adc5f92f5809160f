using System.Net;
using Millrace.Engine.Listening;

namespace Millrace.Engine;

/// <summary>An address that a <see cref="ReactorGroup"/> accepts connections on. Any thread.</summary>
public sealed class Listener
{
    private readonly IReadOnlyList<Acceptor> _acceptors;
    private readonly EngineLog _log;

    /// <summary>Called when all acceptors have stopped, on any thread, once for each stop.</summary>
    private readonly Action<Listener> _forget;
    private readonly (string Path, DateTime CreatedAt)? _file;

    internal Listener(
        EndPoint endPoint,
        IReadOnlyList<Acceptor> acceptors,
        EngineLog log,
        SocketOwner owner,
        Action<Listener> forget)
    {
        _log = log;
        _forget = forget;
        EndPoint = endPoint;
        _acceptors = acceptors;
        if (owner == SocketOwner.Listener && SocketEndPoint.FilePathOf(endPoint) is { } path && File.Exists(path))
        {
            _file = (path, File.GetCreationTimeUtc(path));
        }
    }

    /// <summary>The address as bound: port 0 is replaced by the assigned port.</summary>
    public EndPoint EndPoint { get; }

    /// <summary>
    /// Stops accepting: connections that the kernel has queued are still served, later ones are refused. The queue of an inherited socket
    /// is left to its next user.
    /// </summary>
    public Task StopAsync() => StopAsync(TimeSpan.Zero);

    /// <summary>
    /// The same, but clients that have begun a handshake get this long to complete it, and are served. Others reach another listener of
    /// their address meanwhile, or are refused.
    /// </summary>
    internal async Task StopAsync(TimeSpan handshakes)
    {
        // All in one go: the kernel may select any socket of the address as long as it has one that takes connects.
        bool[] haveEnded = [.. _acceptors.Select(static acceptor => acceptor.TryEndConnects())];
        if (handshakes > TimeSpan.Zero && haveEnded.Contains(true))
        {
            Task stopped = Task.WhenAll(_acceptors.Select(static acceptor => acceptor.Stopped));
            await Task.WhenAny(stopped, Task.Delay(handshakes)).ConfigureAwait(false);
        }

        await Task.WhenAll(_acceptors.Select(static acceptor => acceptor.StopAsync())).ConfigureAwait(false);
        RemoveFile();
        _forget(this);
    }

    private void RemoveFile()
    {
        try
        {
            // Only its own file: another process may have taken over the path meanwhile.
            if (_file is { } file && File.Exists(file.Path) && File.GetCreationTimeUtc(file.Path) == file.CreatedAt)
            {
                File.Delete(file.Path);
            }
        }
        catch (Exception error) when (error is IOException or UnauthorizedAccessException)
        {
            // A file that stays does no harm: the next listener removes it.
            _log.SocketFileLeft(EndPoint, error.Message);
        }
    }
}
