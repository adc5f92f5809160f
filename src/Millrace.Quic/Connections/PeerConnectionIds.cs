using System.Buffers.Binary;
using Millrace.Quic.Packets;
using Millrace.Quic.Parameters;

namespace Millrace.Quic.Connections;

/// <summary>What a NEW_CONNECTION_ID frame did.</summary>
internal enum PeerIdResult : byte
{
    Accepted,

    /// <summary>PROTOCOL_VIOLATION: the peer uses zero-length ids, or contradicts itself.</summary>
    Contradiction,

    /// <summary>CONNECTION_ID_LIMIT_ERROR.</summary>
    TooMany,
}

/// <summary>
/// The connection ids that the peer has given to this end (RFC 9000, section 5.1): unused ones for new paths, those that the peer wants
/// retired, and RETIRE_CONNECTION_ID frames that are not acknowledged yet. Bounded. One connection's.
/// </summary>
internal sealed class PeerConnectionIds
{
    /// <summary>This end's active_connection_id_limit.</summary>
    public const int Limit = 4;

    /// <summary>Retired ids whose frame is not acknowledged: more are the peer's fault (section 5.1.2).</summary>
    private const int MaximumRetiring = 4 * Limit;

    /// <summary>Sequence numbers above the lowest that was never seen. The peer may not leave such a gap: it has four ids active.</summary>
    private const int Window = 128;

    private readonly QuicConnection _connection;
    private readonly IConnectionIdSource _source;
    private readonly Entry[] _entries = new Entry[Limit];
    private readonly Retiring[] _retiring = new Retiring[MaximumRetiring];
    private int _retiringCount;
    private long _retirePriorTo;
    private long _seenBase = 1;
    private UInt128 _seen;

    /// <summary>The id of sequence number 0: a client's own choice until the server's first packet.</summary>
    public PeerConnectionIds(QuicConnection connection, IConnectionIdSource source, in ConnectionId first)
    {
        _connection = connection;
        _source = source;
        _entries[0] = new Entry { Id = first, IsActive = true, IsUsed = true };
    }

    /// <summary>A RETIRE_CONNECTION_ID is to be sent.</summary>
    public bool HasPending { get; private set; }

    /// <summary>The server chose its id, by its first Initial or a Retry.</summary>
    public void ReplaceFirst(in ConnectionId id) => _entries[0].Id = id;

    /// <summary>The reset token of sequence number 0, from the transport parameters.</summary>
    public void SetFirstToken(UInt128 token)
    {
        foreach (ref Entry entry in _entries.AsSpan())
        {
            if (entry.IsActive && entry.Sequence == 0)
            {
                entry.Token = token;
                entry.HasToken = true;
                _source.AddResetToken(_connection, token);
            }
        }
    }

    /// <summary>True: the bytes are the reset token of an id that this end uses.</summary>
    public bool IsResetToken(UInt128 token)
    {
        bool found = false;
        foreach (ref Entry entry in _entries.AsSpan())
        {
            // No early return: the time must not depend on the token (section 10.3.1).
            found |= entry.IsActive && entry.IsUsed && entry.HasToken && (entry.Token ^ token) == UInt128.Zero;
        }

        return found;
    }

    public bool TryGet(long sequence, out ConnectionId id)
    {
        foreach (ref Entry entry in _entries.AsSpan())
        {
            if (entry.IsActive && entry.Sequence == sequence)
            {
                id = entry.Id;
                return true;
            }
        }

        id = default;
        return false;
    }

    /// <summary>Whether <see cref="TryUse"/> finds one.</summary>
    public bool HasUnused
    {
        get
        {
            bool hasUnused = false;
            foreach (ref Entry entry in _entries.AsSpan())
            {
                hasUnused |= entry is { IsActive: true, IsUsed: false };
            }

            return hasUnused;
        }
    }

    /// <summary>Any id that this end may send to.</summary>
    public bool TryGetAny(out long sequence)
    {
        foreach (ref Entry entry in _entries.AsSpan())
        {
            if (entry.IsActive)
            {
                sequence = entry.Sequence;
                return true;
            }
        }

        sequence = -1;
        return false;
    }

    /// <summary>An unused id for a new path; false: there is none now.</summary>
    public bool TryUse(out long sequence)
    {
        ref Entry lowest = ref _entries[0];
        bool found = false;
        foreach (ref Entry entry in _entries.AsSpan())
        {
            if (entry is { IsActive: true, IsUsed: false } && (!found || entry.Sequence < lowest.Sequence))
            {
                lowest = ref entry;
                found = true;
            }
        }

        if (!found)
        {
            sequence = -1;
            return false;
        }

        lowest.IsUsed = true;
        _source.AddResetToken(_connection, lowest.Token);
        sequence = lowest.Sequence;
        return true;
    }

    /// <summary>
    /// The id of a server's preferred address, which has the sequence number 1 (section 5.1.1). This end stays at the address that it
    /// has, but the id is one of those that the server keeps. False: the server's own id is empty, or the same.
    /// </summary>
    public bool TryAddPreferred(PreferredAddress preferred) => OnNewConnectionId(
        1, 0, preferred.ConnectionId, BinaryPrimitives.ReadUInt128BigEndian(preferred.StatelessResetToken)) == PeerIdResult.Accepted;

    public PeerIdResult OnNewConnectionId(long sequence, long retirePriorTo, in ConnectionId id, UInt128 token)
    {
        if (_entries[0] is { IsActive: true, Sequence: 0, Id.Length: 0 })
        {
            return PeerIdResult.Contradiction;
        }

        foreach (ref Entry entry in _entries.AsSpan())
        {
            if (!entry.IsActive)
            {
                continue;
            }

            bool isSame = entry.Sequence == sequence;
            if (isSame != entry.Id.Equals(id) || (isSame && entry.HasToken && entry.Token != token))
            {
                return PeerIdResult.Contradiction;
            }
        }

        if (sequence >= _seenBase + Window)
        {
            return PeerIdResult.TooMany;
        }

        bool isNew = TrySee(sequence);
        _retirePriorTo = Math.Max(_retirePriorTo, retirePriorTo);
        foreach (ref Entry entry in _entries.AsSpan())
        {
            if (entry.IsActive && entry.Sequence < _retirePriorTo && !TryRetire(ref entry))
            {
                return PeerIdResult.TooMany;
            }
        }

        if (!isNew)
        {
            return PeerIdResult.Accepted;
        }

        return sequence < _retirePriorTo
            ? TryAddRetiring(sequence) ? PeerIdResult.Accepted : PeerIdResult.TooMany
            : TryAdd(sequence, id, token) ? PeerIdResult.Accepted : PeerIdResult.TooMany;
    }

    /// <summary>This end does not use the id any more.</summary>
    public void Retire(long sequence)
    {
        foreach (ref Entry entry in _entries.AsSpan())
        {
            if (entry.IsActive && entry.Sequence == sequence && _retiringCount < MaximumRetiring)
            {
                _ = TryRetire(ref entry);
            }
        }
    }

    /// <summary>The next id to retire; it counts as sent.</summary>
    public bool TryTakePending(out long sequence)
    {
        for (int i = 0; i < _retiringCount; i++)
        {
            if (_retiring[i].IsPending)
            {
                _retiring[i].IsPending = false;
                sequence = _retiring[i].Sequence;
                return true;
            }
        }

        HasPending = false;
        sequence = 0;
        return false;
    }

    public void OnRetireAcknowledged(long sequence)
    {
        for (int i = 0; i < _retiringCount; i++)
        {
            if (_retiring[i].Sequence == sequence)
            {
                _retiring[i] = _retiring[--_retiringCount];
                return;
            }
        }
    }

    public void OnRetireLost(long sequence)
    {
        for (int i = 0; i < _retiringCount; i++)
        {
            if (_retiring[i].Sequence == sequence)
            {
                _retiring[i].IsPending = true;
                HasPending = true;
            }
        }
    }

    /// <summary>The connection is over.</summary>
    public void Clear()
    {
        foreach (ref Entry entry in _entries.AsSpan())
        {
            Forget(ref entry);
        }
    }

    private bool TryRetire(ref Entry entry)
    {
        long sequence = entry.Sequence;
        Forget(ref entry);
        return TryAddRetiring(sequence);
    }

    private void Forget(ref Entry entry)
    {
        if (entry is { IsActive: true, IsUsed: true, HasToken: true })
        {
            _source.RemoveResetToken(_connection, entry.Token);
        }

        entry = default;
    }

    private bool TryAddRetiring(long sequence)
    {
        if (_retiringCount == MaximumRetiring)
        {
            return false;
        }

        _retiring[_retiringCount++] = new Retiring { Sequence = sequence, IsPending = true };
        HasPending = true;
        return true;
    }

    private bool TryAdd(long sequence, in ConnectionId id, UInt128 token)
    {
        foreach (ref Entry entry in _entries.AsSpan())
        {
            if (!entry.IsActive)
            {
                entry = new Entry { Id = id, Token = token, Sequence = sequence, IsActive = true, HasToken = true };
                return true;
            }
        }

        return false;
    }

    /// <summary>False: the sequence number was seen before, so that the frame is a repetition.</summary>
    private bool TrySee(long sequence)
    {
        if (sequence < _seenBase || ((_seen >> (int)(sequence - _seenBase)) & 1) != 0)
        {
            return false;
        }

        _seen |= UInt128.One << (int)(sequence - _seenBase);
        while ((_seen & 1) != 0)
        {
            _seen >>= 1;
            _seenBase++;
        }

        return true;
    }

    private struct Entry
    {
        public ConnectionId Id;
        public UInt128 Token;
        public long Sequence;
        public bool IsActive;
        public bool IsUsed;
        public bool HasToken;
    }

    private struct Retiring
    {
        public long Sequence;
        public bool IsPending;
    }
}
