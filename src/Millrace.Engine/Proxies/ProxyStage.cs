using System.Net;
using System.Net.Sockets;
using Millrace.Engine.Buffers;
using Millrace.Engine.Connections;
using Millrace.Engine.Stages;

namespace Millrace.Engine.Proxies;

/// <summary>
/// Reads the preface by which a proxy tells whose connection it passes on, and leaves the chain: what follows costs nothing more. First of
/// all stages, as the preface is never encrypted. Until it is there the handler waits, and nothing is sent.
/// </summary>
internal sealed class ProxyStage : ConnectionStage
{
    private readonly ProxyGate _gate;
    private byte[] _begun = [];
    private bool _isOver;

    /// <summary>How long the stages behind it wait for theirs, which begins when the preface is there.</summary>
    private long _othersMs = long.MaxValue;

    private ProxyStage(ProxyGate gate) => _gate = gate;

    public override bool HoldsHandler => true;

    /// <summary>
    /// The stages of a connection that comes by a proxy; those of one whose peer is not believed do not matter, it is ended.
    /// </summary>
    /// <param name="gate">Who is believed.</param>
    /// <param name="listener">Where the connection came in: who may come by a unix socket is believed.</param>
    /// <param name="others">Makes the stages behind it.</param>
    /// <param name="connection">The connection.</param>
    public static IReadOnlyList<ConnectionStage> Before(
        ProxyGate gate, EndPoint listener, Func<Connection, IReadOnlyList<ConnectionStage>>? others, Connection connection)
    {
        EndPoint? peer = connection.RemoteEndPoint;
        bool isTrusted = listener is UnixDomainSocketEndPoint || (peer is IPEndPoint ip && gate.Trusts(ip.Address));
        if (!isTrusted)
        {
            gate.NoteRefused(connection.Reactor, peer, "the peer is no proxy that is trusted");
            connection.Abort();
            return [];
        }

        var stage = new ProxyStage(gate);
        IReadOnlyList<ConnectionStage> behind = others?.Invoke(connection) ?? [];
        stage.BeginDeadline(connection);
        return [stage, .. behind];
    }

    /// <summary>Instead of the deadline of those behind it, unless that has come: then there is no place for the connection.</summary>
    private void BeginDeadline(Connection connection)
    {
        long nowMs = connection.Reactor.NowMs;
        long othersMs = connection.StageDeadlineMs;
        _othersMs = othersMs == long.MaxValue ? long.MaxValue : Math.Max(0, othersMs - nowMs);
        if (_othersMs > 0)
        {
            connection.SetStageDeadline(nowMs + _gate.PrefaceMs);
        }
    }

    public override void Receive(ReadOnlySpan<byte> bytes)
    {
        if (_begun.Length > 0)
        {
            // Rare: a proxy sends it in one packet.
            _begun = [.. _begun, .. bytes];
            bytes = _begun;
        }

        ProxyPreface preface = ProxyPreface.Read(bytes);
        switch (preface.Status)
        {
            case PrefaceStatus.Incomplete:
                _begun = _begun.Length > 0 ? _begun : bytes.ToArray();
                break;
            case PrefaceStatus.Malformed:
                Refuse("there is no preface, or a malformed one");
                break;
            default:
                Leave(preface, bytes[preface.Bytes..]);
                break;
        }
    }

    public override void DeadlineReached() => Refuse("its preface did not come in time");

    /// <summary>Half a preface is no connection; who says nothing at all has looked whether somebody listens.</summary>
    public override ReceiveEnd ReceiveEnded(ReceiveEnd end)
    {
        if (_begun.Length > 0 && !_isOver)
        {
            _isOver = true;
            _gate.NoteRefused(Connection.Reactor, Connection.RemoteEndPoint, "it ended within its preface");
        }

        return ReceiveEnd.Reset;
    }

    /// <summary>Called for a connection that ends before its preface: with nothing, as no handler has run.</summary>
    public override void Encode(OutputBatch plain, OutputBatch encoded)
    {
        if (plain.Bytes > 0)
        {
            throw new InvalidOperationException("Nothing is sent before the preface is there.");
        }
    }

    private void Refuse(string reason)
    {
        _isOver = true;
        _gate.NoteRefused(Connection.Reactor, Connection.RemoteEndPoint, reason);
        Connection.Abort();
    }

    private void Leave(ProxyPreface preface, ReadOnlySpan<byte> rest)
    {
        _isOver = true;
        Connection.SetStageDeadline(_othersMs == long.MaxValue ? long.MaxValue : Connection.Reactor.NowMs + _othersMs);
        Connection connection = Connection;
        ConnectionStage? inner = Inner;
        connection.LeaveOut(this, rest.Length);
        if (preface.Status == PrefaceStatus.Told && !connection.TryActAs(preface.Source!, preface.Destination!))
        {
            connection.Abort();
        }
        else if (inner is not null)
        {
            PassIn(rest);
        }
        else if (rest.IsEmpty)
        {
            connection.StartHandler();
        }
        else
        {
            connection.AcceptInput(rest);
        }
    }
}
