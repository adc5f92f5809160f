namespace Millrace.Quic.Recovery;

/// <summary>
/// The packets that one number space has received: which numbers, and when to acknowledge them (RFC 9000, section 13.2). It remembers 32
/// ranges; numbers below those are taken for duplicates. Owned by the connection; one thread; nothing here fails.
/// </summary>
internal sealed class ReceivedPackets(PacketSpace space)
{
    /// <summary>The most ranges that are remembered and reported.</summary>
    public const int MaximumRanges = 32;

    /// <summary>max_ack_delay, as this end announces it by default: 25 ms.</summary>
    public const long DefaultMaximumAckDelay = 25_000_000;

    private readonly PacketRange[] _ranges = new PacketRange[MaximumRanges];
    private long _floor;
    private long _largestTime;
    private long _largestAckEliciting = -1;
    private int _ackElicitingCount;
    private int _count;

    public PacketSpace Space { get; } = space;

    /// <summary>max_ack_delay that this end has announced, in nanoseconds; 0 in Initial and Handshake.</summary>
    public long MaximumAckDelay { get; set; } = space == PacketSpace.Application ? DefaultMaximumAckDelay : 0;

    /// <summary>As many ack-eliciting packets are acknowledged without a delay (RFC 9000, section 13.2.2).</summary>
    public int AckElicitingThreshold { get; set; } = 2;

    /// <summary>The largest number received; -1 before the first.</summary>
    public long Largest { get; private set; } = -1;

    /// <summary>What an ACK frame is to report, the largest numbers first.</summary>
    public ReadOnlySpan<PacketRange> Ranges => _ranges.AsSpan(0, _count);

    public EcnCounts Ecn { get; private set; }

    /// <summary>When an ACK frame is to be sent at the latest; <see cref="long.MaxValue"/> if none is.</summary>
    public long AckDeadline { get; private set; } = long.MaxValue;

    /// <summary>Something was received that no sent ACK frame reports: a packet that is sent anyway should carry one.</summary>
    public bool HasUnreported { get; private set; }

    /// <summary>Whether a packet must be dropped: it was received before, or so long ago that this is not known any more.</summary>
    public bool IsDuplicate(long number)
    {
        if (number > Largest)
        {
            return false;
        }

        if (number < _floor)
        {
            return true;
        }

        foreach (PacketRange range in Ranges)
        {
            if (number >= range.Smallest)
            {
                return number <= range.Largest;
            }
        }

        return false;
    }

    /// <summary>A packet was opened and its frames were read. It is no duplicate.</summary>
    public void OnReceived(long number, bool isAckEliciting, EcnMark ecn, long now)
    {
        PacketRange range = Insert(number);
        Ecn = Ecn.Add(ecn);
        HasUnreported = true;
        if (number > Largest)
        {
            Largest = number;
            _largestTime = now;
        }

        if (!isAckEliciting)
        {
            return;
        }

        _ackElicitingCount++;
        bool isOutOfOrder = number < _largestAckEliciting || range.Smallest > _largestAckEliciting + 1;
        _largestAckEliciting = Math.Max(_largestAckEliciting, number);
        bool isImmediate = Space != PacketSpace.Application || isOutOfOrder || ecn == EcnMark.Ce
            || _ackElicitingCount >= AckElicitingThreshold;
        AckDeadline = Math.Min(AckDeadline, isImmediate ? now : now + MaximumAckDelay);
    }

    /// <summary>Whether an ACK frame is due.</summary>
    public bool IsAckDue(long now) => now >= AckDeadline;

    /// <summary>The time since the largest number was received: the ACK Delay field, before it is scaled.</summary>
    public long AckDelay(long now) => Math.Max(0, now - _largestTime);

    /// <summary>An ACK frame with all that was received is part of a packet.</summary>
    public void OnAckSent()
    {
        AckDeadline = long.MaxValue;
        HasUnreported = false;
        _ackElicitingCount = 0;
    }

    /// <summary>
    /// The peer has received an ACK frame whose largest number was this: ranges below need no more reports (RFC 9000, section 13.2.4).
    /// </summary>
    public void OnAckAcked(long largest)
    {
        int count = _count;
        while (count > 1 && _ranges[count - 1].Largest < largest)
        {
            count--;
        }

        KeepLargest(count);
    }

    /// <summary>Adds a number that no range has; returns the range that has it now.</summary>
    private PacketRange Insert(long number)
    {
        int at = 0;
        while (at < _count && _ranges[at].Smallest > number)
        {
            at++;
        }

        // The ranges at - 1 and at are those above and below the number.
        bool extendsUpper = at > 0 && _ranges[at - 1].Smallest == number + 1;
        bool extendsLower = at < _count && _ranges[at].Largest == number - 1;
        if (extendsUpper && extendsLower)
        {
            PacketRange merged = new(_ranges[at].Smallest, _ranges[at - 1].Largest);
            _ranges.AsSpan(at, _count - at).CopyTo(_ranges.AsSpan(at - 1));
            _count--;
            return _ranges[at - 1] = merged;
        }

        if (extendsLower)
        {
            return _ranges[at] = _ranges[at] with { Largest = number };
        }

        return extendsUpper ? _ranges[at - 1] = _ranges[at - 1] with { Smallest = number } : InsertRange(at, number);
    }

    private PacketRange InsertRange(int at, long number)
    {
        var range = new PacketRange(number, number);
        if (_count == MaximumRanges)
        {
            if (at == _count)
            {
                _floor = number + 1;
                return range;
            }

            KeepLargest(_count - 1);
        }

        _ranges.AsSpan(at, _count - at).CopyTo(_ranges.AsSpan(at + 1));
        _count++;
        return _ranges[at] = range;
    }

    /// <summary>Forgets ranges. Numbers missing above those may still arrive; others up to there count as received.</summary>
    private void KeepLargest(int count)
    {
        if (count < _count)
        {
            _floor = _ranges[count].Largest + 1;
            _count = count;
        }
    }
}
