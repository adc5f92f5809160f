using Millrace.Quic.Packets;

namespace Millrace.Quic.Connections;

/// <summary>
/// What a connection does when paths appear, are validated, fail, or are migrated to (RFC 9000, sections 8.2 and 9). The table of paths
/// is <see cref="PathTable"/>'s.
/// </summary>
internal sealed class PathMigration(QuicConnection connection, ControlFrameBudget budget)
{
    /// <summary>A peer that moves again and again costs work: probes, and a congestion window that begins again.</summary>
    private const int CostOfMigration = 20;

    /// <summary>The probe timeout of a path that was not measured (RFC 9002, section 6.2.2).</summary>
    private const long NewPathTimeout = 3 * Recovery.RttEstimator.InitialRtt;

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
        if (!connection.IsServer || !TryUsePeerId(path))
        {
            // Without an id for the path nothing can be sent there (section 9.5): the peer is followed when it has given one.
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
        path.Challenges.Start(ProbeTimeoutOf(path), ValidationTimeout, now);
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

            Paths.OnValidated(path, isExpanded, ProbeTimeoutOf(path), ValidationTimeout, now);
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

    /// <summary>
    /// Gives a path one of the peer's ids, its own if there is an unused one (section 9.5). False: there is none that may be sent there.
    /// </summary>
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

        foreach (NetworkPath? other in Paths.All)
        {
            if (other is not null && MayShareId(path, other))
            {
                path.PeerIdSequence = other.PeerIdSequence;
                return true;
            }
        }

        // The peer has left none but those of other paths to the one in use.
        return path == Paths.Active && connection.PeerIds.TryGetAny(out long any) && (path.PeerIdSequence = any) >= 0;
    }

    /// <summary>
    /// Whether an id that is used on one path may be used on another one: it is empty, or the peer too sends to the same id on both. It
    /// has not moved then, a NAT has given it another address (section 9.5).
    /// </summary>
    private bool MayShareId(NetworkPath path, NetworkPath other) => connection.PeerIds.TryGet(other.PeerIdSequence, out ConnectionId id)
        && (id.Length == 0 || (path.Local == other.Local && path.LocalIdSequence == other.LocalIdSequence));

    /// <summary>Three probe timeouts of this path or of a new one, whichever is longer (section 8.2.4).</summary>
    private long ValidationTimeout => 3 * Math.Max(connection.ProbeTimeout, NewPathTimeout);

    /// <summary>A path of another address has no round-trip time yet: it is probed as a new connection would be (section 9.4).</summary>
    private long ProbeTimeoutOf(NetworkPath path) =>
        KeepsEstimates(path, Paths.Active) ? connection.ProbeTimeout : Math.Max(connection.ProbeTimeout, NewPathTimeout);

    private static bool KeepsEstimates(NetworkPath path, NetworkPath other) =>
        path.Remote.HasAddressOf(other.Remote) && path.Local == other.Local;

    private void Activate(NetworkPath path, long now)
    {
        NetworkPath old = Paths.Active;
        Paths.Activate(path, ProbeTimeoutOf(path), ValidationTimeout, now);
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
        connection.Recovery.ResetForNewPath(active.Id, KeepsEstimates(active, old), now);
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
