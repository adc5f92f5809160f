using System.Net;
using Millrace.Engine.Accounting;
using Millrace.Engine.Connections;
using Millrace.Quic;
using Millrace.Quic.Connections;
using Millrace.Quic.Protection;

namespace Millrace.QuicTransport;

/// <summary>
/// A client's connection, from its first datagram on. Its memory is counted for the client once the handshake has shown that the address is
/// the client's. Reactor thread only.
/// </summary>
internal sealed class QuicServerConnection : QuicTransportConnection, IClientConnection
{
    /// <summary>
    /// An idle connection's objects with its keys, which are OpenSSL's; measured by tests/Millrace.QuicTransport.Tests, rounded up.
    /// </summary>
    private const int ConnectionBytes = 24 * 1024;

    private readonly QuicListenerOptions _options;
    private QuicServerHandler? _handler;
    private long _chargedBytes;
    private bool _isHeld;
    private int _keeps;
    private bool _isRemoved;

    internal QuicServerConnection(QuicReactor owner, QuicListenerOptions options, in PathAddress remote, in PathAddress local)
        : base(owner, remote, local)
    {
        _options = options;
        Holdings = new ConnectionHoldings(owner.Reactor);
    }

    /// <summary>The memory and descriptors that it holds on its client's account.</summary>
    public ConnectionHoldings Holdings { get; }

    /// <summary>What <see cref="QuicListenerOptions.CreateHandshake"/> gave: names, certificates and parameters of TLS.</summary>
    public QuicHandshake Handshake { get; private set; } = null!;

    private protected override IQuicConnectionHandler? Handler => _handler;

    /// <summary>The client's address, also after the end; null never.</summary>
    public EndPoint? KeepRemoteEndPoint() => RemoteEndPoint;

    /// <inheritdoc cref="ConnectionHoldings.ChargeManaged"/>
    public void ChargeManaged(long bytes) => Holdings.ChargeManaged(bytes);

    /// <summary>
    /// Keeps the client's account open beyond the end of the connection, for what the kernel does not give back at once, such as the memory
    /// of a file read in progress. The listener's stop waits for it.
    /// </summary>
    public void KeepHoldings() => _keeps++;

    /// <summary>Ends one <see cref="KeepHoldings"/>.</summary>
    public void ReleaseHoldings()
    {
        if (--_keeps == 0 && _isRemoved)
        {
            CloseHoldings();
            Owner.CountKept(-1);
        }
    }

    /// <summary>False: the layer above refuses the connection, or failed.</summary>
    internal bool TryBegin()
    {
        try
        {
            if (_options.CreateHandshake(this) is not { } handshake)
            {
                return false;
            }

            Handshake = handshake;
        }
#pragma warning disable CA1031 // The connection is refused.
        catch (Exception error)
#pragma warning restore CA1031
        {
            Owner.Log.HandlerFailed(error);
            return false;
        }

        Holdings.Open(Reactor.Accounts.Open(null), default);
        Holdings.ChargeManaged(ConnectionBytes);
        _isHeld = true;
        return true;
    }

    /// <summary>The number of the listener's stop that has asked its handler to end it; 0 for none.</summary>
    internal int DrainedBy { get; private set; }

    /// <summary>The listener stops.</summary>
    internal void BeginDrain(int stop)
    {
        if (_handler is null || DrainedBy > 0 || IsClosed)
        {
            // A handshake goes on, and the handler learns then that the listener stops, if it still does.
            return;
        }

        DrainedBy = stop;
        try
        {
            _handler.BeginDrain();
        }
#pragma warning disable CA1031 // A handler's exception ends its connection.
        catch (Exception error)
#pragma warning restore CA1031
        {
            OnFailure(error);
        }
    }

    /// <summary>Ends it to free what it holds, if that is enough and on this account.</summary>
    internal bool TryShed(ClientAccount account, long bytesMin)
    {
        if (!_isHeld || IsClosed || !Holdings.AreOf(account) || Holdings.Bytes < bytesMin)
        {
            return false;
        }

        Holdings.Shed();
        Connection.Fail(new QuicError(TransportErrorCode.InternalError, "Memory is short"), Owner.Now);
        return true;
    }

    internal override void OnRemoved()
    {
        if (_isHeld && _keeps == 0)
        {
            CloseHoldings();
        }
        else if (_isHeld)
        {
            _isRemoved = true;
            Owner.CountKept(1);
        }
    }

    private void CloseHoldings()
    {
        _isHeld = false;
        Reactor.Admission.Leave(Holdings.Lease);
        Holdings.Close();
    }

    private protected override void OnHandshakeComplete()
    {
        if (Reactor.Admission.TryIdentify(Holdings, Addresses.ToClient(Connection.Paths.Active.Remote)))
        {
            _handler = _options.CreateHandler(this);
            _handler.OnHandshakeComplete(Connection);
            if (Owner.IsStopping)
            {
                BeginDrain(Owner.LastStop);
            }

            return;
        }

        Owner.Counters.Refused++;
        Connection.Fail(new QuicError(TransportErrorCode.ConnectionRefused, "Too many connections of one client"), Owner.Now);
    }

    private protected override void ChargeState(long bytes)
    {
        bytes += Handshake.MemoryBytes;
        if (bytes != _chargedBytes && _isHeld)
        {
            Holdings.ChargeManaged(bytes - _chargedBytes);
            _chargedBytes = bytes;
        }
    }

    private protected override void OnHandlerClosed()
    {
        if (Connection.Recovery.Rtt is { HasSample: true } measured)
        {
            _options.OnRoundTripTime?.Invoke(measured.Smoothed);
        }
    }

    private protected override void OnDeadline() => _handler?.OnDeadline();
}
