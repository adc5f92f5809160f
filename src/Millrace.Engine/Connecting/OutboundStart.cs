using System.Net;
using Millrace.Engine.Accounting;
using Millrace.Engine.Backends;
using Millrace.Engine.Connections;
using Millrace.Engine.Listening;
using Millrace.Engine.Operations;
using Millrace.Interop;

namespace Millrace.Engine.Connecting;

/// <summary>
/// The wait for the filters of an outbound connection, whose handler runs when they let it: after a handshake. Opens the connection, which
/// from then on owns the socket; ends it when the wait is cancelled or takes too long. Fails with the filters' reason. Reactor thread.
/// </summary>
internal sealed class OutboundStart(Reactor reactor, EndPoint endPoint, ConnectionHandler handler, ConnectSettings settings)
    : ReactorOperation(reactor, OperationKind.None)
{
    private int _socket;
    private Connection? _connection;

    /// <summary>Why the connection has ended before its handler ran.</summary>
    private Exception? _failure;

    public ValueTask Begin(int socket, long deadlineMs, CancellationToken cancellation)
    {
        _socket = socket;
        if (!TryEnter(cancellation, out Exception? refusal))
        {
            return ValueTask.FromException(refusal!);
        }

        Reactor.Operations.WakeAt(this, deadlineMs);
        ListenerContext context = settings.ContextOf(endPoint, Run, this);
        _connection = Reactor.Connections.Rent();
        var lease = new ConnectionLease(AdmissionResult.Outbound, null);
        _connection.Open(socket, context, Run, lease, ClientAccounts.Enter(Reactor.Accounts.Outbound));
        return WaitForEnd();
    }

    /// <summary>
    /// A phase of the connection ends. With that of serving a handler that has not run does not any more; the awaiter continues after it.
    /// </summary>
    public void OnPhaseEnd(Connection connection)
    {
        if (connection.Phase != ConnectionPhase.Serving || Number == 0 || IsEnding || _failure is not null)
        {
            return;
        }

        _failure = connection.Filters.Failure
            ?? (Reactor.IsDraining ? base.EndError() : ConnectErrors.Of(endPoint, Errno.ECONNRESET));
        Reactor.Post(static state =>
        {
            var (start, number) = ((OutboundStart, long))state!;
            if (start.Number == number)
            {
                start.Finish(0, start._failure);
            }
        }, (this, Number));
    }

    protected override void TimeReached() => End(OperationEnd.TimedOut);

    protected override void Ended()
    {
        if (_failure is null)
        {
            _connection!.Abort();
        }

        Finish(0, _failure ?? EndError());
    }

    protected override Exception EndError() =>
        EndReason == OperationEnd.TimedOut ? ConnectErrors.HandshakeTimedOut(endPoint, settings.Timeout) : base.EndError();

    protected override void Release(Exception? error)
    {
        if (_connection is null)
        {
            Reactor.Backend.CloseSocket(_socket);
        }
    }

    /// <summary>The handler; an idle connection runs it again.</summary>
    private Task Run(Connection connection)
    {
        if (Number == 0)
        {
            return handler(connection);
        }

        try
        {
            return handler(connection);
        }
        finally
        {
            Finish(0, error: null);
        }
    }
}
