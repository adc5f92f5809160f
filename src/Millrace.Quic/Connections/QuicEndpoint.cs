using Millrace.Quic.Packets;
using Millrace.Quic.Protection;
using Millrace.Quic.Recovery;
using Millrace.Quic.Streams;

namespace Millrace.Quic.Connections;

/// <summary>
/// The connections of one UDP socket, or of several that share their ids: routes datagrams to them, accepts and refuses new ones, and
/// answers what belongs to none. It does no I/O: its owner sends what it writes, drives each connection (see
/// <see cref="QuicConnection"/>), and calls <see cref="Remove"/> for a closed one. One thread.
/// </summary>
internal sealed class QuicEndpoint
{
    private readonly QuicCryptography _cryptography;
    private readonly IQuicAcceptor? _acceptor;
    private readonly EndpointTable _table;
    private readonly EndpointReplies _replies;
    private readonly ConnectionCounts _counts;
    private readonly Dictionary<QuicConnection, Entry> _connections = [];

    /// <summary>
    /// <paramref name="acceptor"/>: null for an endpoint of clients only. <paramref name="idRule"/>: for one of several endpoints.
    /// </summary>
    public QuicEndpoint(
        QuicSettings settings, EndpointLimits limits, QuicCryptography cryptography, BlockPool blocks, StreamPool streams,
        IQuicAcceptor? acceptor, ConnectionIdRule idRule = default)
    {
        _cryptography = cryptography;
        _acceptor = acceptor;
        _table = new EndpointTable(cryptography, idRule);
        AddressTokens tokens = new(cryptography);
        _replies = new EndpointReplies(cryptography, tokens, new ReplyBucket(limits.RepliesPerSecond), idRule);
        _counts = new ConnectionCounts(limits);
        Context = new ConnectionContext(settings, cryptography, blocks, streams, _table, tokens);
    }

    public ConnectionContext Context { get; }

    public Dictionary<QuicConnection, Entry>.KeyCollection Connections => _connections.Keys;

    /// <summary>Routes of all kinds; 0 when all connections are removed.</summary>
    public int Routes => _table.Count;

    public int Handshakes => _counts.Handshakes;

    /// <summary>The connection of the last datagram, also if <see cref="Receive"/> threw; null: it had none, or none was made.</summary>
    public QuicConnection? Receiving { get; private set; }

    /// <summary>
    /// A datagram arrived, which is changed. Gives its connection, which may be a new one, or null; and in <paramref name="reply"/>,
    /// which has
    /// <see cref="EndpointReplies.MaximumLength"/> bytes, what is to be sent to <paramref name="from"/>.
    /// </summary>
    public QuicConnection? Receive(
        Span<byte> datagram, in PathAddress from, in PathAddress to, EcnMark ecn, Span<byte> reply, out int replyLength, long now)
    {
        replyLength = 0;
        Receiving = null;
        if (!PacketHeader.TryParse(datagram, EndpointTable.IdLength, out PacketHeader header))
        {
            return ReceiveReset(datagram, from, to, ecn, now);
        }

        if (_table.TryFind(header, from, out QuicConnection? connection))
        {
            Deliver(connection, datagram, from, to, ecn, now);
            UpdateCounts(connection);
            return connection;
        }

        if (_table.TryFindReset(datagram, out connection))
        {
            Deliver(connection, datagram, from, to, ecn, now);
            return connection;
        }

        if (header.Kind == PacketKind.OneRtt)
        {
            replyLength = _replies.WriteStatelessReset(header, datagram.Length, reply, now);
            return null;
        }

        // A server answers to nothing smaller than what a client has to send (RFC 9000, section 14.1).
        if (_acceptor is null || datagram.Length < PathMtu.BaseSize)
        {
            return null;
        }

        if (header.Kind == PacketKind.UnsupportedVersion)
        {
            replyLength = _replies.WriteVersionNegotiation(header, reply, now);
            return null;
        }

        return header.Kind == PacketKind.Initial && header.DestinationId.Length >= ConnectionId.MinimumInitialLength
            ? Accept(datagram, header, from, to, ecn, reply, out replyLength, now)
            : null;
    }

    /// <summary>Begins a connection as a client; it is driven as any other.</summary>
    public QuicConnection Connect(
        in PathAddress local, in PathAddress remote, QuicHandshake handshake, IQuicConnectionHandler handler, uint version, byte[]? token,
        bool isAfterVersionNegotiation, long now)
    {
        ConnectionId destination = EndpointTable.CreateRandom(_cryptography, default);
        ConnectionStart start = new()
        {
            IsServer = false,
            Version = version,
            Local = local,
            Remote = remote,
            InitialDestinationId = destination,
            OriginalDestinationId = destination,
            Token = token,
            IsAfterVersionNegotiation = isAfterVersionNegotiation,
        };
        return Add(start, handshake, handler, now);
    }

    /// <summary>Forgets a connection that is closed.</summary>
    public void Remove(QuicConnection connection)
    {
        if (!connection.IsClosed || !_connections.Remove(connection, out Entry entry))
        {
            return;
        }

        connection.Release();
        if (connection.IsServer)
        {
            _table.RemoveFirstId(entry.FirstId, entry.Remote);
        }

        _counts.Remove();
        if (!connection.IsHandshakeCounted)
        {
            _counts.OnHandshakeEnded(connection.IsAddressCounted ? entry.Remote : null);
        }

        if (connection.IsAddressCounted)
        {
            _counts.RemoveAddress(entry.Remote);
        }
    }

    /// <summary>Ends all connections at once, without a word: the process ends.</summary>
    public void Abort()
    {
        foreach (QuicConnection connection in _connections.Keys.ToArray())
        {
            connection.End(new CloseReason(CloseSource.Local, false, 0, 0, "The endpoint ended"));
            Remove(connection);
        }
    }

    private QuicConnection? ReceiveReset(Span<byte> datagram, in PathAddress from, in PathAddress to, EcnMark ecn, long now)
    {
        if (!_table.TryFindReset(datagram, out QuicConnection? connection))
        {
            return null;
        }

        Deliver(connection, datagram, from, to, ecn, now);
        return connection;
    }

    private QuicConnection? Accept(
        Span<byte> datagram, in PacketHeader header, in PathAddress from, in PathAddress to, EcnMark ecn, Span<byte> reply,
        out int replyLength, long now)
    {
        replyLength = 0;
        TokenResult token = Context.Tokens.Read(header.Token, from, now, out ConnectionId original, out ConnectionId retrySource);
        ConnectionId destination = new(header.DestinationId);
        bool isRetried = token == TokenResult.Retried && retrySource == destination;
        if (token == TokenResult.InvalidRetry || (token == TokenResult.Retried && !isRetried))
        {
            replyLength = _replies.WriteRefusal(datagram, header, TransportErrorCode.InvalidToken, "The token is not valid", reply, now);
            return null;
        }

        bool isValidated = isRetried || token == TokenResult.Validated;
        if (!isValidated && _counts.WantsRetry)
        {
            replyLength = _replies.WriteRetry(header, from, reply, now);
            return null;
        }

        if (!_replies.IsAuthenticCopy(datagram, header))
        {
            // Damaged, or never a packet: it is worth neither a handshake nor an answer.
            return null;
        }

        if (!_counts.HasRoom(from, isValidated)
            || !_acceptor!.TryAccept(from, to, out QuicHandshake? handshake, out IQuicConnectionHandler? handler))
        {
            replyLength = _replies.WriteRefusal(datagram, header, TransportErrorCode.ConnectionRefused, "No more connections", reply, now);
            return null;
        }

        ConnectionStart start = new()
        {
            IsServer = true,
            Version = header.Version,
            Local = to,
            Remote = from,
            InitialDestinationId = destination,
            OriginalDestinationId = isRetried ? original : destination,
            PeerId = new ConnectionId(header.SourceId),
            RetrySourceId = isRetried ? retrySource : null,
            IsAddressValidated = isValidated,
        };
        QuicConnection connection = Add(start, handshake, handler, now);
        _table.AddFirstId(destination, from, connection);
        Deliver(connection, datagram, from, to, ecn, now);
        if (!connection.HasOpened)
        {
            // The packet was damaged, or never one: nothing is kept.
            connection.End(new CloseReason(CloseSource.Timeout, false, 0, 0, "The first packet could not be opened"));
            Remove(connection);
            return null;
        }

        UpdateCounts(connection);
        return connection;
    }

    private QuicConnection Add(in ConnectionStart start, QuicHandshake handshake, IQuicConnectionHandler handler, long now)
    {
        QuicConnection connection = new(Context, start, handshake, handler, now);
        _connections.Add(connection, new Entry(start.InitialDestinationId, start.Remote));
        _counts.Add();
        if (start.IsAddressValidated)
        {
            CountAddress(connection);
            _counts.AddHandshake(start.Remote);
        }

        return connection;
    }

    private void Deliver(
        QuicConnection connection, Span<byte> datagram, in PathAddress from, in PathAddress to, EcnMark ecn, long now)
    {
        Receiving = connection;
        connection.Receive(datagram, from, to, ecn, now);
    }

    private void UpdateCounts(QuicConnection connection)
    {
        if (connection.Handshake.IsComplete && !connection.IsHandshakeCounted)
        {
            connection.IsHandshakeCounted = true;
            _counts.OnHandshakeEnded(connection.IsAddressCounted ? _connections[connection].Remote : null);
            CountAddress(connection);
        }
    }

    private void CountAddress(QuicConnection connection)
    {
        if (!connection.IsAddressCounted && _connections.TryGetValue(connection, out Entry entry))
        {
            connection.IsAddressCounted = true;
            _counts.AddAddress(entry.Remote);
        }
    }

    /// <summary>What the endpoint knows of a connection.</summary>
    internal readonly record struct Entry(ConnectionId FirstId, PathAddress Remote);
}
