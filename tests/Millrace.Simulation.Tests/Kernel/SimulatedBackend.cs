using System.Buffers.Binary;
using Millrace.Engine.Backends;
using Millrace.Engine.Listening;
using Millrace.Interop;
using Millrace.Simulation.Tests.Faults;
using Millrace.Simulation.Tests.Runs;

namespace Millrace.Simulation.Tests.Kernel;

/// <summary>
/// A kernel in memory, all of it on the reactor's thread: the world moves on inside of <see cref="Poll"/> and nowhere else, so that a run
/// follows from its seed. It does whatever a kernel may do, and refuses whatever a server must not.
/// </summary>
internal sealed unsafe partial class SimulatedBackend : Backend
{
    private readonly World _world;
    private readonly SimulationRun _simulation;
    private readonly CompletionQueue _queue;
    private readonly Completion[] _completions;
    private readonly List<(Operation? Operation, OperationToken CancelTarget)> _submitted = [];
    private readonly Dictionary<OperationToken, Operation> _operations = [];
    private readonly Dictionary<int, SimulatedSocket> _connections = [];
    private readonly DescriptorTable _descriptors;
    private bool _isWoken;
    private bool _hasBegun;
    private long _untilMs;
    private int _batch = int.MaxValue;
    private int _iterationsOfThisMs;
    private long _lastIterationMs;
    private int _lastIterations;
    private long _timestamp;

    public SimulatedBackend(World world, SimulationRun simulation)
    {
        _world = world;
        _simulation = simulation;
        _completions = new Completion[world.Shape.CompletionsPerIteration];
        _descriptors = simulation.Descriptors;
        Slab = new ReceiveSlab(world);
        _queue = new CompletionQueue(world, Slab);
    }

    public override string Name => "simulation";

    public override int ReceiveBufferCount => _world.Shape.ReceiveBuffers;

    public override int ReceiveBufferBytes => _world.Shape.ReceiveBufferBytes;

    public override long NowMs => _world.NowMs;

    /// <summary>Each look at it takes so long that connections with much to do are put off again and again.</summary>
    public override long Timestamp => _timestamp += System.Diagnostics.Stopwatch.Frequency / 30_000;

    public ReceiveSlab Slab { get; }

    public SimulationRun Simulation => _simulation;

    /// <summary>The ring is closed: what is still on the eventQueue finds no server, and no memory of it.</summary>
    public bool IsClosed { get; private set; }

    /// <summary>Operations whose terminal completion the reactor has not seen.</summary>
    public int OperationsInFlight => _operations.Count;

    public override void SubmitAccept(OperationToken token, int listenSocket)
    {
        if (At(listenSocket) is not SimulatedListener)
        {
            _world.Fail(Trace.NoConnection, $"An accept was submitted for {listenSocket}, which is no listener.");
        }

        Submit(new Operation(token, null) { Target = listenSocket });
    }

    public override int OpenSocket(int family)
    {
        if (_simulation.Upstreams is not { } upstreams)
        {
            _world.Fail(Trace.NoConnection, "A socket was opened to connect with: the server has nobody to connect to.");
            return -Errno.EACCES;
        }

        if (_world.Strikes(FaultKind.NoDescriptors, Trace.Kernel))
        {
            upstreams.NoteConnectFault();
            return -Errno.EMFILE;
        }

        return Open(upstreams.Open(this));
    }

    public override void SubmitConnect(OperationToken token, int socket, byte* address, int bytes)
    {
        if (At(socket) is not SimulatedSocket { IsOutbound: true } connection)
        {
            _world.Fail(Trace.NoConnection, $"A connect was submitted for {socket}, which was not opened for it.");
            return;
        }

        int port = BinaryPrimitives.ReadUInt16BigEndian(new ReadOnlySpan<byte>(address, bytes)[2..]);
        Submit(new Operation(token, connection) { Target = socket, Port = port });
    }

    public override void SubmitReceive(OperationToken token, int socket, bool once = false)
    {
        if (At(socket) is SimulatedSocket)
        {
            Seat(token.Slot, socket);
        }

        Submit(new Operation(token, ConnectionOf(token, socket)) { Target = socket, IsOnce = once });
    }

    public override int ReceiveNow(int socket, byte* buffer, int bytes) =>
        At(socket) is SimulatedSocket connection ? connection.ReceiveAtOnce(new Span<byte>(buffer, bytes)) : -Errno.EBADF;

    public override void SubmitSend(OperationToken token, int socket, in SendRequest send)
    {
        var operation = new Operation(token, ConnectionOf(token, socket)) { Target = socket };
        if (send.Message is null)
        {
            operation.HandOver(send.Data, send.Bytes);
        }
        else
        {
            operation.HandOver(send.Message);
        }

        Submit(operation);
    }

    public override void SubmitAwaitRoom(OperationToken token, int socket) =>
        Submit(new Operation(token, ConnectionOf(token, socket)) { Target = socket, AwaitsRoom = true });

    public override void SubmitRead(OperationToken token, int file, byte* destination, int bytes, long offset)
    {
        var operation = new Operation(token, token.Kind == OperationKind.FileRead ? _connections.GetValueOrDefault(token.Slot) : null);
        operation.HandOver(file, destination, bytes, offset);
        Submit(operation);
    }

    public override void SubmitCancel(OperationToken target)
    {
        if (target.Kind == OperationKind.Send)
        {
            _operations.GetValueOrDefault(target)?.Socket?.OnGivenUp();
        }

        _submitted.Add((null, target));
    }

    public override void ReturnBuffer(ushort bufferId) => Slab.Return(bufferId);

    public override int SetNonBlocking(int socket) => 0;

    public override int AcceptQueued(int listenSocket) => ((SimulatedListener)At(listenSocket)!).AcceptQueued();

    public override void CloseSocket(int socket)
    {
        switch (At(socket))
        {
            case SimulatedListener listener:
                listener.Close();
                break;
            case SimulatedSocket connection:
                _simulation.OnClosing(this, connection, socket);
                Close(connection);
                break;
            default:
                _world.Fail(Trace.NoConnection, $"Descriptor {socket} was closed, which is not open.");
                return;
        }

        _descriptors.Remove(socket);
    }

    public override void ShutdownSend(int socket) => (At(socket) as SimulatedSocket)?.ShutDownSend();

    public override void ResetOnClose(int socket)
    {
        if (At(socket) is SimulatedSocket connection)
        {
            _simulation.OnClosing(this, connection, socket);
            connection.OnGivenUp();
            connection.ResetsOnClose = true;
        }
    }

    public override bool IsOver(int socket) => At(socket) is not SimulatedSocket { IsDead: false };

    public override long SendProgress(int socket) => (At(socket) as SimulatedSocket)?.AcknowledgedBytes ?? 0;

    public override int UnacknowledgedBytes(int socket) => At(socket) is SimulatedSocket connection
        ? (int)connection.UnacknowledgedBytes
        : -Errno.EBADF;

    public override int PeerAddress(int socket, Span<byte> address) =>
        At(socket) is SimulatedSocket connection ? connection.WriteAddress(address) : -Errno.EBADF;

    /// <summary>How a connection came in; null for what is none.</summary>
    public AdmissionResult? AdmissionOf(int socket) => (At(socket) as SimulatedSocket)?.Admission;

    /// <summary>A connection has a slot now: told by its first receive, or by its handler where the receive waits for a buffer.</summary>
    public SimulatedSocket Seat(int slot, int socket)
    {
        var connection = (SimulatedSocket)At(socket)!;
        connection.BeTaken(this);
        _connections[slot] = connection;
        return connection;
    }

    /// <summary>The connection that has a slot now.</summary>
    public SimulatedSocket ConnectionOf(int slot) => _connections[slot];

    /// <summary>Gives a listener its descriptor.</summary>
    public int Open(SimulatedListener listener) => listener.Descriptor = _descriptors.Add(listener);

    /// <summary>Gives an accepted connection its descriptor.</summary>
    public int Open(SimulatedSocket socket)
    {
        socket.Descriptor = _descriptors.Add(socket);
        _world.Trace.Note(socket.Number, TraceEvent.Accepted, socket.Descriptor);
        return socket.Descriptor;
    }

    public void PostReceived(Operation receive, int count, ushort bufferId, bool more) => _queue.Post(receive, new Completion
    {
        Token = receive.Token,
        Result = count,
        BufferId = bufferId,
        Data = Slab.AddressOf(bufferId),
        Flags = CompletionFlags.HasBuffer | (more ? CompletionFlags.More : CompletionFlags.None),
    });

    public void PostAccepted(Operation accept, int descriptor, bool more) => _queue.Post(accept, new Completion
    {
        Token = accept.Token,
        Result = descriptor,
        Flags = more ? CompletionFlags.More : CompletionFlags.None,
    });

    public void PostLateCompletion(Operation operation, in Completion completion)
    {
        _world.Trace.Note(Trace.NoConnection, TraceEvent.Straggles, (long)operation.Kind, completion.Result);
        _world.Count(FaultKind.LateCompletion, Trace.NoConnection);
        _queue.PostNow(operation, completion);
    }

    /// <summary>The terminal completion of an operation.</summary>
    public void Post(Operation operation, int result) =>
        _queue.Post(operation, new Completion { Token = operation.Token, Result = result });

    /// <summary>The submitted operation is cancelled now, if it was not faster.</summary>
    public void Cancel(OperationToken target)
    {
        bool found = _operations.TryGetValue(target, out Operation? operation) && !operation.IsFinished;
        if (found)
        {
            CancelFound(operation!);
        }

        var token = new OperationToken(OperationKind.Cancel, target.Generation, target.Slot);
        Post(new Operation(token, operation?.Socket), found ? 0 : -Errno.ENOENT);
    }

    protected override void Dispose(bool disposing)
    {
        if (_operations.Count > 0)
        {
            _world.Fail(Trace.NoConnection, $"The ring is closed with {_operations.Count} operations in flight.");
        }

        // Of late completions, for one: what was never brought need not be returned.
        int lent = Slab.Lent - _queue.BuffersWaiting;
        if (lent > 0 && !_world.HasFailed)
        {
            _world.Fail(Trace.NoConnection, $"{lent} receive buffers were not returned.");
        }

        IsClosed = true;
        Slab.Dispose();
        _simulation.ReactorSequencer.Leave(this);
    }

    private object? At(int descriptor) => _descriptors.At(descriptor);

    /// <summary>The connection that an operation is for; its slot and its socket must mean the same one.</summary>
    private SimulatedSocket? ConnectionOf(OperationToken token, int socket)
    {
        var connection = At(socket) as SimulatedSocket;
        if (connection is { IsOutbound: true, IsTaken: false })
        {
            // Its receive waits for a buffer, and the request is sent meanwhile.
            Seat(token.Slot, socket);
        }

        if (connection is null || _connections.GetValueOrDefault(token.Slot) != connection)
        {
            _world.Fail(connection?.Number ?? Trace.NoConnection, $"A {token.Kind} of slot {token.Slot} was submitted for descriptor {socket}, which is not its own.");
        }

        return connection;
    }

    private void Submit(Operation operation)
    {
        if (TryAdd(operation))
        {
            _submitted.Add((operation, default));
        }
    }

    private bool TryAdd(Operation operation)
    {
        _world.Trace.Note(operation.Connection, TraceEvent.Submits, (long)operation.Kind, operation.Bytes);
        if (!_operations.TryAdd(operation.Token, operation))
        {
            _world.Fail(operation.Connection, $"A {operation.Kind} was submitted while one was in flight.");
            return false;
        }

        if (operation.Socket is not null)
        {
            operation.Socket.OperationsInFlight++;
        }

        return true;
    }

    private void CancelFound(Operation operation)
    {
        switch (operation.Kind)
        {
            case OperationKind.Accept:
                (At(operation.Target) as SimulatedListener)?.Cancel();
                break;
            case OperationKind.FileRead or OperationKind.FileReadOperation
                when !IsSlow(operation) && _world.Strikes(FaultKind.CancelRaced, operation.Connection):
                // A worker is at it already, and will not be stopped.
                break;
            case OperationKind.FileRead or OperationKind.FileReadOperation:
                Post(operation, -Errno.ECANCELED);
                break;
            case OperationKind.Connect:
                Post(operation, -Errno.ECANCELED);
                break;
            default:
                operation.Socket!.Cancel(operation);
                break;
        }
    }

    /// <summary>Whether its read may take so long that a stop would give it up.</summary>
    private bool IsSlow(Operation operation) => (operation.Socket?.SlowUntilMs ?? _world.Disk.SlowUntilMs) > _world.NowMs;

    private void Close(SimulatedSocket connection)
    {
        if (connection.OperationsInFlight > 0)
        {
            _world.Fail(connection.Number, $"The connection is closed with {connection.OperationsInFlight} operations in flight.");
        }

        if (!connection.IsTaken)
        {
            if (!connection.IsOutbound)
            {
                _simulation.OnShed(connection);
            }
        }
        else if (_world.Swarm.Strikes(FaultKind.LateCompletion, _world.Random))
        {
            _simulation.SendLateCompletion(this, _connections.First(slot => slot.Value == connection).Key);
        }

        connection.CloseByServer();
    }

    private sealed class Cancellation(SimulatedBackend kernel, OperationToken target) : IScheduled
    {
        public void Act(int eventId) => kernel.Cancel(target);
    }
}
