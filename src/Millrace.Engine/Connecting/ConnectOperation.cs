using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using Millrace.Engine.Accounting;
using Millrace.Engine.Backends;
using Millrace.Engine.Connections;
using Millrace.Engine.Filters;
using Millrace.Engine.Listening;
using Millrace.Engine.Loop;
using Millrace.Engine.Operations;
using Millrace.Interop;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Connecting;

/// <summary>
/// A connect in progress. It owns the socket until that is connected, when the socket becomes the result; in all other cases it closes the
/// socket before the awaiter continues. Reactor thread.
/// </summary>
internal sealed class ConnectOperation : ReactorOperation
{
    /// <summary>When to retry a connect after a full queue of a unix socket's listener, or a signal.</summary>
    private const int RetryMs = 10;

    private readonly EndPoint _endPoint;
    private readonly TimeSpan _timeout;
    private readonly int _socket;
    private readonly long _deadlineMs;

    /// <summary>The <c>struct sockaddr</c>, pinned.</summary>
    private readonly byte[] _address;
    private bool _isAbandoned;

    public ConnectOperation(Reactor reactor, EndPoint endPoint, int socket, TimeSpan timeout)
        : base(reactor, OperationKind.Connect)
    {
        _endPoint = endPoint;
        _socket = socket;
        _timeout = timeout;
        _deadlineMs = TimeLimit.After(reactor.ClockMs, timeout);
        ReadOnlySpan<byte> address = SocketEndPoint.Encode(endPoint);
        _address = GC.AllocateUninitializedArray<byte>(address.Length, pinned: true);
        address.CopyTo(_address);
    }

    /// <inheritdoc cref="Reactor.ConnectAsync(EndPoint, ConnectionHandler, CancellationToken)"/>
    public static async Task ConnectAsync(
        Reactor reactor, EndPoint endPoint, ConnectionHandler handler, ConnectSettings settings, CancellationToken cancellation)
    {
        reactor.AssertReactorThread();
        ArgumentNullException.ThrowIfNull(endPoint);
        ArgumentNullException.ThrowIfNull(handler);
        long deadlineMs = TimeLimit.After(reactor.ClockMs, settings.Timeout);
        int socket = ConnectSocket.Open(reactor.Backend, endPoint, settings);
        socket = await Create(reactor, socket, endPoint, settings.Timeout).Begin(cancellation);
        if (settings.Filters is not null)
        {
            await new OutboundStart(reactor, endPoint, handler, settings).Begin(socket, deadlineMs, cancellation);
            return;
        }

        // As accepted sockets are: calls that receive or move bytes must not wait. For the connect itself it had to wait.
        _ = reactor.Backend.SetNonBlocking(socket);
        ListenerContext context = settings.ContextOf(endPoint, handler);
        var lease = new ConnectionLease(AdmissionResult.Outbound, null);
        reactor.Connections.Rent().Open(socket, context, handler, lease, ClientAccounts.Enter(reactor.Accounts.Outbound));
    }

    public ValueTask<int> Begin(CancellationToken cancellation)
    {
        if (!TryEnter(cancellation, out Exception? refusal))
        {
            return ValueTask.FromException<int>(refusal!);
        }

        Submit();
        return WaitForResult();
    }

    /// <summary>Creates the attempt, which owns the socket and closes it on failure; closes the socket if that throws.</summary>
    private static ConnectOperation Create(Reactor reactor, int socket, EndPoint endPoint, TimeSpan timeout)
    {
        try
        {
            return new ConnectOperation(reactor, endPoint, socket, timeout);
        }
        catch
        {
            reactor.Backend.CloseSocket(socket);
            throw;
        }
    }

    /// <summary>The kernel has its own copy of the address. The socket stays open, as the connect may still complete.</summary>
    public override void Abandon()
    {
        _isAbandoned = true;
        Ended();
    }

    protected override void Completed(in Completion completion)
    {
        if (IsEnding)
        {
            // Connected or not: the awaiter gets the error.
            Ended();
            return;
        }

        switch (-completion.Result)
        {
            case 0:
                Finish(_socket, error: null);
                break;
            case Errno.EAGAIN or Errno.EINTR:
                Reactor.Operations.WakeAt(this, Math.Min(_deadlineMs, Reactor.NowMs + RetryMs));
                break;
            default:
                Finish(0, ConnectErrors.Of(_endPoint, -completion.Result));
                break;
        }
    }

    protected override void TimeReached()
    {
        if (Reactor.NowMs >= _deadlineMs)
        {
            End(OperationEnd.TimedOut);
        }
        else
        {
            Submit();
        }
    }

    protected override Exception EndError() =>
        EndReason == OperationEnd.TimedOut && !_isAbandoned ? ConnectErrors.TimedOut(_endPoint, _timeout) : base.EndError();

    protected override void Release(Exception? error)
    {
        if (error is not null && !_isAbandoned)
        {
            Reactor.Backend.CloseSocket(_socket);
        }
    }

    private unsafe void Submit()
    {
        Reactor.Operations.WakeAt(this, _deadlineMs);
        byte* address = (byte*)Marshal.UnsafeAddrOfPinnedArrayElement(_address, 0);
        Reactor.Backend.SubmitConnect(BeginSubmit(), _socket, address, _address.Length);
    }
}

/// <summary>The settings of one connect.</summary>
/// <param name="Timeout">The time limit; <see cref="System.Threading.Timeout.InfiniteTimeSpan"/>: as long as the kernel tries.</param>
/// <param name="NoDelay">Whether small pieces are sent at once (TCP_NODELAY).</param>
/// <param name="KernelUnsentBytes">See <see cref="Limits.KernelUnsentBytes"/>.</param>
internal sealed record ConnectSettings(TimeSpan Timeout, bool NoDelay, int KernelUnsentBytes)
{
    /// <summary>
    /// Makes the connection's filters, the first next to the socket; null for none. The handler runs when they let it, within the time
    /// limit; until then an error of theirs (<see cref="FilterChain.Failure"/>) fails the attempt.
    /// </summary>
    public Func<Connection, IReadOnlyList<ConnectionFilter>>? Filters { get; init; }

    public static ConnectSettings Of(Limits limits) => new(limits.ConnectTimeout, NoDelay: true, limits.KernelUnsentBytes);

    public ListenerContext ContextOf(EndPoint endPoint, ConnectionHandler handler, OutboundStart? start = null) =>
        new(endPoint, handler, Filters) { IsOneAddress = false, TakesPages = false, IsOutbound = true, Start = start };
}

/// <summary>Creates the sockets that connect.</summary>
internal static class ConnectSocket
{
    /// <summary>Opens a socket of the address's family with its options; the caller closes it.</summary>
    /// <exception cref="NotSupportedException">The address is of a kind that cannot be connected to.</exception>
    /// <exception cref="SocketException">No socket is available.</exception>
    public static int Open(Backend backend, EndPoint endPoint, ConnectSettings settings)
    {
        if (endPoint is not (IPEndPoint or UnixDomainSocketEndPoint))
        {
            throw new NotSupportedException(
                $"{endPoint} cannot be connected to: give an IPv4, IPv6 or unix socket address (resolve a name first).");
        }

        int socket = backend.OpenSocket(SocketEndPoint.Family(endPoint));
        if (socket < 0)
        {
            throw ConnectErrors.Of(endPoint, -socket);
        }

        if (endPoint is IPEndPoint)
        {
            // Both options affect only timing: if they are refused, the connection still works.
            _ = SocketCalls.SetOption(socket, SocketOptionNumber.LevelTcp, SocketOptionNumber.NoDelay, settings.NoDelay ? 1 : 0);
            _ = SocketCalls.SetOption(socket, SocketOptionNumber.LevelTcp, SocketOptionNumber.NotSentLowWater, settings.KernelUnsentBytes);
        }

        return socket;
    }
}

/// <summary>
/// Creates the exceptions of failed connects: those that a <see cref="Socket"/> throws, so that one handler suits both, with a message that
/// names cause and remedy.
/// </summary>
internal static class ConnectErrors
{
    public static SocketException Of(EndPoint endPoint, int errno)
    {
        string? remedy = errno switch
        {
            Errno.ECONNREFUSED => "nothing listens there; start the server, or correct the address",
            Errno.ETIMEDOUT => "the host is down, or a firewall drops what is sent to it",
            Errno.ENETUNREACH => "there is no route to it; check 'ip route'",
            Errno.EHOSTUNREACH => "the host is down, or a firewall refuses it",
            Errno.ENETDOWN => "the network is down; check 'ip link'",
            Errno.ECONNRESET => "it listens, but resets the connection",
            Errno.ENOENT => "the socket does not exist; start the server, or correct the path",
            Errno.EACCES or Errno.EPERM => "a firewall, or the permissions of the socket's file, forbid it",
            Errno.EADDRNOTAVAIL =>
                "the address does not exist, or no port is free; reuse connections, or widen net.ipv4.ip_local_port_range",
            Errno.EAFNOSUPPORT => "this machine does not support the address family",
            Errno.EMFILE or Errno.ENFILE => $"there is no free descriptor; {Errno.DescriptorRemedy(errno)}",
            Errno.ENOBUFS or Errno.ENOMEM => "the kernel has no memory for it",
            _ => null,
        };
        return Refusal(SocketErrors.Of(errno), endPoint, remedy ?? Errno.Describe(errno));
    }

    public static SocketException TimedOut(EndPoint endPoint, TimeSpan timeout) =>
        Refusal(SocketError.TimedOut, endPoint, $"it did not respond within {Seconds(timeout)}");

    public static SocketException HandshakeTimedOut(EndPoint endPoint, TimeSpan timeout) => Refusal(
        SocketError.TimedOut, endPoint, $"it accepted the connection, but the handshake was not complete within {Seconds(timeout)}");

    private static string Seconds(TimeSpan time) => $"{time.TotalSeconds.ToString("0.###", CultureInfo.InvariantCulture)} s";

    private static SocketException Refusal(SocketError error, EndPoint endPoint, string reason) =>
        new((int)error, $"{endPoint} cannot be connected to: {reason}.");
}
