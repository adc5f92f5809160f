namespace Millrace.Quic.Recovery;

/// <summary>Packet numbers from <paramref name="Smallest"/> to <paramref name="Largest"/>, both included.</summary>
internal readonly record struct PacketRange(long Smallest, long Largest)
{
    public bool Contains(long number) => number >= Smallest && number <= Largest;
}

/// <summary>The ranges of a received ACK frame, from the largest numbers down, without overlaps.</summary>
internal interface IAckRanges
{
    /// <summary>False: there are no more, or what follows is malformed (which the reader of the frame reports).</summary>
    bool TryRead(out PacketRange range);
}
