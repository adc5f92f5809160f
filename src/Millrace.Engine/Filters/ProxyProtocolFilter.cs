using System.Net;
using System.Net.Sockets;
using Millrace.Engine.Buffers;
using Millrace.Engine.Connections;

namespace Millrace.Engine.Filters;

/// <summary>
/// Reads the PROXY header by which a proxy announces the client, then leaves the chain, so that the connection has no further cost. It is
/// the outermost filter, as the header is never encrypted. Until it is complete the handler waits and nothing is sent.
/// </summary>
internal sealed class ProxyProtocolFilter : ConnectionFilter
{
    private readonly ProxyPolicy _policy;
    private byte[] _partial = [];
    private bool _isOver;

    /// <summary>The time limit of the inner filters, which starts when the header is complete.</summary>
    private long _innerMs = long.MaxValue;

    private ProxyProtocolFilter(ProxyPolicy policy) => _policy = policy;

    public override bool HoldsHandler => true;

    /// <summary>
    /// The filters of a connection from a proxy; none for an untrusted peer, whose connection is aborted.
    /// </summary>
    public static IReadOnlyList<ConnectionFilter> Before(
        ProxyPolicy policy, EndPoint listener, Func<Connection, IReadOnlyList<ConnectionFilter>>? makeInner, Connection connection)
    {
        EndPoint? peer = connection.RemoteEndPoint;
        bool isTrusted = listener is UnixDomainSocketEndPoint || (peer is IPEndPoint ip && policy.Trusts(ip.Address));
        if (!isTrusted)
        {
            policy.NoteRefused(connection.Reactor, peer, "the peer is not a trusted proxy");
            connection.Abort();
            return [];
        }

        var filter = new ProxyProtocolFilter(policy);
        IReadOnlyList<ConnectionFilter> inner = makeInner?.Invoke(connection) ?? [];
        filter.BeginDeadline(connection);
        return [filter, .. inner];
    }

    /// <summary>Replaces the inner filters' deadline, unless that has passed already: then no quota is left for the connection.</summary>
    private void BeginDeadline(Connection connection)
    {
        long nowMs = connection.Reactor.NowMs;
        long innerMs = connection.Timers.FilterDeadlineMs;
        _innerMs = innerMs == long.MaxValue ? long.MaxValue : Math.Max(0, innerMs - nowMs);
        if (_innerMs > 0)
        {
            connection.Timers.SetFilterDeadline(nowMs + _policy.PrefaceMs);
        }
    }

    public override void Receive(ReadOnlySpan<byte> bytes)
    {
        if (_partial.Length > 0)
        {
            // Rare: a proxy sends the header in one packet.
            _partial = [.. _partial, .. bytes];
            bytes = _partial;
        }

        ProxyHeader header = ProxyHeader.Read(bytes);
        switch (header.Status)
        {
            case ProxyHeaderStatus.Incomplete:
                _partial = _partial.Length > 0 ? _partial : bytes.ToArray();
                break;
            case ProxyHeaderStatus.Malformed:
                Refuse("the PROXY header is missing or malformed");
                break;
            default:
                Leave(header, bytes[header.Bytes..]);
                break;
        }
    }

    public override void DeadlineReached() => Refuse("its PROXY header did not arrive in time");

    /// <summary>A truncated header is logged; a connection without any byte (a port check) is not.</summary>
    public override ReceiveEnd ReceiveEnded(ReceiveEnd end)
    {
        if (_partial.Length > 0 && !_isOver)
        {
            _isOver = true;
            _policy.NoteRefused(Connection.Reactor, Connection.RemoteEndPoint, "it closed within its PROXY header");
        }

        return ReceiveEnd.Reset;
    }

    /// <summary>Called for a connection that ends before its header, with an empty batch, as no handler has run.</summary>
    public override void Encode(OutputBatch plain, OutputBatch encoded)
    {
        if (plain.Bytes > 0)
        {
            throw new InvalidOperationException("No output is allowed before the PROXY header is complete.");
        }
    }

    private void Refuse(string reason)
    {
        _isOver = true;
        _policy.NoteRefused(Connection.Reactor, Connection.RemoteEndPoint, reason);
        Connection.Abort();
    }

    private void Leave(ProxyHeader header, ReadOnlySpan<byte> remaining)
    {
        _isOver = true;
        Connection.Timers.SetFilterDeadline(_innerMs == long.MaxValue ? long.MaxValue : Connection.Reactor.NowMs + _innerMs);
        Connection connection = Connection;
        ConnectionFilter? inner = Inner;
        connection.Filters.RemoveOutermost(this, remaining.Length);
        if (header.Status == ProxyHeaderStatus.Announced && !connection.EndPoints.TryAnnounce(header.Source!, header.Destination!))
        {
            connection.Abort();
        }
        else if (inner is not null)
        {
            PassIn(remaining);
        }
        else if (remaining.IsEmpty)
        {
            connection.Handler.StartHeld();
        }
        else
        {
            connection.Reader.TakeFromFilter(remaining);
        }
    }
}
