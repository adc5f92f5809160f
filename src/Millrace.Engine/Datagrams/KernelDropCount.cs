namespace Millrace.Engine.Datagrams;

/// <summary>
/// What the kernel has reported of a socket's dropped datagrams (SO_RXQ_OVFL, modulo 2^32), so that each is counted once: also where the
/// socket has several descriptors, each of a reactor, and where it has had other owners before. Any thread.
/// </summary>
/// <param name="before">What the kernel had counted before, for others.</param>
internal sealed class KernelDropCount(uint before = 0)
{
    private uint _seen = before;

    /// <summary>
    /// How many are new in a report. Reports of several reactors are not in order: one that is behind by less than half of the counter's
    /// range is an earlier one.
    /// </summary>
    public long Advance(uint drops)
    {
        uint seen = Volatile.Read(ref _seen);
        while (true)
        {
            int ahead = (int)(drops - seen);
            if (ahead <= 0)
            {
                return 0;
            }

            uint found = Interlocked.CompareExchange(ref _seen, drops, seen);
            if (found == seen)
            {
                return ahead;
            }

            seen = found;
        }
    }
}
