namespace Millrace.Quic.Connections;

/// <summary>
/// What a connection does when paths appear, are validated, fail, or are migrated to (RFC 9000, sections 8.2 and 9). The table of paths
/// is <see cref="PathTable"/>'s.
/// </summary>
internal sealed class PathMigration(QuicConnection connection, ControlFrameBudget budget)
{
    /// <summary>A peer that moves again and again costs work: probes, and a congestion window that begins again.</summary>
    private const int CostOfMigration = 20;

    private PathTable Paths => connection.Paths;

    /// <summary>An authentic packet came from another address.</summary>
    public NetworkPath? AddPath(in ReceivedDatagram received)
    {
        NetworkPath? path = Paths.Add(received.Local, received.Remote, out NetworkPath? removed);
        Forget(removed);
        path?.OnReceived(received.Length, received.Now);
        return path;
    }

    /// <summary>The peer's last packet that was no probe came on another path: that is its path now (section 9.3).</summary>
    public void OnPeerMigrated(NetworkPath path, long now)
    {
        if (!connection.IsServer)
        {
            return;
        }

        if (!budget.TryTake(CostOfMigration, now))
        {
            connection.Fail(new QuicError(TransportErrorCode.ProtocolViolation, "Too many migrations"), now);
            return;
        }

        Activate(path, now);
    }

    /// <summary>A client moves to another of its addresses: the path is probed, and used when it is valid (section 9.2).</summary>
    public bool TryMigrate(in PathAddress local, long now)
    {
        if (connection.IsServer || !connection.Handshake.IsConfirmed
            || connection.Handshake.PeerParameters?.DisableActiveMigration != false)
        {
            return false;
        }

        NetworkPath? path = Paths.Find(local, Paths.Active.Remote);
        if (path is null)
        {
            path = Paths.Add(local, Paths.Active.Remote, out NetworkPath? removed);
            Forget(removed);
        }

        // The server's address is valid: what is sent to it is not limited. The path is used once it has answered.
        if (path is null || path == Paths.Active || !connection.PeerIds.HasUnused)
        {
            return false;
        }

        path.IsValidated = true;
        path.IsMigrationTarget = true;
        path.Challenges.Start(connection.ProbeTimeout, ValidationTimeout, now);
        return true;
    }

    public void OnResponse(ulong data, long now)
    {
        foreach (NetworkPath? path in Paths.All)
        {
            if (path is null || !path.Challenges.TryMatch(data, out bool isExpanded))
            {
                continue;
            }

            Paths.OnValidated(path, isExpanded, connection.ProbeTimeout, ValidationTimeout, now);
            if (path.IsMigrationTarget)
            {
                path.IsMigrationTarget = false;
                Activate(path, now);
            }

            if (path == Paths.Active)
            {
                path.Mtu.Enable();
            }

            connection.UpdateAmplification();
            return;
        }
    }

    public void OnTimeout(long now)
    {
        NetworkPath active = Paths.Active;
        bool isAlive = Paths.OnTimeout(now, out NetworkPath? removed);
        Forget(removed);
        if (!isAlive)
        {
            connection.OnPathFailed();
        }
        else if (Paths.Active != active)
        {
            OnActivated(active, now);
        }
    }

    /// <summary>Gives a path one of the peer's ids, its own if there is an unused one (section 9.5). False: there is none.</summary>
    public bool TryUsePeerId(NetworkPath path)
    {
        if (connection.PeerIds.TryGet(path.PeerIdSequence, out _))
        {
            return true;
        }

        if (connection.PeerIds.TryUse(out long sequence))
        {
            path.PeerIdSequence = sequence;
            return true;
        }

        // Another path's id is better than none: a NAT that changes a port does not tell anybody that ids should change.
        foreach (NetworkPath? other in Paths.All)
        {
            if (other is not null && connection.PeerIds.TryGet(other.PeerIdSequence, out _))
            {
                path.PeerIdSequence = other.PeerIdSequence;
                return true;
            }
        }

        return connection.PeerIds.TryGetAny(out long any) && (path.PeerIdSequence = any) >= 0;
    }

    /// <summary>Three probe timeouts of this path or of a new one, whichever is longer (section 8.2.4).</summary>
    private long ValidationTimeout => 3 * Math.Max(connection.ProbeTimeout, 3 * Recovery.RttEstimator.InitialRtt);

    private void Activate(NetworkPath path, long now)
    {
        NetworkPath old = Paths.Active;
        Paths.Activate(path, connection.ProbeTimeout, ValidationTimeout, now);
        if (Paths.Active == old)
        {
            return;
        }

        if (old.IsValidated && connection.IsServer)
        {
            // An attacker that copies packets from elsewhere is found out when the peer still answers at its old address (section 9.3.3).
            old.Challenges.Start(connection.ProbeTimeout, ValidationTimeout, now);
        }

        OnActivated(old, now);
    }

    private void OnActivated(NetworkPath old, long now)
    {
        NetworkPath active = Paths.Active;
        bool keepsEstimates = active.Remote.HasAddressOf(old.Remote) && active.Local == old.Local;
        connection.Recovery.ResetForNewPath(active.Id, keepsEstimates, now);
        if (active.IsValidated)
        {
            active.Mtu.Enable();
        }

        connection.OnDatagramSizeChanged();
        connection.UpdateAmplification();
    }

    private void Forget(NetworkPath? removed)
    {
        if (removed is null || removed.PeerIdSequence < 0)
        {
            return;
        }

        foreach (NetworkPath? other in Paths.All)
        {
            if (other is not null && other != removed && other.PeerIdSequence == removed.PeerIdSequence)
            {
                return;
            }
        }

        connection.PeerIds.Retire(removed.PeerIdSequence);
    }
}
