namespace Millrace.Quic.Connections;

/// <summary>
/// The paths of a connection (RFC 9000, section 9): the active one, at most three others that are validated, probed or still heard from,
/// and the validated one to return to if a migration fails. It decides; the connection sends.
/// </summary>
internal sealed class PathTable
{
    private const int Maximum = 4;

    private readonly NetworkPath?[] _paths = new NetworkPath?[Maximum];
    private int _maximumDatagramSize;
    private NetworkPath? _fallback;
    private byte _lastId;

    public PathTable(in PathAddress local, in PathAddress remote, bool isValidated, int maximumDatagramSize)
    {
        _maximumDatagramSize = maximumDatagramSize;
        Active = new NetworkPath(0, local, remote, maximumDatagramSize) { IsValidated = isValidated };
        _paths[0] = Active;
    }

    public NetworkPath Active { get; private set; }

    /// <summary>Times that <see cref="Active"/> changed.</summary>
    public int Migrations { get; private set; }

    public ReadOnlySpan<NetworkPath?> All => _paths;

    /// <summary>The peer's max_udp_payload_size.</summary>
    public void LimitDatagrams(int maximum)
    {
        _maximumDatagramSize = Math.Max(PathMtu.BaseSize, Math.Min(_maximumDatagramSize, maximum));
        foreach (NetworkPath? path in _paths)
        {
            path?.Mtu.LimitTo(maximum);
        }
    }

    public NetworkPath? Find(in PathAddress local, in PathAddress remote)
    {
        if (Active.Local == local && Active.Remote == remote)
        {
            return Active;
        }

        foreach (NetworkPath? path in _paths)
        {
            if (path is not null && path.Local == local && path.Remote == remote)
            {
                return path;
            }
        }

        return null;
    }

    /// <summary>The path of this number; null: it is gone.</summary>
    public NetworkPath? Get(byte id)
    {
        if (Active.Id == id)
        {
            return Active;
        }

        foreach (NetworkPath? path in _paths)
        {
            if (path?.Id == id)
            {
                return path;
            }
        }

        return null;
    }

    /// <summary>
    /// Makes a path, in the place of the one that was silent longest, if the table is full. The id of the <paramref name="removed"/>
    /// one is to be retired.
    /// </summary>
    public NetworkPath? Add(in PathAddress local, in PathAddress remote, out NetworkPath? removed)
    {
        int place = Array.IndexOf(_paths, null);
        removed = null;
        if (place < 0)
        {
            foreach (NetworkPath? path in _paths)
            {
                if (path != Active && path != _fallback && (removed is null || path!.LastReceived < removed.LastReceived))
                {
                    removed = path;
                }
            }

            if (removed is null)
            {
                return null;
            }

            place = Array.IndexOf(_paths, removed);
        }

        NetworkPath added = new(++_lastId, local, remote, _maximumDatagramSize);
        _paths[place] = added;
        return added;
    }

    /// <summary>The peer moved to another path, or this end does. A path that is not validated gets validated (section 9.3).</summary>
    public void Activate(NetworkPath path, long probeTimeout, long timeout, long now)
    {
        NetworkPath old = Active;
        if (path == old)
        {
            return;
        }

        Active = path;
        Migrations++;
        if (path.IsValidated)
        {
            path.Challenges.Stop();
            _fallback = null;
            return;
        }

        if (old.IsValidated)
        {
            _fallback = old;
        }

        path.Challenges.Start(probeTimeout, timeout, now);
    }

    /// <summary>The path answered a challenge (section 8.2.3).</summary>
    public void OnValidated(NetworkPath path, bool isExpanded, long probeTimeout, long timeout, long now)
    {
        path.IsValidated = true;
        path.Challenges.Stop();
        if (!isExpanded)
        {
            // The address is the peer's, but the path has not shown that it carries 1200 bytes.
            path.Challenges.Start(probeTimeout, timeout, now);
        }

        if (path == Active)
        {
            _fallback = null;
        }
    }

    /// <summary>Ends validations that were not answered in time.</summary>
    /// <returns>False: the active path failed and there is none to return to.</returns>
    public bool OnTimeout(long now, out NetworkPath? removed)
    {
        removed = null;
        foreach (NetworkPath? path in _paths)
        {
            if (path is null || !path.Challenges.HasFailed(now))
            {
                continue;
            }

            path.Challenges.Stop();
            if (path == _fallback && !Active.IsValidated)
            {
                // It was valid, and is better than none if the active path fails too.
                continue;
            }

            if (path == Active)
            {
                if (_fallback is null)
                {
                    return false;
                }

                Active = _fallback;
                _fallback = null;
                Migrations++;
            }

            _fallback = path == _fallback ? null : _fallback;
            _paths[Array.IndexOf(_paths, path)] = null;
            removed = path;
            return true;
        }

        return true;
    }

    public long NextTimeout
    {
        get
        {
            long next = QuicClock.Never;
            foreach (NetworkPath? path in _paths)
            {
                if (path is not null)
                {
                    next = Math.Min(next, path.IsBlocked ? path.Challenges.EndsAt : path.Challenges.NextTimeout);
                }
            }

            return next;
        }
    }
}
