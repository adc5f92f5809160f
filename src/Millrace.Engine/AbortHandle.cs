namespace Millrace.Engine;

/// <summary>
/// Ends one connection from anywhere, at any time: a connection object serves one peer after the other, and this one means its
/// present peer for good. Any thread.
/// </summary>
#pragma warning disable CA1815 // Nobody compares handles.
public readonly struct AbortHandle
#pragma warning restore CA1815
{
    private static readonly Action<object?> AbortHome = static state =>
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

    /// <summary>Asks for <see cref="Connection.Abort"/>; nothing happens when the connection has ended.</summary>
    public void RequestAbort() => _connection.Reactor.Post(AbortHome, (_connection, _generation));
}
