using Millrace.Interop;
using Millrace.Simulation.Tests.Faults;

namespace Millrace.Simulation.Tests.Kernel;

/// <content>The send that the server has in flight, and its faults.</content>
internal sealed partial class SimulatedSocket
{
    /// <summary>A call that sends what there is room for: the count, or an error.</summary>
    public int SendAtOnce(ReadOnlySpan<byte> bytes)
    {
        OnSendSubmitted();
        _peer.OnServerSends();
        if (IsDead)
        {
            return _world.Random.Chance(500) ? -Errno.EPIPE : -Errno.ECONNRESET;
        }

        if (DrawSendError() is int error and not 0)
        {
            return error;
        }

        int count = Math.Min(Downlink.Room, bytes.Length);
        count = count > 1 && _world.Strikes(FaultKind.Fragmented, Number) ? _world.Random.Between(1, count) : count;
        if (count == 0)
        {
            return -Errno.EAGAIN;
        }

        bytes[..count].CopyTo(Downlink.Reserve(count));
        NoteSent(count);
        if (count == bytes.Length)
        {
            OnSendEnded();
        }

        return count;
    }

    private void ScheduleSend()
    {
        if (_send is not null && !_sendIsDue)
        {
            _sendIsDue = true;
            _world.EventQueue.In(_world.Latency(), this, SendEvent);
        }
    }

    private void StepSend()
    {
        if (_send is null)
        {
            return;
        }

        if (_send.AwaitsRoom)
        {
            if (IsDead || Downlink.Room > 0)
            {
                FinishSend(0);
            }
        }
        else if (IsDead)
        {
            FinishSend(_world.Random.Chance(500) ? -Errno.EPIPE : -Errno.ECONNRESET);
        }
        else if (DrawSendError() is int error and not 0)
        {
            FinishSend(error);
        }
        else
        {
            SendSome();
        }
    }

    private void SendSome()
    {
        Operation send = _send!;
        int count = (int)Math.Min(Downlink.Room, send.Bytes - send.Transferred);
        count = count > 1 && _world.Strikes(FaultKind.Fragmented, Number) ? _world.Random.Between(1, count) : count;
        if (count > 0)
        {
            send.Transfer(Downlink.Reserve(count));
            NoteSent(count);
        }

        if (send.Transferred == send.Bytes)
        {
            FinishSend(0);
        }
        else if (send.Transferred > 0 && _world.Strikes(FaultKind.ShortSend, Number))
        {
            FinishSend(0);
        }
        else if (Downlink.Room > 0)
        {
            ScheduleSend();
        }
    }

    private void NoteSent(int count)
    {
        _sendErrorsInARow = 0;
        Downlink.Append(count);
        SentBytes += count;
        if (_peer.IsGone)
        {
            // Sent into the void: the next call learns of it.
            Downlink.Clear();
            Die();
        }

        _peer.Kick();
    }

    private int DrawSendError()
    {
        if (++_sendErrorsInARow > ErrorsInARowMax)
        {
            return 0;
        }

        if (_world.Strikes(FaultKind.BrokenPipe, Number))
        {
            Die();
            return -Errno.EPIPE;
        }

        return _world.Strikes(FaultKind.Interrupted, Number) ? -Errno.EINTR
            : _world.Strikes(FaultKind.TryAgain, Number) ? -Errno.EAGAIN
            : _world.Strikes(FaultKind.NoBufferSpace, Number) ? -Errno.ENOBUFS
            : _world.Strikes(FaultKind.NoMemory, Number) ? -Errno.ENOMEM
            : 0;
    }

    /// <summary>With the error only if nothing was sent: a count comes first, and the error with the next call.</summary>
    private void FinishSend(int error)
    {
        if (_send is not null)
        {
            Finish(ref _send, _send.Transferred > 0 ? (int)_send.Transferred : error);
        }
    }
}
