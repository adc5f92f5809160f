using System.Collections.Concurrent;
using System.Runtime.InteropServices;
using System.Threading.Channels;
using Microsoft.Win32.SafeHandles;
using Millrace.Engine.Backends;
using Millrace.Interop;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Tests.Kit;

/// <summary>
/// A kernel that does what the test says: submissions are told to the test one by one, completions and the clock are its own.
/// What is submitted in one iteration is reported at its end, as the kernel would see it.
/// </summary>
internal sealed class ScriptedBackend : Backend
{
    private const int BufferBytes = 4096;

    private readonly Channel<Submission> _reported = Channel.CreateUnbounded<Submission>();
    private readonly ConcurrentQueue<(OperationToken Token, int Result, byte[] Data, CompletionFlags Flags)> _script = new();
    private readonly SemaphoreSlim _signal = new(0);
    private readonly ConcurrentDictionary<OperationToken, string> _outstanding = new();
    private readonly List<nint> _buffers = [];
    private readonly HashSet<nint> _lentBuffers = [];
    private volatile bool _cancelsAll;
    private long _nowMs = 1_000_000;
    private long _timestamp = 1;
    private int _wakes;

    public override string Name => "script";

    /// <summary>Few, to see who gets one.</summary>
    public override int ReceiveBufferCount => 2;

    public override int ReceiveBufferBytes => BufferBytes;

    public override long NowMs => ClockFault is null ? Volatile.Read(ref _nowMs) : throw ClockFault;

    /// <summary>What a look at the clock throws: a kernel queue that is there, and cannot be used.</summary>
    public Exception? ClockFault { get; init; }

    public bool IsDisposed { get; private set; }

    /// <summary>Goes on only by <see cref="Spend"/>.</summary>
    public override long Timestamp => Volatile.Read(ref _timestamp);

    /// <summary>From how many bytes on the reactor is to send without a copy.</summary>
    public long ZeroCopyFrom { get; set; } = long.MaxValue;

    public override long ZeroCopyBytesMin => ZeroCopyFrom;

    /// <summary>How often it was to end its wait.</summary>
    public int Wakes => Volatile.Read(ref _wakes);

    /// <summary>Receive buffers that were named by a completion and not returned.</summary>
    public int BuffersLent => _lentBuffers.Count;

    /// <summary>The next thing the reactor asks, which must be this.</summary>
    public async Task<Submission> ExpectAsync(string verb)
    {
        Submission next = await AnyAsync();
        Assert.Equal(verb, next.Verb);
        return next;
    }

    /// <summary>
    /// The next thing the reactor asks beside cancels, which it repeats for as long as the test's clock goes on and the end is not told.
    /// </summary>
    public async Task<Submission> ExpectAfterCancelsAsync(string verb)
    {
        Submission next = await AnyAsync();
        while (next.Verb == "cancel")
        {
            next = await AnyAsync();
        }

        Assert.Equal(verb, next.Verb);
        return next;
    }

    /// <summary>The next thing the reactor asks.</summary>
    public Task<Submission> AnyAsync() => _reported.Reader.ReadAsync().AsTask().Within();

    /// <summary>Whether the reactor has asked nothing since.</summary>
    public bool IsQuiet => _reported.Reader.Count == 0;

    public void Complete(Submission operation, int result, CompletionFlags flags = CompletionFlags.None, byte[]? data = null) =>
        CompleteTogether((operation, result, flags, data));

    /// <summary>Completions that come in one iteration.</summary>
    public void CompleteTogether(params (Submission Operation, int Result, CompletionFlags Flags, byte[]? Data)[] completions)
    {
        foreach ((Submission operation, int result, CompletionFlags flags, byte[]? data) in completions)
        {
            _script.Enqueue((operation.Token, result, data ?? [], flags));
        }

        _signal.Release();
    }

    /// <summary>Bytes for a receive, which goes on (or ends with them).</summary>
    public void Deliver(Submission receive, byte[] data, CompletionFlags flags = CompletionFlags.More) =>
        Complete(receive, data.Length, flags, data);

    /// <summary>From here on everything is cancelled at once: the end of a test that may have failed half way.</summary>
    public void CancelAll()
    {
        _cancelsAll = true;
        Wake();
    }

    public void AdvanceClock(long ms)
    {
        Interlocked.Add(ref _nowMs, ms);
        Signal();
    }

    /// <summary>What is done now takes so long.</summary>
    public void Spend(long ticks) => Interlocked.Add(ref _timestamp, ticks);

    public override void SubmitAccept(OperationToken token, int listenSocket) => Report("accept", token, listenSocket);

    public override unsafe void SubmitConnect(OperationToken token, int socket, byte* address, int bytes) =>
        Report("connect", token, socket, new ReadOnlySpan<byte>(address, bytes).ToArray());

    public override void SubmitReceive(OperationToken token, int socket, bool once = false) => Report("receive", token, socket);

    /// <summary>What calls that receive at once find, one after the other; none: nothing.</summary>
    public ConcurrentQueue<byte[]> Arrived { get; } = new();

    public override unsafe int ReceiveNow(int socket, byte* buffer, int bytes)
    {
        if (!Arrived.TryDequeue(out byte[]? arrived))
        {
            return -Errno.EAGAIN;
        }

        arrived.CopyTo(new Span<byte>(buffer, bytes));
        return arrived.Length;
    }

    /// <summary>What sockets have that can be moved, one look after the other; none: nothing.</summary>
    public ConcurrentQueue<byte[]> Movable { get; } = new();

    /// <summary>How many bytes a socket takes that are moved to it, one call after the other. None: all of them.</summary>
    public ConcurrentQueue<int> MoveRoom { get; } = new();

    /// <summary>What was taken to be moved, and is nowhere yet.</summary>
    private byte[] _inPipe = [];

    public override int MoveIn(int source, int bytes)
    {
        Assert.Empty(_inPipe);
        if (!Movable.TryDequeue(out byte[]? movable))
        {
            return -Errno.EAGAIN;
        }

        Assert.True(movable.Length <= bytes);
        _inPipe = movable;
        return movable.Length;
    }

    public override int MoveOut(int destination, int bytes, bool hasMore)
    {
        int count = MoveRoom.TryDequeue(out int room) ? Math.Min(room, bytes) : bytes;
        Reported(new Submission("move", default, destination, _inPipe[..count]));
        _inPipe = _inPipe[count..];
        return count;
    }

    public override unsafe void DrainMoved(byte* buffer, int bytes)
    {
        Assert.Equal(_inPipe.Length, bytes);
        _inPipe.CopyTo(new Span<byte>(buffer, bytes));
        _inPipe = [];
    }

    public override unsafe void SubmitSend(OperationToken token, int socket, in SendRequest send) => Report(
        send.IsZeroCopy ? "zero-copy send" : "send",
        token,
        socket,
        send.Message is null ? new ReadOnlySpan<byte>(send.Data, (int)send.Bytes).ToArray() : BytesOf(send.Message));

    private static unsafe byte[] BytesOf(MessageHeader* message)
    {
        using var all = new MemoryStream();
        for (nuint i = 0; i < message->VectorCount; i++)
        {
            all.Write(new ReadOnlySpan<byte>(message->Vectors[i].Address, (int)message->Vectors[i].Bytes));
        }

        return all.ToArray();
    }

    public override void SubmitAwaitRoom(OperationToken token, int socket) => Report("await room", token, socket);

    /// <summary>What calls that send at once come to, one after the other: how many bytes at most, or an error. None: all of it.</summary>
    public ConcurrentQueue<int> Calls { get; } = new();

    /// <summary>Shut by a test that wants a send of another thread to last.</summary>
    public ManualResetEventSlim Gate { get; } = new(initialState: true);

    public override unsafe nint SendNow(int socket, MessageHeader* message, bool hasMore = false)
    {
        nint result = Called(hasMore ? "send before more" : "send now", socket, BytesOf(message));
        Assert.True(Gate.Wait(EngineTest.Patience));
        return result;
    }

    public override nint SendFile(int socket, int file, long offset, nuint bytes)
    {
        byte[] content = new byte[(int)bytes];
        using var pages = new SafeFileHandle(file, ownsHandle: false);
        return Called("send file", socket, content[..RandomAccess.Read(pages, content, offset)]);
    }

    /// <summary>How much of a file is at hand, one look after the other. None: all of it.</summary>
    public ConcurrentQueue<long> Cached { get; } = new();

    public override long CachedBytes(int file, long offset, long bytes) =>
        Cached.TryDequeue(out long cached) ? Math.Min(cached, bytes) : bytes;

    public override FilePagePolicy FilePages { get; } = new(BytesMin: 1_000, PeerQueueBytes: 20_000, OwnQueueBytes: 10_000);

    private nint Called(string verb, int socket, byte[] bytes)
    {
        int result = Calls.TryDequeue(out int scripted) ? Math.Min(scripted, bytes.Length) : bytes.Length;
        Reported(new Submission(verb, default, socket, bytes[..Math.Max(result, 0)]));
        return result;
    }

    public override unsafe void SubmitRead(OperationToken token, int file, byte* destination, int bytes, long offset) =>
        Report("read", token, file);

    /// <summary>What a UDP socket is bound to, as a <c>struct sockaddr</c>.</summary>
    public byte[] Local { get; set; } = DatagramScript.AnyAddress(port: 443);

    /// <summary>Whether it can cut sends.</summary>
    public bool Segments { get; set; } = true;

    public override void PrepareDatagrams()
    {
    }

    public override void SubmitReceiveDatagrams(OperationToken token, int socket) => Report("receive datagrams", token, socket);

    /// <summary>The control messages of each send, in order.</summary>
    public ConcurrentQueue<byte[]> Controls { get; } = new();

    public override unsafe void SubmitSendDatagram(OperationToken token, int socket, MessageHeader* message)
    {
        Controls.Enqueue(new ReadOnlySpan<byte>(message->Control, (int)message->ControlBytes).ToArray());
        Report("send datagram", token, socket, BytesOf(message));
    }

    public override void ReturnDatagramBuffer(ushort bufferId) => ReturnBuffer(bufferId);

    public override int LocalAddress(int socket, Span<byte> address)
    {
        Local.CopyTo(address);
        return Local.Length;
    }

    public override bool CanSegment(int socket) => Segments;

    public override void SubmitCancel(OperationToken target) => Report("cancel", target, -1);

    public override unsafe ReadOnlySpan<Completion> Poll(long timeoutMs)
    {
        if (_cancelsAll)
        {
            foreach (OperationToken token in _outstanding.Keys)
            {
                _script.Enqueue((token, -Errno.ECANCELED, [], CompletionFlags.None));
            }
        }
        else if (timeoutMs != 0)
        {
            _ = _signal.Wait(EngineTest.Patience);
        }

        var completions = new List<Completion>();
        while (_script.TryDequeue(out (OperationToken Token, int Result, byte[] Data, CompletionFlags Flags) next))
        {
            var completion = new Completion { Token = next.Token, Result = next.Result, Flags = next.Flags };
            if (next.Data.Length > 0)
            {
                completion.Data = (byte*)NativeMemory.Alloc(BufferBytes);
                next.Data.CopyTo(new Span<byte>(completion.Data, BufferBytes));
                completion.Flags |= CompletionFlags.HasBuffer;
                completion.BufferId = (ushort)_buffers.Count;
                _buffers.Add((nint)completion.Data);
                _lentBuffers.Add((nint)completion.Data);
            }

            if ((next.Flags & CompletionFlags.More) == 0)
            {
                _outstanding.TryRemove(next.Token, out _);
            }

            completions.Add(completion);
        }

        return completions.ToArray();
    }

    /// <summary>Scribbles over it: who still looks there sees that it was another's.</summary>
    public override unsafe void ReturnBuffer(ushort bufferId)
    {
        Assert.True(_lentBuffers.Remove(_buffers[bufferId]), "A receive buffer was returned twice.");
        new Span<byte>((void*)_buffers[bufferId], BufferBytes).Fill(0xDB);
    }

    /// <summary>At any time, as that of other backends: who posts what ends a reactor may come to it when that has ended.</summary>
    public override void Wake()
    {
        Interlocked.Increment(ref _wakes);
        Signal();
    }

    private void Signal()
    {
        try
        {
            _signal.Release();
        }
        catch (ObjectDisposedException)
        {
            // Nobody is there to be woken.
        }
    }

    public override void CloseSocket(int socket) => Reported(new Submission("close", socket));

    public override void ShutdownSend(int socket) => Reported(new Submission("shutdown", socket));

    public override void ResetOnClose(int socket) => Reported(new Submission("reset", socket));

    /// <summary>What peers have taken, as the backend measures it.</summary>
    public long Taken { get; set; }

    /// <summary>Who the next peers are, in the order of their sockets; nobody when it is empty.</summary>
    public ConcurrentQueue<byte[]> Peers { get; } = new();

    public override int UnacknowledgedBytes(int socket) => Unacknowledged;

    /// <summary>Bytes of those sent that no peer has acknowledged.</summary>
    public int Unacknowledged { get; set; }

    public override int PeerAddress(int socket, Span<byte> address)
    {
        if (!Peers.TryDequeue(out byte[]? peer))
        {
            return -Errno.ENOTCONN;
        }

        peer.CopyTo(address);
        return peer.Length;
    }

    public bool Over { get; set; }

    public override bool IsOver(int socket) => Over;

    public override long SendProgress(int socket) => Taken;

    protected override unsafe void Dispose(bool disposing)
    {
        IsDisposed = true;
        foreach (nint buffer in _buffers)
        {
            NativeMemory.Free((void*)buffer);
        }

        _signal.Dispose();
        Gate.Dispose();
    }

    private void Report(string verb, OperationToken token, int socket, byte[]? bytes = null)
    {
        if (verb != "cancel")
        {
            Assert.True(_outstanding.TryAdd(token, verb), $"A {verb} was submitted while one was in flight.");
        }

        Reported(new Submission(verb, token, socket, bytes ?? []));
    }

    private void Reported(Submission submission) => Assert.True(_reported.Writer.TryWrite(submission));
}
