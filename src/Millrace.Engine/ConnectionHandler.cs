namespace Millrace.Engine;

/// <summary>
/// Serves one connection from its first byte to its last. Starts on the reactor's thread, without ambient values
/// (<see cref="AsyncLocal{T}"/>). When the task completes, the connection is closed in order; when it fails, the connection is reset and
/// the exception logged.
/// </summary>
public delegate Task ConnectionHandler(Connection connection);

/// <summary>
/// Aborts one connection from any thread at any time. A connection object serves one peer after another; this handle stands for its present
/// peer only.
/// </summary>
#pragma warning disable CA1815 // Handles are not compared.
public readonly struct AbortHandle
#pragma warning restore CA1815
{
    private static readonly Action<object?> AbortOnReactor = static state =>
    {
        var (connection, generation) = ((Connection, uint))state!;
        if (connection.Generation == generation)
        {
            connection.Abort();
        }
    };

    private readonly Connection _connection;
    private readonly uint _generation;

    internal AbortHandle(Connection connection, uint generation)
    {
        _connection = connection;
        _generation = generation;
    }

    /// <summary>Posts <see cref="Connection.Abort"/>; does nothing if the connection has ended. Any thread.</summary>
    public void RequestAbort() => _connection.Reactor.Post(AbortOnReactor, (_connection, _generation));
}

/// <summary>How a wait for input ended.</summary>
public enum ReadOutcome
{
    /// <summary>There are bytes in <see cref="Connection.Input"/> that the handler has not seen.</summary>
    Data,

    /// <summary>The peer has sent its last byte; what it sent before is in <see cref="Connection.Input"/>. It may still read.</summary>
    End,

    /// <summary>The connection is broken: reset by the peer, or aborted locally.</summary>
    Reset,

    /// <summary>The handler's deadline has passed. The connection is unchanged.</summary>
    TimedOut,

    /// <summary>Only from <see cref="Connection.ReadIdleAsync"/>: the group stops, and no byte of a next request had arrived.</summary>
    Draining,
}

/// <summary>How a flush ended.</summary>
public enum FlushOutcome
{
    /// <summary>The kernel has everything (for a pipe: all but its limit of unsent bytes).</summary>
    Sent,

    /// <summary>The peer is gone or the connection was aborted; further output is dropped.</summary>
    Closed,
}
