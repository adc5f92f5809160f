using Millrace.Quic.Packets;

namespace Millrace.Quic.Connections;

/// <summary>
/// The connection ids that this end has given to the peer (RFC 9000, section 5.1): as many as the peer keeps, four at most, and a new one
/// for each that the peer retires. The connection owns it; ids are made and routed by an <see cref="IConnectionIdSource"/>.
/// </summary>
internal sealed class LocalConnectionIds
{
    private const int Maximum = 4;

    private readonly QuicConnection _connection;
    private readonly IConnectionIdSource _source;
    private readonly Entry[] _entries = new Entry[Maximum];
    private int _limit = 1;
    private long _nextSequence = 1;
    private int _pending;

    /// <summary>The first id, of sequence number 0, is the one of this end's handshake packets.</summary>
    public LocalConnectionIds(QuicConnection connection, IConnectionIdSource source)
    {
        _connection = connection;
        _source = source;
        First = source.Create(connection, out UInt128 token);
        FirstResetToken = token;
        _entries[0] = new Entry { Id = First, IsActive = true };
    }

    public ConnectionId First { get; }

    /// <summary>The token of <see cref="First"/>, for a server's transport parameters.</summary>
    public UInt128 FirstResetToken { get; }

    /// <summary>An id is to be sent in NEW_CONNECTION_ID.</summary>
    public bool HasPending => _pending > 0;

    /// <summary>The peer keeps this many ids: its active_connection_id_limit.</summary>
    public void SetPeerLimit(long limit)
    {
        _limit = (int)Math.Min(limit, Maximum);
        Issue();
    }

    /// <summary>The sequence number of an id; below 0: it is not this connection's, or retired.</summary>
    public long Find(in ConnectionId id)
    {
        foreach (ref Entry entry in _entries.AsSpan())
        {
            if (entry.IsActive && entry.Id.Equals(id))
            {
                return entry.Sequence;
            }
        }

        return -1;
    }

    /// <summary>The peer retires an id; <paramref name="ofPacket"/>: the one that the frame's packet was sent to.</summary>
    /// <returns>False: PROTOCOL_VIOLATION (section 19.16).</returns>
    public bool TryRetire(long sequence, long ofPacket)
    {
        if (sequence >= _nextSequence || sequence == ofPacket)
        {
            return false;
        }

        foreach (ref Entry entry in _entries.AsSpan())
        {
            if (entry.IsActive && entry.Sequence == sequence)
            {
                _source.Retire(_connection, entry.Id);
                _pending -= entry.IsPending ? 1 : 0;
                entry = default;
                Issue();
                break;
            }
        }

        return true;
    }

    /// <summary>The next id to send; it counts as sent.</summary>
    public bool TryTakePending(out long sequence, out ConnectionId id, out UInt128 token)
    {
        foreach (ref Entry entry in _entries.AsSpan())
        {
            if (entry.IsPending)
            {
                entry.IsPending = false;
                _pending--;
                (sequence, id, token) = (entry.Sequence, entry.Id, entry.Token);
                return true;
            }
        }

        (sequence, id, token) = (0, default, default);
        return false;
    }

    /// <summary>The frame did not fit, or was lost: it is sent again if the id is still active.</summary>
    public void OnLost(long sequence)
    {
        foreach (ref Entry entry in _entries.AsSpan())
        {
            if (entry.IsActive && entry.Sequence == sequence && !entry.IsPending)
            {
                entry.IsPending = true;
                _pending++;
            }
        }
    }

    /// <summary>The connection is over.</summary>
    public void RetireAll()
    {
        foreach (ref Entry entry in _entries.AsSpan())
        {
            if (entry.IsActive)
            {
                _source.Retire(_connection, entry.Id);
                entry = default;
            }
        }

        _pending = 0;
    }

    private void Issue()
    {
        int active = 0;
        foreach (ref Entry entry in _entries.AsSpan())
        {
            active += entry.IsActive ? 1 : 0;
        }

        foreach (ref Entry entry in _entries.AsSpan())
        {
            if (active >= _limit)
            {
                return;
            }

            if (!entry.IsActive)
            {
                ConnectionId id = _source.Create(_connection, out UInt128 token);
                entry = new Entry { Id = id, Token = token, Sequence = _nextSequence++, IsActive = true, IsPending = true };
                _pending++;
                active++;
            }
        }
    }

    private struct Entry
    {
        public ConnectionId Id;
        public UInt128 Token;
        public long Sequence;
        public bool IsActive;
        public bool IsPending;
    }
}
