namespace Millrace.Engine;

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
