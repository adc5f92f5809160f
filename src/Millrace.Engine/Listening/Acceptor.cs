using Millrace.Engine.Backends;
using Millrace.Engine.Operations;
using Millrace.Interop;

namespace Millrace.Engine.Listening;

/// <summary>
/// One listening socket on one reactor. A lack of descriptors or memory only pauses it. When it stops it first accepts what the kernel has
/// queued, so that no established connection is reset; the queue of an inherited socket is left to its next user. Reactor thread, except
/// <see cref="DistributeQueue"/> and <see cref="TryEndConnects"/>.
/// </summary>
internal sealed class Acceptor : ReactorOperation
{
    /// <summary>Per check of the watchdog, which checks every few milliseconds.</summary>
    private const int DistributedMax = 64;

    /// <summary>By then connections that were closed to make room are gone.</summary>
    private const int RoomMadeMs = 10;

    private readonly int _socket;
    private readonly ListenerContext _listener;
    private readonly Action<int, ListenerContext> _serve;
    private readonly TaskCompletionSource _stopped = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly LogRateLimiter _pauseLines = new();
    private OwnershipGate _queueGate;
    private OwnershipGate _connectsGate;

    private Acceptor(Reactor reactor, int socket, ListenerContext listener, Action<int, ListenerContext> serve)
        : base(reactor, OperationKind.Accept)
    {
        _socket = socket;
        _listener = listener;
        _serve = serve;
    }

    /// <summary>Completed when the socket is closed.</summary>
    public Task Stopped => _stopped.Task;

    /// <summary>Starts accepting on a listening socket, which it owns.</summary>
    /// <exception cref="OperationCanceledException">The reactor stops; the socket is still the caller's.</exception>
    public static Acceptor Start(Reactor reactor, int socket, ListenerContext listener, Action<int, ListenerContext> serve)
    {
        reactor.AssertReactorThread();
        var acceptor = new Acceptor(reactor, socket, listener, serve);
        if (!acceptor.TryEnter(CancellationToken.None, out Exception? refusal))
        {
            throw refusal!;
        }

        reactor.Acceptors = reactor.Acceptors.Add(acceptor);
        acceptor.Arm();
        return acceptor;
    }

    public void Stop() => End(OperationEnd.Stopped);

    /// <summary>As <see cref="Stop"/>; completes as <see cref="Stopped"/> does. Any thread.</summary>
    public Task StopAsync()
    {
        Reactor.Post(static acceptor => ((Acceptor)acceptor!).Stop(), this);
        return Stopped;
    }

    /// <summary>
    /// Lets no more clients begin a handshake, while it accepts those that have; true if there may be some. Any thread; of two at the same
    /// time only one does it.
    /// </summary>
    public bool TryEndConnects()
    {
        // An option is shared by all duplicates of a socket, so an inherited one must not be changed. A unix socket has no handshake.
        if (_listener.Owner == SocketOwner.Another || !_listener.HasClientAddresses || !_connectsGate.TryUse())
        {
            return false;
        }

        bool hasEnded = Reactor.Backend.EndConnects(_socket) >= 0;
        GiveBack(ref _connectsGate);
        return hasEnded;
    }

    /// <summary>The reactor ends while the kernel still uses the socket, which stays open. Completes <see cref="Stopped"/>.</summary>
    public override void Abandon() => Remove();

    /// <summary>
    /// Distributes the connections in the kernel's queue while the reactor is blocked: the kernel selects the queue by a hash of the
    /// addresses (SO_REUSEPORT), and neither moves connections nor stops selecting it. One thread at a time, not the reactor's.
    /// </summary>
    public void DistributeQueue(Action<int, ListenerContext> distribute)
    {
        if (!_queueGate.TryUse())
        {
            return;
        }

        // A receive timeout and not O_NONBLOCK, which would also apply to the ring's accept, which is to wait.
        int accepted = Reactor.Backend.SetAcceptTimeout(_socket, milliseconds: 1);
        for (int left = DistributedMax; left > 0 && accepted >= 0; left--)
        {
            accepted = Reactor.Backend.AcceptQueued(_socket);
            if (accepted >= 0)
            {
                distribute(accepted, _listener);
            }
        }

        if (_listener.Owner == SocketOwner.Another)
        {
            // The timeout belongs to the socket, so also to the process that accepts on it next.
            _ = Reactor.Backend.SetAcceptTimeout(_socket, milliseconds: 0);
        }

        GiveBack(ref _queueGate);
    }

    protected override void Completed(in Completion completion)
    {
        if (completion.Result >= 0)
        {
            _serve(completion.Result, _listener);
        }

        if (!completion.IsTerminal)
        {
            return;
        }

        if (IsEnding)
        {
            Ended();
        }
        else if (completion.Result >= 0 || IsTransient(-completion.Result))
        {
            Arm();
        }
        else
        {
            Pause(-completion.Result);
        }
    }

    protected override void TimeReached() => Arm();

    protected override void Ended()
    {
        Reactor.Operations.WakeAt(this, long.MaxValue);
        if (!_queueGate.TryEnd() || !_connectsGate.TryEnd())
        {
            // Another thread uses the socket; it posts this call when it is done.
            return;
        }

        // Flags are shared by all duplicates of a socket, so an inherited one must not be changed.
        if (_listener.Owner == SocketOwner.Listener && Reactor.Backend.SetNonBlocking(_socket) >= 0)
        {
            ServeQueued();
        }

        Reactor.Backend.CloseSocket(_socket);
        Remove();
    }

    private void GiveBack(ref OwnershipGate gate)
    {
        if (gate.GiveBack())
        {
            Reactor.Post(static acceptor => ((Acceptor)acceptor!).Ended(), this);
        }
    }

    private void Remove()
    {
        Reactor.Acceptors = Reactor.Acceptors.Remove(this);
        Leave();
        _stopped.TrySetResult();
    }

    /// <summary>Whether an error is that of one incoming connection, not of the listener (accept(2), "Error handling").</summary>
    private static bool IsTransient(int errno) => errno is
        Errno.EINTR or Errno.EAGAIN or Errno.ECONNABORTED or Errno.ECANCELED or Errno.EPROTO or Errno.ENOPROTOOPT or
        Errno.ENETDOWN or Errno.ENONET or Errno.EHOSTDOWN or Errno.EHOSTUNREACH or Errno.ENETUNREACH;

    private void Arm()
    {
        Reactor.Operations.WakeAt(this, long.MaxValue);
        Reactor.Backend.SubmitAccept(BeginSubmit(), _socket);
    }

    private void Pause(int errno)
    {
        // An immediate retry would spin: a similar server logged 1.7 million lines a second here.
        bool hasRoomSoon = errno == Errno.EMFILE && Reactor.Admission.MakeRoomForAccepts();
        long pauseMs = hasRoomSoon ? RoomMadeMs : (long)Reactor.Limits.AcceptPause.TotalMilliseconds;
        Reactor.Operations.WakeAt(this, Reactor.NowMs + pauseMs);
        // Limited, as at the descriptor limit each descriptor that is freed and used again would log a line.
        if (_pauseLines.Admits(Reactor.NowMs))
        {
            string reason = errno switch
            {
                Errno.EMFILE => $"the process has no free descriptor; {Errno.DescriptorRemedy(errno)}",
                Errno.ENFILE => $"the machine has no free descriptor; {Errno.DescriptorRemedy(errno)}",
                Errno.ENOBUFS or Errno.ENOMEM => $"the kernel has no memory for connections; {Advice.Memory}",
                _ => Errno.Describe(errno),
            };
            Reactor.Log.AcceptPaused(_listener.EndPoint, reason);
        }
    }

    /// <summary>At most as many as the queue holds: if connects could not be ended, new connections refill it.</summary>
    private void ServeQueued()
    {
        for (int left = Reactor.Limits.Backlog; left > 0; left--)
        {
            int accepted = Reactor.Backend.AcceptQueued(_socket);
            if (accepted >= 0)
            {
                _serve(accepted, _listener);
            }
            else if (accepted == -Errno.EAGAIN || !IsTransient(-accepted))
            {
                return;
            }
        }
    }
}
