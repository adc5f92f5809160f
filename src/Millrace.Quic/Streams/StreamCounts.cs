using System.Diagnostics;

namespace Millrace.Quic.Streams;

/// <summary>
/// How many streams of one direction each end has opened, and may (RFC 9000, section 4.6). Closed streams are known by these numbers
/// alone. One thread.
/// </summary>
internal sealed class StreamCounts
{
    private readonly long _openMax;
    private long _peerClosed;
    private long _reportedLimit = -1;

    /// <param name="openMax">Streams of the peer that may be open at a time.</param>
    public StreamCounts(long openMax)
    {
        _openMax = openMax;
        PeerLimit = openMax;
    }

    /// <summary>Streams that this end has opened, closed ones too.</summary>
    public long Opened { get; private set; }

    /// <summary>The peer's limit on <see cref="Opened"/>.</summary>
    public long Limit { get; private set; }

    /// <summary>Streams that the peer has opened, closed ones too.</summary>
    public long PeerOpened { get; private set; }

    /// <summary>This end's limit on <see cref="PeerOpened"/>, as the peer knows it.</summary>
    public long PeerLimit { get; private set; }

    public bool CanOpen => Opened < Limit;

    /// <summary>An attempt to open a stream has failed since the limit was raised.</summary>
    public bool IsBlocked { get; private set; }

    /// <summary>
    /// Whether the peer should be given a higher limit: it has used half of what it may, and would get more. So it can always have as many
    /// streams open as it may, and an update is sent for several that close.
    /// </summary>
    public bool IsUpdateDue => _peerClosed + _openMax > PeerLimit && PeerLimit - PeerOpened <= _openMax / 2;

    /// <summary>The index of a stream that this end opens now.</summary>
    public long Open()
    {
        Debug.Assert(CanOpen);
        return Opened++;
    }

    /// <summary>An attempt to open failed. True: the peer is to be informed, which happens once for a limit.</summary>
    public bool TryReportBlocked()
    {
        IsBlocked = true;
        bool isNew = _reportedLimit != Limit;
        _reportedLimit = Limit;
        return isNew;
    }

    /// <summary>True: streams can be opened again, after an attempt has failed.</summary>
    public bool TryRaise(long limit)
    {
        bool isFreed = IsBlocked && limit > Limit;
        IsBlocked &= !isFreed;
        Limit = Math.Max(Limit, limit);
        return isFreed;
    }

    /// <summary>The index of the next stream of the peer.</summary>
    public long OpenPeers() => PeerOpened++;

    public void ClosePeers() => _peerClosed++;

    /// <summary>Raises the peer's limit, to be sent now.</summary>
    public void UpdatePeerLimit() => PeerLimit = Math.Min(StreamId.CountMax, Math.Max(PeerLimit, _peerClosed + _openMax));
}
