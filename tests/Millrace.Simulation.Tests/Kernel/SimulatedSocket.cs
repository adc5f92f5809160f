using System.Globalization;
using Millrace.Interop;
using Millrace.Simulation.Tests.Faults;
using Millrace.Simulation.Tests.Peers;
using Millrace.Simulation.Tests.Runs;

namespace Millrace.Simulation.Tests.Kernel;

/// <summary>
/// One connection as the kernel sees it: what is on its way in both directions, how each has ended, and the receive and the send that
/// the server has in flight, which go on in steps.
/// </summary>
internal sealed class SimulatedSocket : IScheduled
{
    private const int ReceiveErrand = 0;
    private const int SendErrand = 1;
    private const int StallErrand = 2;
    private const int LingerErrand = 3;

    /// <summary>What the kernel queues of a peer that sends to a server that does not receive.</summary>
    private const int UplinkBytes = 8 * 1024;

    /// <summary>A fault that struck every time would leave no progress to be lost.</summary>
    private const int ErrorsInARowMax = 3;

    private readonly World _world;
    private readonly SimulatedBackend _kernel;
    private readonly Peer _peer;
    private Operation? _receive;
    private Operation? _send;
    private bool _receiveIsDue;
    private bool _sendIsDue;
    private bool _stallIsWatched;
    private long _stalledAtBytes;
    private int _receiveErrorsInARow;
    private int _sendErrorsInARow;
    private long _shutDownAtMs = long.MaxValue;
    private long _lackedBufferAtMs = -1;

    public SimulatedSocket(World world, SimulatedBackend kernel, Peer peer, int downlinkBytes)
    {
        _world = world;
        _kernel = kernel;
        _peer = peer;
        Uplink = new ByteQueue(UplinkBytes);
        Downlink = new ByteQueue(downlinkBytes);
    }

    public int Number => _peer.Number;

    /// <summary>The server's descriptor; negative while it has none.</summary>
    public int Descriptor { get; set; } = -1;

    /// <summary>From the peer to the server.</summary>
    public ByteQueue Uplink { get; }

    /// <summary>From the server to the peer.</summary>
    public ByteQueue Downlink { get; }

    /// <summary>The peer has sent its last byte.</summary>
    public bool UplinkEnded { get; private set; }

    /// <summary>The server has sent its last byte.</summary>
    public bool DownlinkEnded { get; private set; }

    /// <summary>A reset is all that the peer will see.</summary>
    public bool DownlinkReset { get; private set; }

    /// <summary>Reset by somebody: the server's next calls fail.</summary>
    public bool IsDead { get; private set; }

    public bool IsClosed { get; private set; }

    public bool ResetsOnClose { get; set; }

    /// <summary>Something happened after which the server may, or must, end the connection anywhere.</summary>
    public bool MayBreak { get; private set; }

    /// <summary>The server took the connection over, rather than shed it.</summary>
    public bool IsServed { get; set; }

    public int OperationsInFlight { get; set; }

    /// <summary>Bytes that the server sent.</summary>
    public long SentBytes { get; private set; }

    /// <summary>Bytes that the server received.</summary>
    public long ReceivedBytes { get; private set; }

    public void Act(int errand)
    {
        switch (errand)
        {
            case ReceiveErrand:
                _receiveIsDue = false;
                StepReceive();
                break;
            case SendErrand:
                _sendIsDue = false;
                StepSend();
                break;
            case StallErrand:
                CheckStall();
                break;
            case LingerErrand:
                CheckLinger();
                break;
        }
    }

    public void Submit(Operation operation)
    {
        if (operation.Kind == Engine.Backends.OperationKind.Receive)
        {
            _receive = operation;
            ScheduleReceive();
        }
        else
        {
            _send = operation;
            ScheduleSend();
        }
    }

    /// <summary>Ends an operation that was not faster.</summary>
    public void Cancel(Operation operation)
    {
        bool raced = _world.Strikes(FaultKind.CancelRaced, Number);
        if (operation == _receive)
        {
            if (raced)
            {
                StepReceive();
            }

            Finish(ref _receive, -Errno.ECANCELED);
        }
        else if (operation == _send)
        {
            if (raced)
            {
                StepSend();
            }

            FinishSend(-Errno.ECANCELED);
        }
    }

    /// <summary>The connection may end anywhere from now on, without a word.</summary>
    public void Excuse()
    {
        if (!MayBreak)
        {
            MayBreak = true;
            _world.Trace.Note(Number, TraceEvent.Breaks);
        }
    }

    /// <summary>The network, or somebody who resets, cuts the connection.</summary>
    public void Die()
    {
        IsDead = true;
        Excuse();
        ResetDownlink();
        Uplink.Clear();
        ScheduleReceive();
        ScheduleSend();
    }

    public void ShutDownSend()
    {
        _world.Trace.Note(Number, TraceEvent.ShutsDown);
        DownlinkEnded = true;
        _shutDownAtMs = _world.NowMs;
        _world.Agenda.In((long)_world.Shape.Limits.Linger.TotalMilliseconds + _world.Shape.SlackMs, this, LingerErrand);
        _peer.Kick();
    }

    /// <summary>The server closes: in order if nothing is unread and no reset was asked for.</summary>
    public void CloseByServer()
    {
        IsClosed = true;
        Descriptor = -1;
        bool lingered = _shutDownAtMs != long.MaxValue
            && _world.NowMs - _shutDownAtMs >= (long)_world.Shape.Limits.Linger.TotalMilliseconds;
        if (lingered)
        {
            Excuse();
        }

        _world.Trace.Note(Number, TraceEvent.Closes, ResetsOnClose ? 1 : 0, Uplink.Count);
        DownlinkEnded = true;
        if (ResetsOnClose || Uplink.Count > 0)
        {
            ResetDownlink();
        }

        Uplink.Clear();
        _peer.Kick();
    }

    // What the peer does.

    public void SendByPeer(ReadOnlySpan<byte> bytes)
    {
        if (IsClosed)
        {
            // The answer to bytes for nobody is a reset, and it destroys what the peer has not read.
            ResetDownlink();
        }
        else if (!IsDead)
        {
            Uplink.Append(bytes);
            ScheduleReceive();
        }
    }

    public void ConsumeByPeer(int count)
    {
        Downlink.Consume(count);
        ScheduleSend();
    }

    public void EndByPeer()
    {
        _world.Trace.Note(Number, TraceEvent.PeerEnds);
        UplinkEnded = true;
        ScheduleReceive();
    }

    public void ResetByPeer()
    {
        _world.Trace.Note(Number, TraceEvent.PeerResets);
        Die();
    }

    // What the server asked for.

    private void ScheduleReceive()
    {
        if (_receive is not null && !_receiveIsDue)
        {
            _receiveIsDue = true;
            _world.Agenda.In(_world.Latency(), this, ReceiveErrand);
        }
    }

    private void ScheduleSend()
    {
        if (_send is not null && !_sendIsDue)
        {
            _sendIsDue = true;
            _world.Agenda.In(_world.Latency(), this, SendErrand);
        }
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

        _receiveErrorsInARow = 0;
        Span<byte> buffer = _kernel.Slab.Lend(Number, out ushort id);
        int count = Math.Min(buffer.Length, Uplink.Count);
        count = _world.Strikes(FaultKind.Fragmented, Number) ? _world.Dice.Between(1, count) : count;
        Uplink.Bytes[..count].CopyTo(buffer);
        Uplink.Consume(count);
        ReceivedBytes += count;
        _peer.Kick();
        bool more = !_world.Strikes(FaultKind.MultishotEnded, Number);
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

    /// <summary>All buffers are with completions that are late: a server that asks again meanwhile must not stop the clock.</summary>
    private void OnNoBuffer()
    {
        if (_lackedBufferAtMs == _world.NowMs)
        {
            _receiveIsDue = true;
            _world.Agenda.In(1, this, ReceiveErrand);
            return;
        }

        _lackedBufferAtMs = _world.NowMs;
        Finish(ref _receive, -Errno.ENOBUFS);
    }

    private void StepSend()
    {
        if (_send is null)
        {
            return;
        }

        if (IsDead)
        {
            FinishSend(_world.Dice.Chance(500) ? -Errno.EPIPE : -Errno.ECONNRESET);
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
        count = count > 1 && _world.Strikes(FaultKind.Fragmented, Number) ? _world.Dice.Between(1, count) : count;
        if (count > 0)
        {
            _sendErrorsInARow = 0;
            send.Transfer(Downlink.Reserve(count));
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
        else
        {
            WatchStall();
        }
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

    private void Finish(ref Operation? operation, int result)
    {
        if (operation is not null)
        {
            _kernel.Post(operation, result);
            operation = null;
        }
    }

    private void ResetDownlink()
    {
        DownlinkReset = true;
        Downlink.Clear();
        _peer.Kick();
    }

    /// <summary>A peer that takes nothing is given up within twice the limit.</summary>
    private void WatchStall()
    {
        if (!_stallIsWatched)
        {
            _stallIsWatched = true;
            _stalledAtBytes = SentBytes;
            _world.Agenda.In(StallMs, this, StallErrand);
        }
    }

    private long StallMs => (2 * (long)_world.Shape.Limits.WriteStall.TotalMilliseconds) + _world.Shape.SlackMs;

    private void CheckStall()
    {
        _stallIsWatched = false;
        if (_send is null || IsDead)
        {
            return;
        }

        // The first look takes the measure: a leap over both of them was one.
        if (_stalledAtBytes == SentBytes && _world.NowMs > _world.JumpedAtMs + StallMs)
        {
            _world.Fail(Number, string.Create(CultureInfo.InvariantCulture, $"No byte was taken for twice the stall limit, at {SentBytes}."));
        }

        WatchStall();
    }

    private void CheckLinger()
    {
        if (IsClosed || IsDead)
        {
            return;
        }

        if (_world.NowMs <= _world.WithJumps(0))
        {
            _world.Agenda.At(_world.WithJumps(0) + 1, this, LingerErrand);
        }
        else
        {
            _world.Fail(Number, "The connection lingers beyond its limit.");
        }
    }
}
