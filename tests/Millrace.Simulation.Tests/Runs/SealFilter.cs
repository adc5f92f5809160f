using System.Buffers.Binary;
using Millrace.Engine;
using Millrace.Engine.Buffers;
using Millrace.Engine.Connections;
using Millrace.Engine.Filters;
using Millrace.Interop.Sockets;
using Millrace.Simulation.Tests.Kernel;

namespace Millrace.Simulation.Tests.Runs;

/// <summary>
/// What TLS does to a connection, without its randomness: the handler is held until both sides have exchanged hellos, some steps of that
/// wait for a later turn, it has a deadline, the filter sends of its own, what was opened lies in memory that all connections of a thread
/// share, and an end without a last word is a cut. (The real filter draws keys of its own and looks at the real clock: no run of it would
/// come again.)
/// </summary>
internal sealed class SealFilter : ConnectionFilter
{
    /// <summary>More than a peer needs that sends a byte at a time, and less than who has gone may stay.</summary>
    private const int HandshakeMs = 20_000;

    private const int RecordBytesMax = 1_500;
    private const int PutOffPerMille = 300;
    private const byte Rubbish = 0xDD;

    [ThreadStatic]
    private static byte[]? Shared;

    private readonly World _world;
    private readonly SimulatedSocket _socket;
    private readonly List<byte> _pending = [];
    private readonly List<byte> _waiting = [];
    private readonly List<byte[]> _own = [];
    private Seal _in = Seal.Open;
    private Seal? _out;
    private Phase _phase;
    private bool _isWaiting;
    private bool _hasEnded;

    public SealFilter(World world, SimulatedSocket socket, Connection connection)
    {
        _world = world;
        _socket = socket;
        world.FiltersHeld++;
        connection.Timers.SetFilterDeadline(connection.Reactor.NowMs + HandshakeMs);
    }

    private enum Phase
    {
        Handshake,
        Established,
        PeerClosed,
        Failed,
        Released,
    }

    public override bool HoldsHandler => true;

    public override void Receive(ReadOnlySpan<byte> bytes)
    {
        CheckHeld();
        if (_phase == Phase.Handshake && (_isWaiting || _world.Random.Chance(PutOffPerMille)))
        {
            _waiting.AddRange(bytes);
            if (!_isWaiting)
            {
                _isWaiting = true;
                Connection.Reactor.Post(static filter => ((SealFilter)filter!).TakeTurn(), this);
            }
        }
        else if (_phase is Phase.Handshake or Phase.Established)
        {
            Work(bytes);
        }
    }

    public override void Continue()
    {
        CheckHeld();
        byte[] bytes = [.. _waiting];
        _waiting.Clear();
        Work(bytes);
        if (_hasEnded && _phase is Phase.Handshake or Phase.Established)
        {
            PassInEnd(ReceiveEnded(ReceiveEnd.Finished));
        }
    }

    public override ReceiveEnd ReceiveEnded(ReceiveEnd end)
    {
        CheckHeld();
        if (end != ReceiveEnd.Finished || _phase == Phase.PeerClosed)
        {
            return end;
        }

        if (_isWaiting)
        {
            _hasEnded = true;
            return ReceiveEnd.None;
        }

        _phase = _phase == Phase.Handshake ? Phase.Failed : _phase;
        return ReceiveEnd.Reset;
    }

    public override void DeadlineReached()
    {
        CheckHeld();
        if (_phase == Phase.Handshake)
        {
            _phase = Phase.Failed;
            Connection.Ending.EndFromFilter();
        }
    }

    public override unsafe void Encode(OutputBatch plain, OutputBatch encoded)
    {
        CheckHeld();
        _own.ForEach(record => encoded.Write(record));
        _own.Clear();
        if (_phase is not (Phase.Established or Phase.PeerClosed))
        {
            return;
        }

        foreach (ref readonly IoVector part in plain.Parts)
        {
            var left = new ReadOnlySpan<byte>(part.Address, (int)part.Bytes);
            while (left.Length > 0)
            {
                int count = Math.Min(left.Length, RecordBytesMax);
                encoded.Write(_out!.Write(SealRecord.Data, left[..count]));
                left = left[count..];
            }
        }
    }

    public override void EncodeEnd(OutputBatch encoded)
    {
        CheckHeld();
        if (_phase is Phase.Established or Phase.PeerClosed)
        {
            encoded.Write(_out!.Write(SealRecord.LastWord, []));
        }
    }

    public override void Release()
    {
        CheckHeld();
        _phase = Phase.Released;
        _world.FiltersHeld--;
    }

    private void TakeTurn()
    {
        _isWaiting = false;
        if (_phase == Phase.Handshake && Connection.Phase == ConnectionPhase.Serving)
        {
            Connection.Filters.Continue(this);
        }
    }

    private void Work(ReadOnlySpan<byte> bytes)
    {
        _pending.AddRange(bytes);
        while (_phase is Phase.Handshake or Phase.Established && _in.TryRead(_pending, out SealRecord kind, out byte[]? plain))
        {
            if (plain is null)
            {
                _world.Fail(_socket.Number, "The server was handed a record that was not sealed for this connection.");
                return;
            }

            Take(kind, plain);
        }
    }

    private void Take(SealRecord kind, byte[] plain)
    {
        switch (kind)
        {
            case SealRecord.Hello:
                ulong theirs = BinaryPrimitives.ReadUInt64LittleEndian(plain);
                ulong own = _world.Random.Next();
                byte[] hello = new byte[sizeof(ulong)];
                BinaryPrimitives.WriteUInt64LittleEndian(hello, own);
                _own.Add(Seal.Open.Write(SealRecord.Hello, hello));
                _in = new Seal(Seal.KeyOf(theirs, own, isServers: false));
                _out = new Seal(Seal.KeyOf(theirs, own, isServers: true));
                Connection.Filters.RequestSend();
                break;
            case SealRecord.Finished:
                _phase = Phase.Established;
                _socket.IsSealed = true;
                Connection.Timers.SetFilterDeadline(long.MaxValue);
                StartHandler();
                break;
            case SealRecord.Data:
                PassOn(plain);
                break;
            default:
                _phase = Phase.PeerClosed;
                PassInEnd(ReceiveEnd.Finished);
                break;
        }
    }

    /// <summary>Lent for the call, and then another connection's.</summary>
    private void PassOn(byte[] plain)
    {
        Shared ??= new byte[PeerRecordBytesMax];
        Span<byte> lent = Shared.AsSpan(0, plain.Length);
        plain.CopyTo(lent);
        PassIn(lent);
        lent.Fill(Rubbish);
    }

    private const int PeerRecordBytesMax = Peers.PeerSeal.RecordBytesMax;

    private void CheckHeld()
    {
        if (_phase == Phase.Released && !_world.HasFailed)
        {
            _world.Fail(_socket.Number, "A filter is used that was released.");
        }
    }
}
