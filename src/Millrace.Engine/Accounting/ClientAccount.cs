namespace Millrace.Engine.Accounting;

/// <summary>What one client (<see cref="Listening.ClientAddress"/>) holds in one reactor. Written by the reactor's thread only.</summary>
internal sealed class ClientAccount(ulong? client)
{
    /// <summary>The client's address; null for accounts without one.</summary>
    public ulong? Client { get; } = client;

    /// <summary>Open connections.</summary>
    public int Connections { get; set; }

    /// <summary>Memory: blocks, the state of connections, sessions and streams, and the kernel's for their sockets.</summary>
    public long Bytes { get; set; }

    /// <summary>Files opened for one response each, in addition to those that the site keeps open.</summary>
    public int OpenFiles { get; set; }
}
