namespace Millrace.Engine.Connections;

/// <summary>
/// Is told how far the output of a connection has come. Reactor thread; must not throw, and must not touch the connection.
/// </summary>
internal interface IOutputWitness
{
    /// <summary>A send has ended: the kernel has all of <see cref="Connection.HandedBytes"/>.</summary>
    void OnHandedOver(Connection connection);

    /// <summary>The connection is gone, and no more will be handed over.</summary>
    void OnGone(Connection connection);
}
