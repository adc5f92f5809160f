namespace Millrace.Simulation.Tests.Kernel;

/// <summary>The other end of a connection of the server's: a client, or an upstream.</summary>
internal interface ISocketPeer
{
    int Number { get; }

    /// <summary>Whose connection it is, one of several perhaps.</summary>
    int Client { get; }

    /// <summary>It has closed its socket: what is sent to it meets a reset.</summary>
    bool IsGone { get; }

    /// <summary>Whether the server may end its direction, and go on with the other one for as long as the peer does.</summary>
    bool MayBeHalfOpen { get; }

    /// <summary>Something may have changed on its connection.</summary>
    void Kick();

    /// <summary>So many bytes more have reached the server.</summary>
    void OnDelivered(int count);

    /// <summary>The server begins to send.</summary>
    void OnServerSends();
}
