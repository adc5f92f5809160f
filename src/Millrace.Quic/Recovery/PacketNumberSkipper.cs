namespace Millrace.Quic.Recovery;

/// <summary>
/// Chooses the packet numbers that are not used, so that a peer that acknowledges what it has not received is found out (RFC 9000, section
/// 21.4). They become rarer with time. A seed of 0 skips none.
/// </summary>
internal sealed class PacketNumberSkipper
{
    private const long FirstPeriod = 128;
    private const long LastPeriod = 1 << 16;

    /// <summary>The last of the skipped numbers are remembered: older ones are far below what is in flight.</summary>
    private const int Remembered = 4;

    private readonly long[] _skipped = new long[Remembered];
    private ulong _state;
    private long _period = FirstPeriod;
    private long _next = long.MaxValue;
    private int _count;

    public PacketNumberSkipper(ulong seed)
    {
        _state = seed;
        Array.Fill(_skipped, -1);
        if (seed != 0)
        {
            Choose(0);
        }
    }

    /// <summary>Whether this number is to be left out.</summary>
    public bool Skips(long number)
    {
        if (number < _next)
        {
            return false;
        }

        _skipped[_count++ % Remembered] = number;
        Choose(number);
        return true;
    }

    /// <summary>Whether a range of acknowledged numbers has one that was never sent.</summary>
    public bool IsIn(in PacketRange range)
    {
        foreach (long number in _skipped)
        {
            if (number >= 0 && range.Contains(number))
            {
                return true;
            }
        }

        return false;
    }

    private void Choose(long number)
    {
        _state ^= _state << 13;
        _state ^= _state >> 7;
        _state ^= _state << 17;
        _next = number + 1 + _period + (long)(_state % (ulong)_period);
        _period = Math.Min(_period * 2, LastPeriod);
    }
}
