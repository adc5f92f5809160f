using Millrace.Engine.Backends;

namespace Millrace.Engine.Listening;

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
