using Millrace.Engine.Backends;
using Millrace.Engine.Operations;
using Millrace.Interop;

namespace Millrace.Engine.Datagrams;

/// <summary>
/// The input of a <see cref="DatagramSocket"/>: its one receive, which goes on. Buffers that the iteration has no time for are kept for
/// the next one; while all are kept the kernel drops what its own buffer does not hold. Reactor thread; buffers are the backend's.
/// </summary>
internal sealed unsafe class DatagramReceiver(DatagramSocket socket) : ReactorOperation(socket.Reactor, OperationKind.ReceiveDatagrams)
{
    /// <summary>After an error that a retry at once meets again, such as a lack of memory.</summary>
    private const int PauseMs = 10;

    private readonly Queue<Completion> _kept = new();
    private readonly LogRateLimiter _pauseLines = new();
    private Action? _handleKept;
    private bool _isArmed;
    private bool _hasFailed;

    public bool HasStarted { get; private set; }

    /// <summary>Whether nothing is in flight, and no buffer kept.</summary>
    public bool IsIdle => !HasStarted || HasEnded;

    private bool HasEnded { get; set; }

    /// <summary>Starts to receive; false if the reactor ends.</summary>
    public bool TryStart()
    {
        HasStarted = TryEnter(CancellationToken.None, out _);
        if (HasStarted)
        {
            Arm();
        }

        return HasStarted;
    }

    /// <summary>Has <see cref="DatagramSocket.OnTime"/> called after a pause.</summary>
    public void WakeAfterPause()
    {
        if (HasStarted && !IsEnding)
        {
            Reactor.Operations.WakeAt(this, Reactor.ClockMs + PauseMs);
        }
    }

    protected override void Completed(in Completion completion)
    {
        if (completion.HasBuffer)
        {
            Take(completion);
        }

        if (!completion.IsTerminal)
        {
            return;
        }

        _isArmed = false;
        if (IsEnding)
        {
            Ended();
            return;
        }

        switch (-completion.Result)
        {
            case <= 0:
                // An empty datagram ends the ring's operation.
                break;
            case Errno.ENOBUFS:
                socket.Counters.ReceivesStarved++;
                break;
            case Errno.EINTR or Errno.EAGAIN or Errno.ECANCELED:
                break;
            default:
                // Of an earlier send, or a lack of memory. The first one may be over.
                socket.Counters.ReceiveErrors++;
                if (_hasFailed)
                {
                    Pause(-completion.Result);
                    return;
                }

                _hasFailed = true;
                break;
        }

        ArmUnlessKept();
    }

    protected override void TimeReached()
    {
        Reactor.Operations.WakeAt(this, long.MaxValue);
        ArmUnlessKept();
        socket.OnTime();
    }

    protected override void Ended()
    {
        if (HasEnded)
        {
            // Closed by the handler, within the last completion.
            return;
        }

        while (_kept.TryDequeue(out Completion kept))
        {
            Reactor.Backend.ReturnDatagramBuffer(kept.BufferId);
        }

        HasEnded = true;
        Leave();
        // Also when the reactor ends it, and not its owner.
        socket.Close();
        socket.OnReceiveEnded();
    }

    private void Pause(int errno)
    {
        if (_pauseLines.Admits(Reactor.NowMs))
        {
            Reactor.Log.DatagramReceiveFailed(socket.LocalAddress.ToEndPoint(), Errno.Describe(errno));
        }

        WakeAfterPause();
    }

    /// <summary>Without a buffer a receive would end at once.</summary>
    private void ArmUnlessKept()
    {
        if (!_isArmed && _kept.Count == 0)
        {
            Arm();
        }
    }

    private void Arm()
    {
        _isArmed = true;
        Reactor.Backend.SubmitReceiveDatagrams(BeginSubmit(), socket.Descriptor);
    }

    private void Take(in Completion completion)
    {
        socket.Counters.Receives++;
        _hasFailed = false;
        if (_kept.Count == 0 && !IsEnding && !Reactor.Budget.IsPhaseOver)
        {
            Handle(completion);
            return;
        }

        if (IsEnding)
        {
            Reactor.Backend.ReturnDatagramBuffer(completion.BufferId);
            return;
        }

        socket.Counters.Postponed++;
        _kept.Enqueue(completion);
        if (_kept.Count == 1)
        {
            Reactor.Loop.Postpone(_handleKept ??= HandleKept);
        }
    }

    private void HandleKept()
    {
        while (_kept.TryDequeue(out Completion kept))
        {
            Handle(kept);
            if (_kept.Count > 0 && Reactor.Budget.IsSliceOver)
            {
                Reactor.Loop.Postpone(_handleKept!);
                return;
            }
        }

        if (!IsEnding)
        {
            ArmUnlessKept();
        }
    }

    private void Handle(in Completion completion)
    {
        var received = new ReceivedDatagrams(completion.Data, completion.Result, socket.LocalAddress.Port);
        DatagramCounters counters = socket.Counters;
        if (received.Drops is { } drops)
        {
            counters.KernelDrops += socket.KernelDrops.Advance(drops);
        }

        if (received.IsTruncated)
        {
            counters.Truncated++;
        }
        else
        {
            counters.Received += received.Count;
            counters.ReceivedBytes += received.PayloadBytes;
            Reactor.Counters.BytesReceived += received.PayloadBytes;
            if (received.PayloadBytes > 0)
            {
                socket.OnReceived(received);
            }
        }

        Reactor.Backend.ReturnDatagramBuffer(completion.BufferId);
    }
}
