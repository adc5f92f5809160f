using Millrace.Engine.Datagrams;
using Millrace.Quic.Connections;
using Millrace.Quic.Recovery;

namespace Millrace.QuicTransport;

/// <summary>
/// Gives a reactor's datagrams to its endpoint, registers the connections that they begin, and sends what the endpoint answers to those of
/// no connection. An exception within a connection ends that connection. The reactor's; its thread only.
/// </summary>
internal sealed class DatagramDelivery(QuicReactor owner, ServerAcceptor? acceptor)
{
    private readonly byte[] _reply = new byte[EndpointReplies.MaximumLength];

    public void Deliver(DatagramSocket socket, Span<byte> datagram, in PathAddress from, in PathAddress to, EcnMark ecn, long now)
    {
        QuicConnection? quic;
        int replyLength;
        Exception? fault = null;
        try
        {
            quic = owner.Endpoint.Receive(datagram, from, to, ecn, _reply, out replyLength, now);
        }
#pragma warning disable CA1031 // What happens within one connection ends it, and not the reactor.
        catch (Exception error)
#pragma warning restore CA1031
        {
            (quic, replyLength, fault) = (owner.Endpoint.Receiving, 0, error);
        }

        if (replyLength > 0)
        {
            Reply(socket, replyLength, from, to);
        }

        if (acceptor?.TakeAccepted() is { } accepted)
        {
            Begin(accepted, quic);
        }
        else if (quic?.Tag is QuicTransportConnection connection)
        {
            owner.Enqueue(connection);
        }

        if (fault is not null)
        {
            OnFault(quic, fault);
        }
    }

    private void Begin(QuicServerConnection connection, QuicConnection? quic)
    {
        if (quic is null)
        {
            // Its first packet was none.
            connection.OnRemoved();
            return;
        }

        owner.Register(connection, quic);
    }

    private void OnFault(QuicConnection? quic, Exception fault)
    {
        if (quic?.Tag is QuicTransportConnection faulty)
        {
            faulty.OnFault(fault);
        }
        else
        {
            owner.Log.HandlerFailed(fault);
        }
    }

    private void Reply(DatagramSocket socket, int length, in PathAddress to, in PathAddress from)
    {
        ReplyKinds.Count(_reply, owner.Counters);
        Span<byte> room = socket.GetSendBuffer(length);
        if (room.Length >= length)
        {
            _reply.AsSpan(0, length).CopyTo(room);
            owner.Counters.DatagramsSent++;
            owner.Counters.BytesSent += length;
            socket.Send(length, length, Addresses.ToDatagram(to), Addresses.ToDatagram(from), DatagramEcn.NotEct);
        }
    }
}
