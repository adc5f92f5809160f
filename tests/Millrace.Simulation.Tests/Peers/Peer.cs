using Millrace.Simulation.Tests.Kernel;
using Millrace.Simulation.Tests.Runs;

namespace Millrace.Simulation.Tests.Peers;

/// <summary>
/// The other end of one connection: sends in pieces, reads in pieces, checks every byte, and judges how the connection ended. What it is
/// sent has to be whole and its own, or the connection must have ended for a reason that it knows.
/// </summary>
internal abstract partial class Peer(World world, SimulationRun run, int number, PeerBehaviour behaviour, PeerSeal? seal = null) : IScheduled, ISocketPeer
{
    private const int ConnectEvent = 0;
    private const int StepEvent = 1;
    private const int WatchEvent = 2;
    private const int QuitEvent = 3;
    private const int EndEvent = 4;
    private const int UnreadEvent = 5;
    private const int VanishEvent = 6;

    private readonly int _sendPiece = world.Random.Between(1, world.Shape.SendPieceBytes);
    private readonly int _readPiece = world.Random.Between(1, 2 * world.Shape.ChunkBytes);
    private readonly int _readsBytes = behaviour switch
    {
        PeerBehaviour.NeverReads => world.Random.Below(2_000),
        PeerBehaviour.Floods => 0,
        _ => int.MaxValue,
    };

    private readonly SlowReading? _slowly = behaviour == PeerBehaviour.ReadsSlowly ? new SlowReading(world) : null;
    private bool _stepIsDue;
    private bool _isVanished;
    private bool _hasEnded;
    private bool _sawEnd;
    private long _movedAtMs;
    private long _nextCheckMs;
    private long _activeAtMs;
    private long _readBytes;
    private long _endsByMs = long.MaxValue;
    private long _nextDeadlineMs;
    private string _endsBy = "";

    public int Number { get; } = number;

    /// <summary>Whose connection it is, one of several perhaps.</summary>
    public int Client { get; } = world.Random.Below(world.Shape.Clients);

    public bool IsDone { get; private set; }

    /// <summary>It has closed its socket: what is sent to it meets a reset.</summary>
    public bool IsGone { get; private set; }

    public virtual bool MayBeHalfOpen => false;

    protected World World { get; } = world;

    protected SimulationRun Run { get; } = run;

    protected PeerBehaviour PeerBehaviour { get; } = behaviour;

    protected SimulatedSocket Socket { get; private set; } = null!;

    /// <summary>Whether it has said that it sends no more.</summary>
    protected bool HasEnded => _hasEnded || _isEnding;

    protected bool IsReading => _readBytes < _readsBytes && !_isVanished;

    /// <summary>Whether it wants its bytes as soon as they are there.</summary>
    protected bool IsEager => IsReading && _slowly is null;

    /// <summary>Whether the server may end a connection that it has nothing to send on, whoever is still reading.</summary>
    protected bool MayBeLeftBehind => _slowly is not null;

    /// <summary>Bytes that it may send now; empty for none.</summary>
    protected abstract ReadOnlySpan<byte> Outgoing { get; }

    /// <summary>Whether everything it wanted to send is sent.</summary>
    protected abstract bool HasSentAll { get; }

    /// <summary>Whether the server has all that it needs for bytes that it has not sent.</summary>
    protected abstract bool IsOwed { get; }

    /// <summary>Whether the connection may end in order here: not within an answer.</summary>
    protected abstract bool IsBetweenResponses { get; }

    /// <summary>Whether everything it wanted was received.</summary>
    protected abstract bool HasReceivedAll { get; }

    /// <summary>Whether an answer has said that it is the last.</summary>
    protected virtual bool WasReportedOfEnd => false;

    /// <summary>Before that the server must not end a connection on which everything is answered; 0 for at any time.</summary>
    protected virtual long EarliestEndMs => 0;

    /// <summary>Whether its last request may have crossed an end that was due.</summary>
    protected virtual bool MayHaveComeLate => false;

    /// <summary>Whether what it has asked for allows to break the connection.</summary>
    protected virtual bool MayBreak => false;

    /// <summary>Whether the server ends a connection by itself on which nothing happens.</summary>
    protected abstract bool HasDeadlines { get; }

    protected abstract SimulatedListener Listener { get; }

    public void Begin(int afterMs) => World.EventQueue.In(afterMs, this, ConnectEvent);

    public void Act(int eventId)
    {
        if (IsDone)
        {
            return;
        }

        switch (eventId)
        {
            case ConnectEvent:
                Connect();
                break;
            case StepEvent:
                _stepIsDue = false;
                Step();
                break;
            case WatchEvent:
                WatchProgress();
                break;
            case QuitEvent:
                Quit();
                break;
            case EndEvent:
                CheckEnd();
                break;
            case UnreadEvent:
                CheckUnread();
                break;
            case VanishEvent:
                Vanish();
                break;
        }
    }

    /// <summary>Something may have changed on its connection.</summary>
    public void Kick()
    {
        _activeAtMs = World.NowMs;
        if (!IsDone && !_stepIsDue)
        {
            _stepIsDue = true;
            World.EventQueue.In(World.Shape.PaceMs == 0 ? 0 : World.Random.Between(1, World.Shape.PaceMs), this, StepEvent);
        }
    }

    /// <summary>So many bytes more have reached the server.</summary>
    public virtual void OnDelivered(int count)
    {
    }

    /// <summary>Time has passed, or something has come.</summary>
    protected virtual void Check()
    {
    }

    /// <summary>The server begins to send.</summary>
    public virtual void OnServerSends()
    {
    }

    /// <summary>Its deadlines may have passed on the way.</summary>
    public void OnClockJump() => Socket?.OnClockJump();

    /// <summary>Takes bytes that the server sent, all of them, and fails for what is wrong.</summary>
    protected abstract void Take(ReadOnlySpan<byte> bytes);

    /// <summary>So many of the outgoing bytes are sent.</summary>
    protected abstract void OnSent(int count);

    protected void Fail(string what) => World.Fail(Number, what);

    /// <summary>Looks again after so long.</summary>
    protected void KickIn(int ms) => World.EventQueue.In(ms, this, StepEvent);

    /// <summary>Called when everything is sent: what a behaviour does then.</summary>
    protected virtual void OnSentAll()
    {
        if (PeerBehaviour == PeerBehaviour.HalfCloses)
        {
            EndOutput();
        }
    }

    /// <summary>It ends what it sends, in order.</summary>
    protected virtual void OnEnding()
    {
    }

    protected void EndOutput()
    {
        OnEnding();
        if (seal is { IsOpen: true } && !IsGone)
        {
            Seal(seal);
        }
        else if (!_hasEnded)
        {
            _hasEnded = true;
            Socket.EndByPeer();
        }
    }

    private void Connect()
    {
        Socket = new SimulatedSocket(World, Run.Kernel, this, World.Random.Between(World.Shape.ChunkBytes, 4 * World.Shape.ChunkBytes))
        {
            MayBeRefused = Listener.TellsRefused,
        };
        World.Trace.Note(Number, TraceEvent.Connects, (int)PeerBehaviour);
        if (!Listener.TryConnect(Socket))
        {
            End();
            return;
        }

        NoteProgress();
        World.EventQueue.In(World.Shape.SlackMs, this, WatchEvent);
        if (PeerBehaviour is PeerBehaviour.Resets or PeerBehaviour.Leaves)
        {
            World.EventQueue.In(World.Random.Below(World.Random.Pick<int>(5, 100, 2_000)), this, QuitEvent);
        }

        if (PeerBehaviour == PeerBehaviour.Vanishes)
        {
            World.EventQueue.In(World.Random.Below(World.Random.Pick<int>(5, 100, 2_000, 20_000)), this, VanishEvent);
        }

        if (_readsBytes == 0)
        {
            StopReading();
        }

        Kick();
    }

    private void Step()
    {
        Check();
        Read();
        if (!IsDone)
        {
            Send();
        }

        bool canRead = !IsReading ? Socket.IsClosed || Socket.DownlinkReset
            : Socket.Downlink.Count > 0 ? _slowly is null || _slowly.MayRead
            : Socket.DownlinkEnded || Socket.DownlinkReset;
        bool hasToSend = seal is null ? Outgoing.Length > 0 : HasToSeal;
        bool canSend = !_isVanished && !_hasEnded && hasToSend && Socket.Uplink.Room > 0;
        if (!IsDone && (canRead || canSend))
        {
            Kick();
        }
    }

    private void Read()
    {
        if (!IsReading)
        {
            if (Socket.IsClosed || Socket.DownlinkReset)
            {
                End();
            }

            return;
        }

        int count = (int)Math.Min(Math.Min(_readPiece, Socket.Downlink.Count), _readsBytes - _readBytes);
        if (_slowly is not null && count > 0)
        {
            count = _slowly.Take(count, out long againAtMs);
            CheckAgainAt(againAtMs);
        }

        if (count > 0)
        {
            World.Trace.Note(Number, TraceEvent.PeerReads, count);
            NoteProgress();
            _readBytes += count;
            Open(Socket.Downlink.Bytes[..count]);
            Socket.ConsumeByPeer(count);
            if (!IsReading)
            {
                StopReading();
            }
            else if (HasReceivedAll)
            {
                OnReceivedAll();
            }
        }
        else if (Socket.DownlinkReset)
        {
            JudgeReset();
        }
        else if (Socket.DownlinkEnded && Socket.Downlink.Count == 0)
        {
            JudgeEnd();
        }
    }

    private void Send()
    {
        if (_hasEnded || _isVanished)
        {
            return;
        }

        if (seal is not null)
        {
            SendSealed(seal);
            return;
        }

        int count = Math.Min(Math.Min(Outgoing.Length, _sendPiece), Socket.Uplink.Room);
        if (count == 0)
        {
            return;
        }

        World.Trace.Note(Number, TraceEvent.PeerSends, count);
        Socket.SendByPeer(Outgoing[..count]);
        OnSent(count);
        if (HasSentAll)
        {
            OnSentAll();
        }
    }

    private void CheckAgainAt(long atMs)
    {
        if (_nextCheckMs <= World.NowMs)
        {
            _nextCheckMs = Math.Max(atMs, World.NowMs + 1);
            World.EventQueue.At(_nextCheckMs, this, StepEvent);
        }
    }

    private void StopReading()
    {
        Socket.Excuse();
        World.EventQueue.In(UnreadMs, this, UnreadEvent);
    }

    private void OnReceivedAll()
    {
        if (PeerBehaviour is PeerBehaviour.Polite or PeerBehaviour.ReadsSlowly or PeerBehaviour.Resets or PeerBehaviour.Leaves && !WasReportedOfEnd)
        {
            Close();
        }
    }

    private void Quit()
    {
        if (PeerBehaviour == PeerBehaviour.Resets || Socket.Downlink.Count > 0)
        {
            Socket.ResetByPeer();
            IsGone = true;
            End();
        }
        else
        {
            Close();
        }
    }

    /// <summary>Nothing is sent any more, and nothing is taken; what comes meets a host that knows nothing of it, or nobody.</summary>
    private void Vanish()
    {
        World.Trace.Note(Number, TraceEvent.PeerVanishes);
        _isVanished = true;
        IsGone = World.Random.Chance(300);
        if (HasDeadlines)
        {
            StopReading();
        }
        else
        {
            Socket.Excuse();
            End();
        }
    }

    private void Close()
    {
        Socket.Excuse();
        IsGone = true;
        EndOutput();
        End();
    }

    private long UnreadMs
    {
        get
        {
            RunShape shape = World.Shape;
            TimeSpan waits = new[] { shape.HttpLimits.KeepAlive, shape.HttpLimits.Head, shape.HttpLimits.Body }.Max();
            TimeSpan all = waits + (2 * shape.Limits.WriteStall) + shape.Limits.Linger;
            return (long)all.TotalMilliseconds + (2 * shape.SlackMs) + (2 * Run.Upstreams?.Shape.TunnelIdleMs ?? 0);
        }
    }

    private void End()
    {
        if (!IsDone)
        {
            IsDone = true;
            World.Trace.Note(Number, TraceEvent.PeerIsDone);
            Run.OnPeerDone();
        }
    }
}
