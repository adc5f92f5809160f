using Millrace.Interop;
using Millrace.Simulation.Tests.Faults;
using Millrace.Simulation.Tests.Runs;

namespace Millrace.Simulation.Tests.Kernel;

/// <summary>
/// One connection as the kernel sees it: what is on its way in both directions, how each has ended, and the receive and the send that
/// the server has in flight, which go on in steps.
/// </summary>
internal sealed partial class SimulatedSocket : IScheduled
{
    private const int ReceiveEvent = 0;
    private const int SendEvent = 1;
    private const int StallEvent = 2;
    private const int LingerEvent = 3;

    /// <summary>What the kernel queues of a peer that sends to a server that does not receive.</summary>
    private const int UplinkBytes = 8 * 1024;

    /// <summary>What the engine grants to one that was idle when the server stops, and has all that it was sent.</summary>
    private const int IdleLingerMs = 100;

    /// <summary>A fault that struck every time would leave no progress to be lost.</summary>
    private const int ErrorsInARowMax = 3;

    private readonly World _world;
    private SimulatedBackend _kernel;
    private readonly ISocketPeer _peer;
    private Operation? _receive;
    private Operation? _send;
    private bool _receiveIsDue;
    private bool _sendIsDue;
    private int _receiveErrorsInARow;
    private int _sendErrorsInARow;
    private long _shutDownAtMs = long.MaxValue;
    private long _lackedBufferAtMs = -1;
    private long _admittedAtMs;
    private long _unacknowledgedAtEnd;

    public SimulatedSocket(World world, SimulatedBackend kernel, ISocketPeer peer, int downlinkBytes, bool isOutbound = false)
    {
        _world = world;
        _kernel = kernel;
        _peer = peer;
        IsOutbound = isOutbound;
        Uplink = new ByteQueue(UplinkBytes);
        Downlink = new ByteQueue(downlinkBytes);
        _credit = NewCredit();
        _mostCredit = NewCredit();
    }

    public int Number => _peer.Number;

    /// <summary>The server's descriptor; negative while it has none.</summary>
    public int Descriptor { get; set; } = -1;

    public ISocketPeer Other => _peer;

    /// <summary>The server has connected, or connects, to the peer.</summary>
    public bool IsOutbound { get; }

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

    /// <summary>The server's seal of it has its keys: from now on an end without a last word is a cut.</summary>
    public bool IsSealed { get; set; }

    /// <summary>The server took the connection over, rather than shed it.</summary>
    public bool IsTaken { get; private set; }

    public int OperationsInFlight { get; set; }

    /// <summary>Bytes that the server sent.</summary>
    public long SentBytes { get; private set; }

    /// <summary>Until then it is the disk's fault.</summary>
    public long SlowUntilMs { get; private set; }

    /// <summary>Bytes that the server received.</summary>
    public long ReceivedBytes { get; private set; }

    public void Act(int eventId)
    {
        switch (eventId)
        {
            case ReceiveEvent:
                _receiveIsDue = false;
                StepReceive();
                break;
            case SendEvent:
                _sendIsDue = false;
                StepSend();
                break;
            case StallEvent:
                CheckStall();
                break;
            case LingerEvent:
                CheckLinger();
                break;
        }
    }

    /// <summary>A reactor of the server takes the connection over.</summary>
    public void BeTaken(SimulatedBackend kernel)
    {
        if (!IsTaken)
        {
            IsTaken = true;
            _kernel = kernel;
            _admittedAtMs = _world.NowMs;
        }
    }

    /// <summary>The disk keeps the server waiting, and it its peer.</summary>
    public void BeSlowFor(int ms) => SlowUntilMs = _world.NowMs + ms;

    /// <summary>Bytes have reached the server.</summary>
    public void OnDelivered(int count) => _peer.OnDelivered(count);

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
            OnSendSubmitted();
            _peer.OnServerSends();
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
        _unacknowledgedAtEnd = UnacknowledgedBytes;
        _shutDownAtMs = _world.NowMs;
        _world.EventQueue.In((long)_world.Shape.Limits.Linger.TotalMilliseconds + _world.Shape.SlackMs, this, LingerEvent);
        _peer.Kick();
    }

    /// <summary>The server closes: in order if nothing is unread and no reset was asked for.</summary>
    public void CloseByServer()
    {
        IsClosed = true;
        Descriptor = -1;
        long lingeredMs = _shutDownAtMs == long.MaxValue ? 0 : _world.NowMs - _shutDownAtMs;
        bool wasIdle = _world.IsStopping && _unacknowledgedAtEnd == 0;
        if (lingeredMs >= (wasIdle ? IdleLingerMs : (long)_world.Shape.Limits.Linger.TotalMilliseconds))
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
        Acknowledge(count);
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

    private void CheckLinger()
    {
        if (IsClosed || IsDead || _peer.MayBeHalfOpen)
        {
            return;
        }

        if (_world.NowMs <= _world.WithJumps(0))
        {
            _world.EventQueue.At(_world.WithJumps(0) + 1, this, LingerEvent);
        }
        else
        {
            _world.Fail(Number, "The connection lingers beyond its limit.");
        }
    }
}
