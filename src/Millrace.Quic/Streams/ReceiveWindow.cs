namespace Millrace.Quic.Streams;

/// <summary>
/// What this end lets the peer send, on a stream or on the connection (RFC 9000, section 4.1). The limit moves ahead when half of the
/// window is consumed. The window doubles, up to its maximum, if half of it was consumed within two round trips: it then limits the
/// peer, or soon will. One thread.
/// </summary>
internal struct ReceiveWindow(long size, long sizeMax)
{
    private long _updatedAt = long.MinValue;

    /// <summary>Size of the window: how much of the peer's data this end may have to hold.</summary>
    public long Size { get; private set; } = size;

    /// <summary>The limit that the peer knows, or will once the pending frame arrives.</summary>
    public long Limit { get; private set; } = size;

    /// <summary>The highest offset received; on the connection the sum of those of all streams.</summary>
    public long Received { get; private set; }

    public long Consumed { get; private set; }

    /// <summary>Whether the peer should be given a higher limit.</summary>
    public readonly bool IsUpdateDue => Limit - Consumed <= Size / 2;

    /// <summary>False: the peer has exceeded its limit (FLOW_CONTROL_ERROR).</summary>
    public bool TryReceive(long bytes)
    {
        if (bytes > Limit - Received)
        {
            return false;
        }

        Received += bytes;
        return true;
    }

    public void Consume(long bytes) => Consumed += bytes;

    /// <summary>Raises the limit, to be sent now.</summary>
    public void Update(long now, long smoothedRtt)
    {
        if (IsUpdateDue)
        {
            if (_updatedAt != long.MinValue && now - _updatedAt < 2 * smoothedRtt)
            {
                Size = Math.Max(Size, Math.Min(Size * 2, sizeMax));
            }

            _updatedAt = now;
        }

        Limit = Math.Max(Limit, Consumed + Size);
    }

    /// <summary>Keeps the connection's window larger than those of its streams.</summary>
    public void Widen(long sizeMin) => Size = Math.Max(Size, Math.Min(sizeMin, sizeMax));
}
