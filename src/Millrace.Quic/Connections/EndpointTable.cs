using System.Diagnostics.CodeAnalysis;
using System.Buffers.Binary;
using Millrace.Quic.Packets;
using Millrace.Quic.Protection;

namespace Millrace.Quic.Connections;

/// <summary>
/// Finds the connection of a datagram (RFC 9000, section 5.2): by this endpoint's connection ids, by the ids that clients chose for
/// their first packets, and by the peers' stateless reset tokens. One endpoint's.
/// </summary>
internal sealed class EndpointTable(QuicCryptography cryptography, ConnectionIdRule idRule) : IConnectionIdSource
{
    /// <summary>Of all ids of this endpoint, so that short headers can be read.</summary>
    public const int IdLength = 8;

    private readonly Dictionary<ConnectionId, QuicConnection> _byId = [];
    private readonly Dictionary<(ConnectionId, PathAddress), QuicConnection> _byFirstId = [];

    /// <summary>By the keyed hashes of the tokens.</summary>
    private readonly Dictionary<UInt128, QuicConnection> _byResetToken = [];

    /// <summary>Routes of all kinds; 0 when all connections have ended.</summary>
    public int Count => _byId.Count + _byFirstId.Count + _byResetToken.Count;

    public bool TryFind(in PacketHeader header, in PathAddress from, [NotNullWhen(true)] out QuicConnection? connection)
    {
        connection = null;
        if (header.DestinationId.Length > ConnectionId.MaximumLength)
        {
            return false;
        }

        ConnectionId id = new(header.DestinationId);
        return _byId.TryGetValue(id, out connection)
            || (header.Kind == PacketKind.Initial && _byFirstId.TryGetValue((id, from), out connection));
    }

    public bool TryFindReset(ReadOnlySpan<byte> datagram, [NotNullWhen(true)] out QuicConnection? connection)
    {
        connection = null;
        return datagram.Length >= StatelessReset.MinimumLength
            && _byResetToken.Count > 0
            && _byResetToken.TryGetValue(HashOf(datagram[^StatelessReset.TokenLength..]), out connection);
    }

    /// <summary>A client's first packets have an id that it chose, which may be that of another client too.</summary>
    public void AddFirstId(in ConnectionId id, in PathAddress client, QuicConnection connection) => _byFirstId[(id, client)] = connection;

    public void RemoveFirstId(in ConnectionId id, in PathAddress client) => _byFirstId.Remove((id, client));

    public ConnectionId Create(QuicConnection connection, out UInt128 resetToken)
    {
        ConnectionId id;
        do
        {
            id = CreateRandom(cryptography, idRule);
        }
        while (!_byId.TryAdd(id, connection));
        resetToken = ResetTokenOf(cryptography, id);
        return id;
    }

    public void Retire(QuicConnection connection, in ConnectionId id) => _byId.Remove(id);

    /// <summary>The last one counts, where a peer gives one token twice.</summary>
    public void AddResetToken(QuicConnection connection, UInt128 token) => _byResetToken[HashOf(token)] = connection;

    public void RemoveResetToken(QuicConnection connection, UInt128 token)
    {
        UInt128 hash = HashOf(token);
        if (_byResetToken.TryGetValue(hash, out QuicConnection? owner) && owner == connection)
        {
            _byResetToken.Remove(hash);
        }
    }

    public static ConnectionId CreateRandom(QuicCryptography cryptography, in ConnectionIdRule idRule)
    {
        Span<byte> bytes = stackalloc byte[IdLength];
        cryptography.FillRandom(bytes);
        idRule.Apply(bytes);
        return new ConnectionId(bytes);
    }

    public static UInt128 ResetTokenOf(QuicCryptography cryptography, in ConnectionId id) => KeyedHash(cryptography, id.AsSpan);

    private static UInt128 KeyedHash(QuicCryptography cryptography, ReadOnlySpan<byte> bytes)
    {
        Span<byte> hash = stackalloc byte[StatelessReset.TokenLength];
        cryptography.GetStatelessResetToken(bytes, hash);
        return BinaryPrimitives.ReadUInt128BigEndian(hash);
    }

    /// <summary>
    /// Tokens of peers are found by this, so that the time of a search says nothing of a token (section 10.3.1). No id of this endpoint is
    /// as long as a token: the hash is none of its own tokens.
    /// </summary>
    private UInt128 HashOf(ReadOnlySpan<byte> token) => KeyedHash(cryptography, token);

    private UInt128 HashOf(UInt128 token)
    {
        Span<byte> bytes = stackalloc byte[StatelessReset.TokenLength];
        BinaryPrimitives.WriteUInt128BigEndian(bytes, token);
        return HashOf(bytes);
    }
}
