using System.Net;
using Millrace.Engine;
using Millrace.Engine.Datagrams;
using Millrace.Quic.Connections;
using Millrace.Quic.Protection;

namespace Millrace.QuicTransport;

/// <summary>A client's connection on a reactor, with a socket of its own: for tests and the probe. Reactor thread only.</summary>
internal sealed class QuicClientConnection : QuicTransportConnection
{
    private readonly IQuicConnectionHandler _handler;

    internal QuicClientConnection(QuicReactor owner, IQuicConnectionHandler handler, in PathAddress remote, in PathAddress local)
        : base(owner, remote, local) => _handler = handler;

    private protected override IQuicConnectionHandler Handler => _handler;

    /// <summary>
    /// Moves the connection to another port of this machine, once that has proved to work (RFC 9000, section 9). False: it cannot move now.
    /// </summary>
    public bool TryMigrate()
    {
        Reactor.AssertReactorThread();
        DatagramSocket socket = QuicClient.OpenSocket(Owner, RemoteEndPoint);
        bool isMoving = Connection.TryMigrate(Addresses.ToPath(socket.LocalAddress), Owner.Now);
        ScheduleSend();
        return isMoving;
    }

    private protected override void OnHandshakeComplete() => _handler.OnHandshakeComplete(Connection);

    private protected override void OnDeadline()
    {
    }

    internal override void OnRemoved() => Owner.Stop(0);
}

/// <summary>Begins connections as a client.</summary>
internal static class QuicClient
{
    /// <summary>
    /// Begins a connection. Its handler is called on the reactor, with OnClosed at the end in any case. The socket is closed with the
    /// connection; the cryptography is disposed of then, if it is disposable. Reactor thread.
    /// </summary>
    /// <exception cref="EngineException">No socket can be opened.</exception>
    public static QuicClientConnection Connect(
        Reactor reactor, IPEndPoint endPoint, QuicSettings settings, QuicCryptography cryptography, QuicHandshake handshake,
        IQuicConnectionHandler handler, QuicTransportLog log)
    {
        reactor.AssertReactorThread();
        var owner = new QuicReactor(reactor, settings, new EndpointLimits(), cryptography, options: null, default, log);
        PathAddress remote = Addresses.ToPath(endPoint);
        PathAddress local = Addresses.ToPath(OpenSocket(owner, endPoint).LocalAddress);
        var connection = new QuicClientConnection(owner, handler, remote, local);
        QuicConnection quic = owner.Endpoint.Connect(
            local, remote, handshake, connection, settings.Version, token: null, isAfterVersionNegotiation: false, owner.Now);
        owner.Register(connection, quic);
        return connection;
    }

    internal static DatagramSocket OpenSocket(QuicReactor owner, IPEndPoint remote)
    {
        DatagramSocket socket = DatagramSockets.OpenClient(owner.Reactor, remote, owner);
        owner.Add(socket);
        return socket;
    }
}
