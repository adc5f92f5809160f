using System.Net;

namespace Millrace.Engine.Connections;

/// <summary>
/// A client's connection as sessions of all protocols see it: over TCP a <see cref="Connection"/>, over UDP a QUIC connection. What its
/// bytes pass through is not part of it. Reactor thread only, except <see cref="Reactor"/>.
/// </summary>
internal interface IClientConnection
{
    /// <summary>The reactor that owns the connection. Any thread.</summary>
    Reactor Reactor { get; }

    /// <summary>The memory and descriptors that it holds on its client's account.</summary>
    ConnectionHoldings Holdings { get; }

    /// <summary>The client's address, also after the connection has ended; null if it is not known.</summary>
    EndPoint? KeepRemoteEndPoint();
}
