using System.Net;
using System.Runtime.InteropServices;
using Millrace.Engine.Backends;
using Millrace.Engine.Errands;
using Millrace.Engine.Listening;
using Millrace.Engine.Scheduling;
using Millrace.Interop;

namespace Millrace.Engine.Connecting;

/// <summary>
/// A connect on its way. The socket is its own until it is connected: then it is the result, and in every other case it is closed before
/// whoever waits is told. Reactor thread.
/// </summary>
internal sealed class ConnectAttempt : Errand
{
    /// <summary>When a connect is tried again that a full queue of a unix socket's listener, or a signal, has turned back.</summary>
    private const int RetryMs = 10;

    private readonly Signal<int> _connected = new();
    private readonly EndPoint _endPoint;
    private readonly TimeSpan _timeout;
    private readonly int _socket;
    private readonly long _deadlineMs;

    /// <summary>The <c>struct sockaddr</c>, in memory that stays where it is.</summary>
    private readonly byte[] _address;
    private bool _isInFlight;
    private Exception? _end;
    private CancelPace _cancelPace;

    public ConnectAttempt(Reactor reactor, EndPoint endPoint, int socket, TimeSpan timeout)
        : base(reactor)
    {
        _endPoint = endPoint;
        _socket = socket;
        _timeout = timeout;
        _deadlineMs = timeout == Timeout.InfiniteTimeSpan ? long.MaxValue : reactor.ClockMs + (long)timeout.TotalMilliseconds;
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
            // Connected or not: whoever asked for it has been told, or is about to be, that it is not.
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
                Reactor.Errands.WakeAt(this, Math.Min(_deadlineMs, Reactor.NowMs + RetryMs));
                break;
            default:
                Fail(ConnectRefusal.Of(_endPoint, -completion.Result));
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
            EndWith(ConnectRefusal.TimedOut(_endPoint, _timeout));
        }
        else
        {
            Submit();
        }
    }

    public override void End(ErrandEnd end) => EndWith(Cancelled(end));

    private unsafe void Submit()
    {
        _isInFlight = true;
        Reactor.Errands.WakeAt(this, _deadlineMs);
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

    /// <summary>Again and again, until it has ended.</summary>
    private void Cancel()
    {
        Reactor.Backend.SubmitCancel(Token(OperationKind.Connect));
        Reactor.Errands.WakeAt(this, _cancelPace.NextMs(Reactor.NowMs));
    }

    private void Fail(Exception error)
    {
        Reactor.Backend.CloseSocket(_socket);
        Leave();
        _connected.Fail(error);
    }
}
