namespace Millrace.Engine.Datagrams;

/// <summary>
/// To which addresses the kernel has refused to cut sends into datagrams (EIO): the device of their route computes no checksums. Others
/// may have routes by other devices, and a route may change: a refusal is forgotten after a while. If many are refused, all are. A
/// socket's; reactor thread.
/// </summary>
internal sealed class SegmentRefusals
{
    /// <summary>A new attempt costs one refused send.</summary>
    public const long KeptMs = 10_000;

    /// <summary>Clients rarely have routes of their own: that many mean that the device is the common one.</summary>
    public const int AddressesMax = 16;

    private readonly Entry[] _entries = new Entry[AddressesMax];
    private int _count;

    /// <summary>Whether there are any, of whatever age.</summary>
    public bool IsEmpty => _count == 0;

    public bool Contains(in DatagramAddress to, long nowMs)
    {
        Forget(nowMs);
        return _count == AddressesMax || IndexOf(to) >= 0;
    }

    public void Add(in DatagramAddress to, long nowMs)
    {
        Forget(nowMs);
        int index = IndexOf(to);
        if (index < 0 && _count < AddressesMax)
        {
            index = _count++;
        }

        if (index >= 0)
        {
            _entries[index] = new Entry(to.High, to.Low, nowMs + KeptMs);
        }
    }

    private void Forget(long nowMs)
    {
        for (int i = _count - 1; i >= 0; i--)
        {
            if (_entries[i].UntilMs <= nowMs)
            {
                _entries[i] = _entries[--_count];
            }
        }
    }

    private int IndexOf(in DatagramAddress to)
    {
        for (int i = 0; i < _count; i++)
        {
            if (_entries[i].High == to.High && _entries[i].Low == to.Low)
            {
                return i;
            }
        }

        return -1;
    }

    private readonly record struct Entry(ulong High, ulong Low, long UntilMs);
}
