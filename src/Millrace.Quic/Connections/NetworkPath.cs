namespace Millrace.Quic.Connections;

/// <summary>
/// A pair of addresses that a connection uses, or tries (RFC 9000, sections 8 and 9): whether it is validated, how much may be sent to it
/// before, its size of datagrams and the peer's connection id on it. Its <see cref="PathTable"/> owns it.
/// </summary>
internal sealed class NetworkPath(byte id, in PathAddress local, in PathAddress remote, int maximumDatagramSize)
{
    /// <summary>Nothing below this size is worth a packet.</summary>
    private const int SmallestDatagram = 64;

    private const int AmplificationFactor = 3;

    /// <summary>Its number in the records of sent packets; of a later path only after 255 others.</summary>
    public byte Id { get; } = id;

    public PathAddress Local { get; } = local;

    public PathAddress Remote { get; } = remote;

    public PathMtu Mtu { get; } = new(maximumDatagramSize);

    public PathChallenges Challenges { get; } = new();

    /// <summary>The peer owns the address: no limit on what is sent to it.</summary>
    public bool IsValidated { get; set; }

    /// <summary>The client wants to use it, once it is validated.</summary>
    public bool IsMigrationTarget { get; set; }

    public long BytesReceived { get; private set; }

    public long BytesSent { get; private set; }

    public long LastReceived { get; private set; }

    /// <summary>The sequence number of the peer's connection id that is used on this path; below 0 until one is needed.</summary>
    public long PeerIdSequence { get; set; } = -1;

    /// <summary>The sequence number of this end's id that the peer last sent to on this path; below 0: none yet.</summary>
    public long LocalIdSequence { get; set; } = -1;

    /// <summary>How much may be sent now: three times what was received, until the address is validated (section 8.1).</summary>
    public int Allowance => IsValidated
        ? int.MaxValue
        : (int)Math.Clamp((BytesReceived * AmplificationFactor) - BytesSent, 0, int.MaxValue);

    public bool IsBlocked => Allowance < SmallestDatagram;

    /// <summary>A full datagram may not be sent.</summary>
    public bool IsLimited => Allowance < PathMtu.BaseSize;

    public void OnReceived(int size, long now)
    {
        BytesReceived += size;
        LastReceived = now;
    }

    public void OnSent(int size) => BytesSent += size;
}
