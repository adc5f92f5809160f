namespace Millrace.Quic.Recovery;

/// <summary>
/// The packets that were declared lost last, in ascending order, so that one that is acknowledged after all is noticed. The oldest are
/// forgotten. Owned by <see cref="SentPackets"/>; one thread.
/// </summary>
internal sealed class LostPackets(SentFramePool pool)
{
    /// <summary>The most that are remembered; a power of two.</summary>
    public const int Maximum = 128;

    private SentPacket[] _packets = [];
    private int _first;

    public int Count { get; private set; }

    /// <summary>Packets by age; those with the state <see cref="SentPacketState.Acknowledged"/> were taken.</summary>
    public ref SentPacket this[int index] => ref _packets[(_first + index) & (_packets.Length - 1)];

    public void Add(in SentPacket packet)
    {
        if (Count == Maximum)
        {
            RemoveFirst();
        }
        else if (Count == _packets.Length)
        {
            Grow();
        }

        this[Count++] = packet;
    }

    /// <summary>The index of the first packet that has this number or a larger one.</summary>
    public int Find(long number)
    {
        int low = 0;
        int high = Count;
        while (low < high)
        {
            int middle = (low + high) / 2;
            if (this[middle].Number < number)
            {
                low = middle + 1;
            }
            else
            {
                high = middle;
            }
        }

        return low;
    }

    /// <summary>Forgets those that were declared lost before a time.</summary>
    public void RemoveBefore(long time)
    {
        while (Count > 0 && this[0].TimeLost < time)
        {
            RemoveFirst();
        }
    }

    public void Clear()
    {
        while (Count > 0)
        {
            RemoveFirst();
        }
    }

    private void RemoveFirst()
    {
        pool.Release(this[0].Frames);
        this[0].Frames = SentFramePool.None;
        _first = (_first + 1) & (_packets.Length - 1);
        Count--;
    }

    private void Grow()
    {
        var larger = new SentPacket[Math.Max(8, Count * 2)];
        for (int i = 0; i < Count; i++)
        {
            larger[i] = this[i];
        }

        _packets = larger;
        _first = 0;
    }
}
