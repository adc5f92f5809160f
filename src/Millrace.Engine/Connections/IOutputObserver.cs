namespace Millrace.Engine.Connections;

/// <summary>
/// Observes the output progress of a connection. Reactor thread; must not throw, and must not change the connection.
/// </summary>
internal interface IOutputObserver
{
    /// <summary>A send has ended: the kernel has all of <see cref="Connection.TransferredBytes"/>.</summary>
    void OnTransferred(Connection connection);

    /// <summary>The connection is gone; no more is transferred.</summary>
    void OnGone(Connection connection);
}
