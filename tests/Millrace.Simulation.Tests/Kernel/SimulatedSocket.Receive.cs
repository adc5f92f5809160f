using Millrace.Interop;
using Millrace.Simulation.Tests.Faults;

namespace Millrace.Simulation.Tests.Kernel;

/// <content>The receive that the server has in flight, and its faults.</content>
internal sealed partial class SimulatedSocket
{
    private void ScheduleReceive()
    {
        if (_receive is not null && !_receiveIsDue)
        {
            _receiveIsDue = true;
            _world.EventQueue.In(_world.Latency(), this, ReceiveEvent);
        }
    }

    /// <summary>A call of the server, while no receive is in flight.</summary>
    public int ReceiveAtOnce(Span<byte> buffer)
    {
        if (_receive is not null)
        {
            _world.Fail(Number, "A call received what a receive in flight was for.");
        }

        if (IsDead)
        {
            return -Errno.ECONNRESET;
        }

        if (DrawReceiveError() is int error and not 0)
        {
            return error == -Errno.ENOBUFS ? -Errno.EAGAIN : error;
        }

        if (Uplink.Count == 0)
        {
            return UplinkEnded ? 0 : -Errno.EAGAIN;
        }

        int count = Take(buffer);
        OnDelivered(count);
        return count;
    }

    private void StepReceive()
    {
        if (_receive is null)
        {
            return;
        }

        if (IsDead)
        {
            Finish(ref _receive, -Errno.ECONNRESET);
        }
        else if (DrawReceiveError() is int error and not 0)
        {
            Finish(ref _receive, error);
        }
        else if (Uplink.Count > 0)
        {
            ReceiveSome();
        }
        else if (UplinkEnded)
        {
            Finish(ref _receive, 0);
        }
    }

    private void ReceiveSome()
    {
        if (_kernel.Slab.IsEmpty)
        {
            OnNoBuffer();
            return;
        }

        int count = Take(_kernel.Slab.Lend(Number, out ushort id));
        bool more = !_receive!.IsOnce && !_world.Strikes(FaultKind.MultishotEnded, Number);
        _kernel.PostReceived(_receive!, count, id, more);
        if (!more)
        {
            _receive = null;
        }
        else if (Uplink.Count > 0 || UplinkEnded)
        {
            ScheduleReceive();
        }
    }

    private int Take(Span<byte> buffer)
    {
        _receiveErrorsInARow = 0;
        int count = Math.Min(buffer.Length, Uplink.Count);
        count = _world.Strikes(FaultKind.Fragmented, Number) ? _world.Random.Between(1, count) : count;
        Uplink.Bytes[..count].CopyTo(buffer);
        Uplink.Consume(count);
        ReceivedBytes += count;
        _peer.Kick();
        return count;
    }

    /// <summary>All buffers are with completions that are late: a server that asks again meanwhile must not stop the clock.</summary>
    private void OnNoBuffer()
    {
        if (_lackedBufferAtMs == _world.NowMs)
        {
            _receiveIsDue = true;
            _world.EventQueue.In(1, this, ReceiveEvent);
            return;
        }

        _lackedBufferAtMs = _world.NowMs;
        Finish(ref _receive, -Errno.ENOBUFS);
    }

    private int DrawReceiveError()
    {
        if (++_receiveErrorsInARow > ErrorsInARowMax)
        {
            return 0;
        }

        if (_world.Strikes(FaultKind.ConnectionReset, Number))
        {
            Die();
            return -Errno.ECONNRESET;
        }

        return _world.Strikes(FaultKind.Interrupted, Number) ? -Errno.EINTR
            : _world.Strikes(FaultKind.TryAgain, Number) ? -Errno.EAGAIN
            : _world.Strikes(FaultKind.NoBufferSpace, Number) ? -Errno.ENOBUFS
            : 0;
    }
}
