using System.Buffers.Binary;
using Millrace.Quic.Connections;
using Millrace.Quic.Streams;
using Millrace.Simulation.Tests.Runs;

namespace Millrace.Simulation.Tests.Quic;

/// <summary>The application of one side of one connection. Both sides know the truth, and say what contradicts it.</summary>
internal abstract class QuicApplication(QuicRun run, bool isClient) : IQuicConnectionHandler
{
    private readonly byte[] _buffer = new byte[3_000];
    private bool _isComplete;

    public QuicTruth? Truth { get; protected set; }

    public QuicConnection? Connection { get; set; }

    public CloseReason? Reason { get; private set; }

    protected QuicRun Run { get; } = run;

    protected byte[] Buffer => _buffer;

    public void OnHandshakeComplete(QuicConnection connection)
    {
        Check(!_isComplete, "the handshake was complete twice");
        _isComplete = true;
        Connection = connection;
        OnComplete(connection);
    }

    public void OnStream(QuicConnection connection, QuicStream stream, StreamEvents events)
    {
        Check(_isComplete, "a stream before the handshake was complete");
        Check(Reason is null, "a stream after the end");
        if ((events & StreamEvents.Opened) != 0)
        {
            OnOpened(stream);
        }

        if (stream.Tag is not StreamWork work)
        {
            return;
        }

        if ((events & StreamEvents.Reset) != 0)
        {
            bool isMeant = Truth is { } truth && (truth.Aborted.Contains((stream.Id, !isClient)) || truth.Stopped.Contains((stream.Id, isClient)));
            Check(isMeant, $"stream {stream.Id} was reset by nobody");
            work.IsCut = true;
            OnCut(stream, work);
        }

        if ((events & StreamEvents.StopSending) != 0)
        {
            Check(Truth is null || Truth.Stopped.Contains((stream.Id, !isClient)), $"stream {stream.Id} was stopped by nobody");
            work.IsFinished = true;
        }

        if ((events & (StreamEvents.Readable | StreamEvents.Opened)) != 0 && !work.IsCut)
        {
            Read(stream, work);
        }

        if ((events & (StreamEvents.Writable | StreamEvents.Readable)) != 0 && stream.IsOpen)
        {
            Write(stream, work);
        }

        if ((events & StreamEvents.Closed) != 0)
        {
            OnStreamClosed(stream, work);
        }
    }

    public virtual void OnStreamsAvailable(QuicConnection connection)
    {
    }

    public virtual void OnNewToken(QuicConnection connection, ReadOnlySpan<byte> token)
    {
    }

    public void OnClosed(QuicConnection connection, in CloseReason reason)
    {
        Check(Reason is null, "the end was reported twice");
        Reason = reason;
        OnEnded(connection, reason);
    }

    /// <summary>Reads what is there, unless the reader pauses.</summary>
    public void Read(QuicStream stream, StreamWork work)
    {
        while (!work.IsPaused && !work.IsCut && stream.TryRead(out ReadOnlySpan<byte> bytes))
        {
            if (Run.Swarm.Strikes(QuicFault.SlowReader, Run.Random))
            {
                Run.Counts.Count(QuicFault.SlowReader);
                work.IsPaused = true;
                Run.Events.In(Run.Random.Between(1, 500) * QuicShape.Millisecond, new Resume(this, Connection!, stream, stream.Id, work), 0);
                return;
            }

            int count = Run.Random.Chance(100) ? Run.Random.Between(1, bytes.Length) : bytes.Length;
            OnBytes(stream, work, bytes[..count]);
            work.Received += count;
            stream.Consume(count);
            if (work.StopAt >= 0 && work.Received >= work.StopAt && !stream.IsReadToEnd)
            {
                Truth!.Stopped.Add((stream.Id, isClient));
                work.IsCut = true;
                stream.StopSending(QuicTruth.StopCode);
            }
        }
    }

    protected abstract void OnComplete(QuicConnection connection);

    protected abstract void OnOpened(QuicStream stream);

    protected abstract void OnBytes(QuicStream stream, StreamWork work, ReadOnlySpan<byte> bytes);

    protected abstract void Write(QuicStream stream, StreamWork work);

    /// <summary>The peer has reset the stream.</summary>
    protected virtual void OnCut(QuicStream stream, StreamWork work)
    {
    }

    protected abstract void OnStreamClosed(QuicStream stream, StreamWork work);

    protected abstract void OnEnded(QuicConnection connection, in CloseReason reason);

    protected void Check(bool isTrue, string what)
    {
        if (!isTrue)
        {
            Run.Fail(Truth?.Number ?? -1, $"{(isClient ? "client" : "server")}: {what}");
        }
    }

    /// <summary>A reader that goes on after a pause.</summary>
    private sealed class Resume(QuicApplication application, QuicConnection connection, QuicStream stream, long id, StreamWork work) : IScheduled
    {
        public void Act(int eventId)
        {
            work.IsPaused = false;
            if (!connection.IsEnding && stream.Id == id && stream.Tag == work)
            {
                application.Read(stream, work);
                if (stream.IsOpen)
                {
                    application.Write(stream, work);
                }

                application.Run.Pump(connection);
            }
        }
    }
}

/// <summary>The client: opens the streams of its plan, and closes when all of them have ended.</summary>
internal sealed class QuicClientApplication : QuicApplication
{
    private readonly Queue<(bool IsBidirectional, StreamWork Work)> _plan = new();
    private readonly Queue<(bool IsBidirectional, StreamWork Work)> _waiting = new();
    private int _left;
    private int _pushesLeft;

    public QuicClientApplication(QuicRun run, QuicTruth truth)
        : base(run, isClient: true)
    {
        Truth = truth;
        _left = run.Random.Between(1, run.Shape.Streams);
        _pushesLeft = truth.Pushes;
        for (int i = 0; i < _left; i++)
        {
            _plan.Enqueue(Make(run, truth));
        }
    }

    public byte[]? Token { get; private set; }

    public override void OnStreamsAvailable(QuicConnection connection) => OpenStreams(connection);

    public override void OnNewToken(QuicConnection connection, ReadOnlySpan<byte> token) => Token = token.ToArray();

    protected override void OnComplete(QuicConnection connection) => OpenStreams(connection);

    protected override void OnOpened(QuicStream stream)
    {
        Check(!stream.IsBidirectional, "the server opened a bidirectional stream");
        stream.Tag = new StreamWork(Truth!, isClient: true) { ReceiveTotal = Truth!.PushBytes, IsFinished = true };
    }

    protected override void OnBytes(QuicStream stream, StreamWork work, ReadOnlySpan<byte> bytes)
    {
        string? wrong = work.Check(stream.Id, bytes, 0);
        Check(wrong is null, wrong ?? "");
        Check(work.Received + bytes.Length <= work.ReceiveTotal, $"more bytes than {work.ReceiveTotal} on stream {stream.Id}");
    }

    protected override void Write(QuicStream stream, StreamWork work) => work.Write(stream, Buffer, hasHead: true);

    protected override void OnStreamClosed(QuicStream stream, StreamWork work)
    {
        bool hasReceiver = stream.IsBidirectional || stream.IsPeers;
        Check(!hasReceiver || work.IsCut || work.Received == work.ReceiveTotal, $"stream {stream.Id} ended after {work.Received} of {work.ReceiveTotal}");
        if (stream.IsPeers)
        {
            _pushesLeft--;
        }
        else
        {
            _left--;
        }

        if (_left == 0 && _pushesLeft == 0)
        {
            Truth!.IsClientDone = true;
            Truth.IsClosedByClient = true;
            Truth.ClosedCode = QuicTruth.DoneCode;
            Connection!.Close(QuicTruth.DoneCode, "done", Run.Events.Now);
        }
        else if (Run.Swarm.Strikes(QuicFault.ClosedEarly, Run.Random))
        {
            Run.Counts.Count(QuicFault.ClosedEarly);
            Truth!.IsClosedByClient = true;
            Truth.ClosedCode = QuicTruth.EarlyCode;
            Connection!.Close(QuicTruth.EarlyCode, "early", Run.Events.Now);
        }
    }

    protected override void OnEnded(QuicConnection connection, in CloseReason reason) => Run.OnClientEnded(this, connection, reason);

    private static (bool IsBidirectional, StreamWork Work) Make(QuicRun run, QuicTruth truth)
    {
        SeededRandom random = run.Random;
        int most = Math.Min(run.Shape.StreamBytes, 400_000 / run.Shape.Streams);
        bool isBidirectional = random.Chance(750);
        StreamWork work = new(truth, isClient: true)
        {
            ResponseBytes = isBidirectional ? random.Below(most) : 0,
            SendTotal = StreamWork.HeadLength + random.Below(random.Chance(500) ? 100 : most),
        };
        work.ReceiveTotal = work.ResponseBytes;
        if (run.Swarm.Has(QuicFault.StreamReset) && random.Chance(150))
        {
            run.Counts.Count(QuicFault.StreamReset);
            work.AbortAt = random.Below((int)work.SendTotal);
        }

        if (run.Swarm.Has(QuicFault.StreamReset) && isBidirectional && random.Chance(150))
        {
            run.Counts.Count(QuicFault.StreamReset);
            work.PeerAbortAt = random.Below(work.ResponseBytes + 1);
        }

        if (run.Swarm.Has(QuicFault.StopSending) && isBidirectional && random.Chance(150))
        {
            run.Counts.Count(QuicFault.StopSending);
            work.StopAt = random.Below(work.ResponseBytes + 1);
        }

        if (run.Swarm.Has(QuicFault.StopSending) && random.Chance(150))
        {
            run.Counts.Count(QuicFault.StopSending);
            work.PeerStopAt = random.Below((int)work.SendTotal);
        }

        work.MakeHead();
        return (isBidirectional, work);
    }

    private void OpenStreams(QuicConnection connection)
    {
        for (int i = _plan.Count; i > 0; i--)
        {
            (bool isBidirectional, StreamWork work) = _plan.Dequeue();
            if (!connection.Streams.TryOpen(isBidirectional, out QuicStream? stream))
            {
                _waiting.Enqueue((isBidirectional, work));
                continue;
            }

            stream!.Tag = work;
            if (Run.Random.Chance(300))
            {
                stream.SetPriority(Run.Random.Below(8), Run.Random.Chance(500));
            }

            work.Write(stream, Buffer, hasHead: true);
        }

        while (_waiting.TryDequeue(out (bool IsBidirectional, StreamWork Work) waiting))
        {
            _plan.Enqueue(waiting);
        }
    }
}

/// <summary>The server: does what the head of each stream says, and sends some streams of its own.</summary>
internal sealed class QuicServerApplication : QuicApplication
{
    private int _pushesToOpen;

    /// <summary><paramref name="truth"/>: null for a client that is none.</summary>
    public QuicServerApplication(QuicRun run, QuicTruth? truth)
        : base(run, isClient: false)
    {
        Truth = truth;
        _pushesToOpen = truth?.Pushes ?? 0;
    }

    public override void OnStreamsAvailable(QuicConnection connection) => OpenPushes();

    protected override void OnComplete(QuicConnection connection)
    {
        Check(Truth is not null, "a handshake is complete with nobody");
        OpenPushes();
    }

    protected override void OnOpened(QuicStream stream) =>
        stream.Tag = new StreamWork(Truth!, isClient: false) { SendTotal = -1, IsFinished = !stream.IsBidirectional };

    protected override void OnBytes(QuicStream stream, StreamWork work, ReadOnlySpan<byte> bytes)
    {
        int inHead = (int)Math.Clamp(StreamWork.HeadLength - work.Received, 0, bytes.Length);
        bytes[..inHead].CopyTo(work.Head.AsSpan((int)Math.Min(work.Received, StreamWork.HeadLength)));
        if (inHead > 0 && work.Received + inHead == StreamWork.HeadLength)
        {
            Check(BinaryPrimitives.ReadUInt64LittleEndian(work.Head) == Truth!.Key, "the key of a head is another one");
            work.SendTotal = stream.IsBidirectional ? BinaryPrimitives.ReadInt32LittleEndian(work.Head.AsSpan(8)) : 0;
            work.AbortAt = BinaryPrimitives.ReadInt32LittleEndian(work.Head.AsSpan(12));
            work.StopAt = BinaryPrimitives.ReadInt32LittleEndian(work.Head.AsSpan(16));
        }

        string? wrong = work.Check(stream.Id, bytes, inHead);
        Check(wrong is null, wrong ?? "");
    }

    protected override void Write(QuicStream stream, StreamWork work)
    {
        if (work.SendTotal >= 0)
        {
            work.Write(stream, Buffer, hasHead: false);
        }
    }

    protected override void OnCut(QuicStream stream, StreamWork work)
    {
        if (work is { SendTotal: < 0, IsFinished: false })
        {
            // What the client wanted will never be known.
            Truth!.Aborted.Add((stream.Id, false));
            work.IsFinished = true;
            stream.Abort(QuicTruth.AbortCode);
        }
    }

    protected override void OnStreamClosed(QuicStream stream, StreamWork work)
    {
        if (!work.IsCut && stream.IsPeers)
        {
            Check(work.Received >= StreamWork.HeadLength, $"stream {stream.Id} ended within its head");
        }
    }

    protected override void OnEnded(QuicConnection connection, in CloseReason reason) => Run.OnServerEnded(this, connection, reason);

    private void OpenPushes()
    {
        while (_pushesToOpen > 0 && Connection!.Streams.TryOpen(isBidirectional: false, out QuicStream? stream))
        {
            _pushesToOpen--;
            StreamWork work = new(Truth!, isClient: false) { SendTotal = Truth!.PushBytes };
            stream!.Tag = work;
            work.Write(stream, Buffer, hasHead: false);
        }
    }
}
