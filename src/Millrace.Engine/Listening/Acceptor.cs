using System.Diagnostics;
using Millrace.Engine.Backends;
using Millrace.Interop;

namespace Millrace.Engine.Listening;

/// <summary>
/// One listening socket on one reactor. A lack of descriptors or memory only pauses it. When it stops it first accepts what the kernel has
/// queued, so that no established connection is reset; the queue of an inherited socket is left to its next user. Reactor thread, except
/// <see cref="DistributeQueue"/>.
/// </summary>
internal sealed class Acceptor(Reactor reactor, int slot, int socket, ListenerContext listener, Action<int, ListenerContext> serve)
{
    /// <summary>Per check of the watchdog, which checks every few milliseconds.</summary>
    private const int DistributedMax = 64;

    /// <summary>By then connections that were closed to make room are gone.</summary>
    private const int RoomMadeMs = 10;

    private readonly TaskCompletionSource _stopped = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private OwnershipGate _socket;
    private readonly LogRateLimiter _pauseLines = new();
    private bool _isArmed;
    private bool _isStopping;
    private CancelRetry _cancelRetry;

    /// <summary>
    /// When <see cref="OnDue"/> is to be called: after a pause, or to repeat a cancel that has not taken effect.
    /// <see cref="long.MaxValue"/> for never.
    /// </summary>
    public long DueMs { get; private set; } = long.MaxValue;

    /// <summary>Completed when the socket is closed.</summary>
    public Task Stopped => _stopped.Task;

    /// <summary>Its index among the reactor's acceptors.</summary>
    public int Slot => slot;

    private OperationToken Token => new(OperationKind.Accept, 0, slot);

    public void Arm()
    {
        Debug.Assert(!_isArmed);
        _isArmed = true;
        DueMs = long.MaxValue;
        reactor.Backend.SubmitAccept(Token, socket);
    }

    public void OnAccepted(in Completion completion)
    {
        if (completion.IsTerminal)
        {
            _isArmed = false;
        }

        if (completion.Result >= 0)
        {
            serve(completion.Result, listener);
        }

        if (_isArmed)
        {
            return;
        }

        if (_isStopping)
        {
            Close();
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

    public void Stop()
    {
        if (_isStopping)
        {
            return;
        }

        _isStopping = true;
        if (_isArmed)
        {
            Cancel();
        }
        else
        {
            Close();
        }
    }

    /// <summary>The reactor ends while the kernel still uses the socket, which stays open. Completes <see cref="Stopped"/>.</summary>
    public void Abandon()
    {
        _isStopping = true;
        DueMs = long.MaxValue;
        reactor.Acceptors.Remove(this);
        _stopped.TrySetResult();
    }

    public void OnDue()
    {
        if (_isStopping)
        {
            Cancel();
        }
        else
        {
            Arm();
        }
    }

    /// <summary>
    /// Distributes the connections in the kernel's queue while the reactor is blocked: the kernel selects the queue by a hash of the
    /// addresses (SO_REUSEPORT), and neither moves connections nor stops selecting it. One thread at a time, not the reactor's.
    /// </summary>
    public void DistributeQueue(Action<int, ListenerContext> distribute)
    {
        if (!_socket.TryUse())
        {
            return;
        }

        // A receive timeout and not O_NONBLOCK, which would also apply to the ring's accept, which is to wait.
        int accepted = reactor.Backend.SetAcceptTimeout(socket);
        for (int left = DistributedMax; left > 0 && accepted >= 0; left--)
        {
            accepted = reactor.Backend.AcceptQueued(socket);
            if (accepted >= 0)
            {
                distribute(accepted, listener);
            }
        }

        if (listener.Owner == SocketOwner.Another)
        {
            // The timeout belongs to the socket, so also to the process that accepts on it next.
            _ = reactor.Backend.ClearAcceptTimeout(socket);
        }

        if (_socket.GiveBack())
        {
            reactor.Post(static acceptor => ((Acceptor)acceptor!).Close(), this);
        }
    }

    /// <summary>Whether an error is that of one incoming connection, not of the listener (accept(2), "Error handling").</summary>
    private static bool IsTransient(int errno) => errno is
        Errno.EINTR or Errno.EAGAIN or Errno.ECONNABORTED or Errno.ECANCELED or Errno.EPROTO or Errno.ENOPROTOOPT or
        Errno.ENETDOWN or Errno.ENONET or Errno.EHOSTDOWN or Errno.EHOSTUNREACH or Errno.ENETUNREACH;

    private void Pause(int errno)
    {
        // An immediate retry would spin: a similar server logged 1.7 million lines a second here.
        bool hasRoomSoon = errno == Errno.EMFILE && reactor.Admission.MakeRoomForAccepts();
        DueMs = reactor.NowMs + (hasRoomSoon ? RoomMadeMs : (long)reactor.Limits.AcceptPause.TotalMilliseconds);
        // Limited, as at the descriptor limit each descriptor that is freed and used again would log a line.
        if (_pauseLines.Admits(reactor.NowMs))
        {
            reactor.Log.AcceptPaused(listener.EndPoint, Errno.Describe(errno));
        }
    }

    private void Cancel()
    {
        reactor.Backend.SubmitCancel(Token);
        DueMs = _cancelRetry.NextMs(reactor.NowMs);
    }

    private void Close()
    {
        DueMs = long.MaxValue;
        if (!_socket.TryEnd())
        {
            // A thread in DistributeQueue uses the socket; it posts Close when it is done.
            return;
        }

        // Flags are shared by all duplicates of a socket, so an inherited one must not be changed.
        if (listener.Owner == SocketOwner.Listener && reactor.Backend.EndQueueing(socket) >= 0)
        {
            ServeQueued();
        }

        reactor.Backend.CloseSocket(socket);
        reactor.Acceptors.Remove(this);
        _stopped.TrySetResult();
    }

    /// <summary>At most as many as the queue holds: if queueing could not be ended, new connections refill it.</summary>
    private void ServeQueued()
    {
        for (int left = reactor.Limits.Backlog; left > 0; left--)
        {
            int accepted = reactor.Backend.AcceptQueued(socket);
            if (accepted >= 0)
            {
                serve(accepted, listener);
            }
            else if (accepted == -Errno.EAGAIN || !IsTransient(-accepted))
            {
                return;
            }
        }
    }
}

/// <summary>A reactor's acceptors by slot. Reactor thread.</summary>
internal sealed class AcceptorTable(Reactor reactor)
{
    private readonly List<Acceptor?> _slots = [];

    public bool IsEmpty => _slots.TrueForAll(static acceptor => acceptor is null);

    /// <summary>When <see cref="RunDue"/> may have something to do; <see cref="long.MaxValue"/> for never.</summary>
    public long NextDueMs
    {
        get
        {
            long next = long.MaxValue;
            foreach (Acceptor? acceptor in _slots)
            {
                next = Math.Min(next, acceptor?.DueMs ?? long.MaxValue);
            }

            return next;
        }
    }

    /// <summary>Starts accepting on a listening socket.</summary>
    public Acceptor Add(int socket, ListenerContext listener, Action<int, ListenerContext> serve)
    {
        reactor.AssertReactorThread();
        int slot = _slots.IndexOf(null);
        if (slot < 0)
        {
            slot = _slots.Count;
            _slots.Add(null);
        }

        var acceptor = new Acceptor(reactor, slot, socket, listener, serve);
        _slots[slot] = acceptor;
        acceptor.Arm();
        return acceptor;
    }

    /// <summary>Drops an acceptor that has stopped.</summary>
    public void Remove(Acceptor acceptor) => _slots[acceptor.Slot] = null;

    public Acceptor? Find(OperationToken token) => _slots[token.Slot];

    public void RunDue(long nowMs)
    {
        foreach (Acceptor? acceptor in _slots)
        {
            if (nowMs >= acceptor?.DueMs)
            {
                acceptor.OnDue();
            }
        }
    }

    public void Stop()
    {
        // By index: an acceptor that stops at once removes itself.
        for (int i = 0; i < _slots.Count; i++)
        {
            _slots[i]?.Stop();
        }
    }

    /// <summary>The reactor ends while the kernel still uses their sockets.</summary>
    public void Abandon()
    {
        for (int i = 0; i < _slots.Count; i++)
        {
            _slots[i]?.Abandon();
        }
    }
}
