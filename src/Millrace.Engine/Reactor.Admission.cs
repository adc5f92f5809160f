using Millrace.Engine.Listening;

namespace Millrace.Engine;

/// <content>Who comes in: accepted sockets become connections as long as the limits let them.</content>
public sealed partial class Reactor
{
    private readonly Turnstile _turnstile;

    /// <summary>Accepts on a socket of its own.</summary>
    internal Acceptor Accept(int socket, ListenerCore listener, Action<int, ListenerCore> deal)
    {
        AssertHome();
        int slot = _acceptors.FindIndex(static earlier => earlier.Stopped.IsCompleted);
        slot = slot < 0 ? _acceptors.Count : slot;
        var acceptor = new Acceptor(this, slot, socket, listener, deal);
        if (slot == _acceptors.Count)
        {
            _acceptors.Add(acceptor);
        }
        else
        {
            _acceptors[slot] = acceptor;
        }

        acceptor.Arm();
        return acceptor;
    }

    /// <summary>
    /// Takes a connected socket over and serves it. At a limit the newest is the one to go: it is told so where the listener can, and
    /// reset otherwise.
    /// </summary>
    internal void Adopt(int socket, ListenerCore listener)
    {
        AssertHome();
        Counters.Accepted++;
        ClientAddress? peer = PeerOf(socket, listener);
        // Behind the drain deadline nobody would end it: those that were there have been reset.
        Ticket ticket = _giveUpAtMs == long.MaxValue ? _turnstile.Enter(CountsPeers(listener) ? peer : null) : default;
        if (ticket.Admission == Admission.Served)
        {
            Pace(socket, listener, peer);
            Connections.Rent().Open(socket, listener, listener.Handler, ticket);
            return;
        }

        if (!IsDraining)
        {
            _turnstile.Tell(Log, NowMs);
            ticket = listener.Refusal is null ? ticket : _turnstile.EnterRefused();
        }

        if (ticket.Admission == Admission.Refused)
        {
            Counters.Refused++;
            Connections.Rent().Open(socket, listener, listener.Refusal!, ticket);
            return;
        }

        Counters.Shed++;
        Backend.ResetOnClose(socket);
        Backend.CloseSocket(socket);
    }

    /// <summary>
    /// It has turned out whose connection it is that was let in, and it is counted as theirs. At their limit it is refused now, as it would
    /// have been at the door.
    /// </summary>
    internal Ticket Identify(Ticket ticket, ClientAddress? client, ListenerCore listener)
    {
        if (ticket.Admission != Admission.Served || client is null || !_turnstile.CountsClients)
        {
            return ticket;
        }

        if (_turnstile.TryCount(client.Value))
        {
            return ticket with { Client = client };
        }

        _turnstile.Leave(ticket);
        _turnstile.Tell(Log, NowMs);
        Ticket refused = listener.Refusal is null ? default : _turnstile.EnterRefused();
        Counters.Refused += refused.Admission == Admission.Refused ? 1 : 0;
        Counters.Shed += refused.Admission == Admission.Refused ? 0 : 1;
        return refused;
    }

    /// <summary>The connection is gone, and another may come.</summary>
    internal void Release(Connection connection, Ticket ticket)
    {
        _turnstile.Leave(ticket);
        Connections.Return(connection);
    }

    /// <summary>A connection is reset for lack of memory.</summary>
    internal void NoteStarved()
    {
        Counters.Starved++;
        _turnstile.Tell(Log, NowMs);
    }

    /// <summary>A request is refused because the reactor is overloaded.</summary>
    internal void NoteRefused()
    {
        Counters.Refused++;
        _turnstile.Tell(Log, NowMs);
    }

    /// <summary>Before anything is sent: where a control that paces takes over later, what went before was not paced.</summary>
    private void Pace(int socket, ListenerCore listener, ClientAddress? peer)
    {
        if (listener.FarControl is { } control && peer is { IsLoopback: false })
        {
            _ = Backend.OfferCongestionControl(socket, control);
        }
    }

    private bool CountsPeers(ListenerCore listener) =>
        _turnstile.CountsClients && listener.HasClientAddresses && !listener.ClientsAreTold;

    /// <summary>Asked for only where something depends on it: it is a system call.</summary>
    private ClientAddress? PeerOf(int socket, ListenerCore listener)
    {
        if (!CountsPeers(listener) && listener.FarControl is null)
        {
            return null;
        }

        Span<byte> address = stackalloc byte[ClientAddress.SocketAddressBytesMax];
        int bytes = Backend.PeerAddress(socket, address);
        return bytes < 0 ? null : ClientAddress.Of(address[..Math.Min(bytes, address.Length)]);
    }
}
