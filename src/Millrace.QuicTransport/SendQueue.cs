using Millrace.Engine.Datagrams;
using Millrace.Engine.Loop;
using Millrace.Quic.Connections;

namespace Millrace.QuicTransport;

/// <summary>
/// The connections of a reactor that may have something to send, in the order of their events. Each sends a quantum in its turn, until all
/// have sent what windows and pacers allow, the iteration's bytes are used up, or the socket has no room. Reactor thread.
/// </summary>
internal sealed class SendQueue
{
    /// <summary>What a connection sends before it is another one's turn: one send with segments, as large as the kernel takes it.</summary>
    private const int QuantumBytes = 64 * 1024;

    /// <summary>
    /// What a turn costs besides its bytes, so that those who have none to send end too: two handlers may wake each other for ever.
    /// </summary>
    private const int TurnBytes = 100;

    /// <summary>Room for any frame of the connection that is not divided, so that none is left for want of room.</summary>
    private const int FrameBytes = 200;

    private readonly QuicReactor _owner;
    private readonly Queue<QuicTransportConnection> _queue = new();
    private readonly Action _continue;
    private bool _waitsForRoom;
    private bool _isPostponed;

    public SendQueue(QuicReactor owner)
    {
        _owner = owner;
        _continue = () =>
        {
            _isPostponed = false;
            SendAll();
        };
    }

    private enum Outcome : byte
    {
        /// <summary>All is sent that may be sent now.</summary>
        Done,

        /// <summary>There may be more.</summary>
        QuantumUsed,

        NoRoom,
    }

    public void Add(QuicTransportConnection connection) => _queue.Enqueue(connection);

    public void OnRoom() => _waitsForRoom = false;

    public void SendAll()
    {
        _owner.OnDeferred();
        if (_waitsForRoom || _isPostponed)
        {
            return;
        }

        long bytesLeft = IterationBudget.SendBytes;
        while (_queue.TryPeek(out QuicTransportConnection? connection))
        {
            if (connection.Slot < 0)
            {
                // Forgotten meanwhile.
                _queue.Dequeue();
                continue;
            }

            if (bytesLeft <= 0)
            {
                // Others have their turn first: those that arrive meanwhile, and those over TCP.
                _isPostponed = true;
                _owner.Reactor.Postpone(_continue);
                return;
            }

            _owner.Reactor.Heartbeat.Beat();
            bytesLeft -= TurnBytes;
            long now = _owner.Now;
            Outcome outcome = Send(connection, now, ref bytesLeft);
            if (outcome == Outcome.NoRoom)
            {
                _waitsForRoom = true;
                return;
            }

            _queue.Dequeue();
            if (outcome == Outcome.QuantumUsed)
            {
                _queue.Enqueue(connection);
            }
            else
            {
                _owner.OnSent(connection, now);
            }
        }
    }

    /// <summary>The reactor's connections end, and say so. False: there is no room for some of them now.</summary>
    public bool SendLast()
    {
        _waitsForRoom = false;
        while (_queue.TryPeek(out QuicTransportConnection? connection))
        {
            long unlimited = long.MaxValue;
            var outcome = Outcome.QuantumUsed;
            while (connection.Slot >= 0 && outcome == Outcome.QuantumUsed)
            {
                outcome = Send(connection, _owner.Now, ref unlimited);
            }

            if (connection.Slot >= 0 && outcome == Outcome.NoRoom)
            {
                _waitsForRoom = true;
                return false;
            }

            _queue.Dequeue();
        }

        return true;
    }

    /// <summary>
    /// Whether a next call would find nothing, for the usual small response: a datagram that is not full has taken all that there was, if
    /// it was one of the connection's only path.
    /// </summary>
    private static bool HasSentAll(QuicConnection quic, int length, in DatagramInfo info) =>
        length < PathMtu.BaseSize - FrameBytes && quic.Handshake.IsConfirmed && !quic.Streams.HasFrames && !quic.Streams.HasEvents
        && quic.Paths.Active is { IsValidated: true } path && path.Remote == info.Remote && path.Local == info.Local;

    private Outcome Send(QuicTransportConnection connection, long now, ref long bytesLeft)
    {
        QuicConnection quic = connection.Connection;
        for (int sent = 0; sent < QuantumBytes;)
        {
            DatagramSocket socket = _owner.SocketOf(quic.Paths.Active.Local);
            Span<byte> buffer = socket.GetSendBuffer(socket.SendBytesMax);
            if (buffer.IsEmpty)
            {
                return Outcome.NoRoom;
            }

            int length;
            DatagramInfo info;
            try
            {
                length = quic.Send(buffer, socket.SegmentsMaxTo(Addresses.ToDatagram(quic.Paths.Active.Remote)), out info, now);
            }
#pragma warning disable CA1031 // What happens within one connection ends it, and not the reactor.
            catch (Exception error)
#pragma warning restore CA1031
            {
                connection.OnFault(error);
                return Outcome.QuantumUsed;
            }

            if (length == 0)
            {
                return Outcome.Done;
            }

            _owner.Send(socket, buffer, length, info);
            sent += length;
            bytesLeft -= length;
            if (HasSentAll(quic, length, info))
            {
                return Outcome.Done;
            }
        }

        return Outcome.QuantumUsed;
    }
}
