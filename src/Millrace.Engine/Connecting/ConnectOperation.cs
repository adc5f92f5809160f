using System.Net;
using System.Runtime.InteropServices;
using Millrace.Engine.Backends;
using Millrace.Engine.Listening;
using Millrace.Engine.Loop;
using Millrace.Engine.Operations;
using Millrace.Interop;

namespace Millrace.Engine.Connecting;

/// <summary>
/// A connect in progress. It owns the socket until that is connected, when the socket becomes the result; in all other cases it closes the
/// socket before the awaiter continues. Reactor thread.
/// </summary>
internal sealed class ConnectOperation : ReactorOperation
{
    /// <summary>When to retry a connect after a full queue of a unix socket's listener, or a signal.</summary>
    private const int RetryMs = 10;

    private readonly ReactorSignal<int> _connected = new();
    private readonly EndPoint _endPoint;
    private readonly TimeSpan _timeout;
    private readonly int _socket;
    private readonly long _deadlineMs;

    /// <summary>The <c>struct sockaddr</c>, pinned.</summary>
    private readonly byte[] _address;
    private bool _isInFlight;
    private Exception? _end;
    private CancelRetry _cancelRetry;

    public ConnectOperation(Reactor reactor, EndPoint endPoint, int socket, TimeSpan timeout)
        : base(reactor)
    {
        _endPoint = endPoint;
        _socket = socket;
        _timeout = timeout;
        _deadlineMs = TimeLimit.After(reactor.ClockMs, timeout);
        ReadOnlySpan<byte> address = SocketEndPoint.Encode(endPoint);
        _address = GC.AllocateUninitializedArray<byte>(address.Length, pinned: true);
        address.CopyTo(_address);
    }

    /// <summary>The connected socket.</summary>
    public ValueTask<int> Begin(CancellationToken cancellation)
    {
        if (Enter(cancellation) is { } refusal)
        {
            Reactor.Backend.CloseSocket(_socket);
            return ValueTask.FromException<int>(refusal);
        }

        Submit();
        return _connected.Begin();
    }

    public override void OnCompleted(in Completion completion)
    {
        _isInFlight = false;
        if (_end is not null)
        {
            // Connected or not: the awaiter gets, or has got, the error.
            Fail(_end);
            return;
        }

        switch (-completion.Result)
        {
            case 0:
                Leave();
                _connected.Complete(_socket);
                break;
            case Errno.EAGAIN or Errno.EINTR:
                Reactor.Operations.WakeAt(this, Math.Min(_deadlineMs, Reactor.NowMs + RetryMs));
                break;
            default:
                Fail(ConnectErrors.Of(_endPoint, -completion.Result));
                break;
        }
    }

    public override void OnDue()
    {
        if (_end is not null)
        {
            Cancel();
        }
        else if (Reactor.NowMs >= _deadlineMs)
        {
            EndWith(ConnectErrors.TimedOut(_endPoint, _timeout));
        }
        else
        {
            Submit();
        }
    }

    public override void End(OperationEnd end) => EndWith(Cancelled(end));

    private unsafe void Submit()
    {
        _isInFlight = true;
        Reactor.Operations.WakeAt(this, _deadlineMs);
        byte* address = (byte*)Marshal.UnsafeAddrOfPinnedArrayElement(_address, 0);
        Reactor.Backend.SubmitConnect(Token(OperationKind.Connect), _socket, address, _address.Length);
    }

    private void EndWith(Exception end)
    {
        if (_end is not null)
        {
            return;
        }

        _end = end;
        if (_isInFlight)
        {
            Cancel();
        }
        else
        {
            Fail(end);
        }
    }

    /// <summary>The kernel has its own copy of the address. The socket stays open, as the connect may still complete.</summary>
    public override void Abandon()
    {
        Leave();
        _connected.Fail(Cancelled(OperationEnd.Stopped));
    }

    /// <summary>Repeats until the operation ends.</summary>
    private void Cancel()
    {
        Reactor.Backend.SubmitCancel(Token(OperationKind.Connect));
        Reactor.Operations.WakeAt(this, _cancelRetry.NextMs(Reactor.NowMs));
    }

    private void Fail(Exception error)
    {
        Reactor.Backend.CloseSocket(_socket);
        Leave();
        _connected.Fail(error);
    }
}
