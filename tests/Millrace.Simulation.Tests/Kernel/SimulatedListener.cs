using Millrace.Interop;
using Millrace.Simulation.Tests.Faults;
using Millrace.Simulation.Tests.Runs;

namespace Millrace.Simulation.Tests.Kernel;

/// <summary>A listening socket: who connects waits in its queue until an accept takes him out.</summary>
internal sealed class SimulatedListener(World world, SimulatedBackend kernel) : IScheduled
{
    private readonly Queue<SimulatedSocket> _backlog = new();
    private Operation? _accept;
    private bool _isDue;
    private bool _isExcused;
    private long _nextErrorAtMs;

    public int Descriptor { get; set; } = -1;

    /// <summary>Whether those whom it turns away are told so.</summary>
    public bool TellsRefused { get; init; }

    public bool IsClosed { get; private set; }

    /// <summary>False when nobody listens any more.</summary>
    public bool TryConnect(SimulatedSocket socket)
    {
        if (IsClosed)
        {
            return false;
        }

        _backlog.Enqueue(socket);
        Schedule();
        return true;
    }

    public void Submit(Operation accept)
    {
        _accept = accept;
        Schedule();
    }

    public void Act(int eventId)
    {
        _isDue = false;
        Step();
    }

    public void Cancel()
    {
        if (world.Strikes(FaultKind.CancelRaced, Trace.Kernel))
        {
            Step();
        }

        Finish(-Errno.ECANCELED);
    }

    /// <summary>The call that takes who is queued when the listener stops.</summary>
    public int AcceptQueued()
    {
        if (world.Strikes(FaultKind.Interrupted, Trace.Kernel))
        {
            return -Errno.EINTR;
        }

        if (_backlog.Count > 0 && world.Strikes(FaultKind.NoDescriptors, Trace.Kernel))
        {
            _isExcused = true;
            return -Errno.EMFILE;
        }

        return _backlog.TryDequeue(out SimulatedSocket? socket) ? kernel.Open(socket) : -Errno.EAGAIN;
    }

    public void Close()
    {
        IsClosed = true;
        Descriptor = -1;
        while (_backlog.TryDequeue(out SimulatedSocket? socket))
        {
            if (!_isExcused)
            {
                world.Fail(socket.Number, "The listener was closed with a connection in its queue, which is a reset for a peer that was let in.");
            }

            socket.Die();
        }
    }

    private void Schedule()
    {
        if (_accept is not null && !_isDue)
        {
            _isDue = true;
            world.EventQueue.In(world.Latency(), this, 0);
        }
    }

    private void Step()
    {
        if (_accept is null)
        {
            return;
        }

        if (DrawError() is int error and not 0)
        {
            Finish(error);
        }
        else if (_backlog.Count > 0)
        {
            AcceptOne();
        }
    }

    /// <summary>Once a second at most: each of these costs all who wait a pause.</summary>
    private int DrawError()
    {
        int error = _backlog.Count == 0 || world.NowMs < _nextErrorAtMs ? 0
            : world.Strikes(FaultKind.NoDescriptors, Trace.Kernel) ? world.Random.Pick<int>(-Errno.EMFILE, -Errno.ENFILE)
            : world.Strikes(FaultKind.NoMemory, Trace.Kernel) ? -Errno.ENOMEM
            : world.Strikes(FaultKind.NoBufferSpace, Trace.Kernel) ? -Errno.ENOBUFS
            : world.Strikes(FaultKind.Interrupted, Trace.Kernel) ? -Errno.EINTR
            : 0;
        _nextErrorAtMs = error == 0 ? _nextErrorAtMs : world.NowMs + 1_000;
        return error;
    }

    private void AcceptOne()
    {
        SimulatedSocket socket = _backlog.Dequeue();
        if (world.Strikes(FaultKind.ConnectionReset, socket.Number))
        {
            socket.Die();
            Finish(-Errno.ECONNABORTED);
            return;
        }

        bool more = !world.Strikes(FaultKind.MultishotEnded, socket.Number);
        int descriptor = kernel.Open(socket);
        kernel.PostAccepted(_accept!, descriptor, more);
        if (!more)
        {
            _accept = null;
        }
        else if (_backlog.Count > 0)
        {
            Schedule();
        }
    }

    private void Finish(int result)
    {
        if (_accept is not null)
        {
            kernel.Post(_accept, result);
            _accept = null;
        }
    }
}
