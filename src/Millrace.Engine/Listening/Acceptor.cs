using System.Diagnostics;
using Millrace.Engine.Backends;
using Millrace.Interop;

namespace Millrace.Engine.Listening;

/// <summary>
/// One listening socket on one reactor. Running out of descriptors or memory pauses it for a moment; nothing kills it. When it
/// stops it first takes what the kernel has queued, so that nobody who was let in is reset; of another's socket that is left to who
/// listens there next. Reactor thread, but for <see cref="DealElsewhere"/>.
/// </summary>
internal sealed class Acceptor(Reactor reactor, int slot, int socket, ListenerCore listener, Action<int, ListenerCore> deal)
{
    /// <summary>At one look of the watch, of which there is one every few milliseconds.</summary>
    private const int DealtElsewhereMax = 64;

    private readonly TaskCompletionSource _stopped = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly Claim _socket = new();
    private readonly LinePace _pauseLines = new();
    private bool _isArmed;
    private bool _isStopping;
    private CancelPace _cancelPace;

    /// <summary>
    /// When <see cref="OnDue"/> is to be called: after a pause, or where it was told to stop and the kernel has not let go. The largest
    /// number for never.
    /// </summary>
    public long DueMs { get; private set; } = long.MaxValue;

    /// <summary>Completed when the socket is closed.</summary>
    public Task Stopped => _stopped.Task;

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
            deal(completion.Result, listener);
        }

        if (_isArmed)
        {
            return;
        }

        if (_isStopping)
        {
            Close();
        }
        else if (completion.Result >= 0 || IsOfTheMoment(-completion.Result))
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
    /// Gives others the connections that wait in the kernel's queue while the reactor cannot take them: it chose the queue by their
    /// addresses (SO_REUSEPORT), and neither moves them nor stops choosing. One thread at a time, not the reactor's.
    /// </summary>
    public void DealElsewhere(Action<int, ListenerCore> elsewhere)
    {
        if (!_socket.TryUse())
        {
            return;
        }

        // A time limit and not O_NONBLOCK, which would be the ring's accept's too, and that one is to wait.
        int accepted = reactor.Backend.SetAcceptPatience(socket);
        for (int left = DealtElsewhereMax; left > 0 && accepted >= 0; left--)
        {
            accepted = reactor.Backend.AcceptQueued(socket);
            if (accepted >= 0)
            {
                elsewhere(accepted, listener);
            }
        }

        if (listener.Owner == SocketOwner.Another)
        {
            // The limit is of the socket, and so also of whoever accepts on it next and waits as long as it takes.
            _ = reactor.Backend.EndAcceptPatience(socket);
        }

        if (_socket.GiveBack())
        {
            reactor.Post(static acceptor => ((Acceptor)acceptor!).Close(), this);
        }
    }

    /// <summary>Errors of one incoming connection, not of the listener (accept(2), "Error handling").</summary>
    private static bool IsOfTheMoment(int errno) => errno is
        Errno.EINTR or Errno.EAGAIN or Errno.ECONNABORTED or Errno.ECANCELED or Errno.EPROTO or Errno.ENOPROTOOPT or
        Errno.ENETDOWN or Errno.ENONET or Errno.EHOSTDOWN or Errno.EHOSTUNREACH or Errno.ENETUNREACH;

    private void Pause(int errno)
    {
        // Accepting again at once would spin: a relative wrote 1.7 million log lines a second here.
        DueMs = reactor.NowMs + (long)reactor.Limits.AcceptPause.TotalMilliseconds;
        // And at the edge, where one descriptor comes back and is used up at once, a line for each.
        if (_pauseLines.Admits(reactor.NowMs))
        {
            reactor.Log.AcceptPaused(listener.EndPoint, Errno.Describe(errno));
        }
    }

    private void Cancel()
    {
        reactor.Backend.SubmitCancel(Token);
        DueMs = _cancelPace.NextMs(reactor.NowMs);
    }

    private void Close()
    {
        DueMs = long.MaxValue;
        if (!_socket.TryEnd())
        {
            // Who deals its connections elsewhere has it closed.
            return;
        }

        // The flag would be another's too, of whose socket this is a copy.
        if (listener.Owner == SocketOwner.Listener && reactor.Backend.SetNonBlocking(socket) >= 0)
        {
            DealQueued();
        }

        reactor.Backend.CloseSocket(socket);
        _stopped.SetResult();
    }

    /// <summary>No more than the queue can hold at once: under load it is refilled as fast as it is taken from.</summary>
    private void DealQueued()
    {
        for (int left = reactor.Limits.Backlog; left > 0; left--)
        {
            int accepted = reactor.Backend.AcceptQueued(socket);
            if (accepted >= 0)
            {
                deal(accepted, listener);
            }
            else if (accepted == -Errno.EAGAIN || !IsOfTheMoment(-accepted))
            {
                return;
            }
        }
    }
}
