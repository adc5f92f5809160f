namespace Millrace.Server.AccessLog;

/// <summary>
/// A lock-free ring that passes lines from one thread to another in a fixed amount of memory. The producer never waits: a line that does
/// not fit is dropped and counted. One producer, one consumer; each line ends with its only line feed.
/// </summary>
internal sealed class LineRing(int capacityBytes)
{
    private readonly byte[] _bytes = new byte[capacityBytes];

    // Both only grow. The bytes between them, modulo the size, are available; only whole lines are added.
    private long _added;
    private long _taken;
    private long _dropped;

    /// <summary>Dropped lines. Any thread.</summary>
    public long Dropped => Volatile.Read(ref _dropped);

    public bool IsEmpty => Volatile.Read(ref _taken) == Volatile.Read(ref _added);

    /// <summary>Adds a line, or drops it if it does not fit. Producer thread.</summary>
    public RingAddResult Add(ReadOnlySpan<byte> line)
    {
        long held = _added - Volatile.Read(ref _taken);
        if (_bytes.Length - held < line.Length)
        {
            Volatile.Write(ref _dropped, _dropped + 1);
            return RingAddResult.Dropped;
        }

        int at = (int)(_added % _bytes.Length);
        int first = Math.Min(line.Length, _bytes.Length - at);
        line[..first].CopyTo(_bytes.AsSpan(at));
        line[first..].CopyTo(_bytes);
        Volatile.Write(ref _added, _added + line.Length);
        int half = _bytes.Length / 2;
        return held < half && held + line.Length >= half ? RingAddResult.HalfFull : RingAddResult.Added;
    }

    /// <summary>Takes as many whole lines as fit, and returns their bytes. The buffer must fit the longest line. Consumer thread.</summary>
    public int Take(Span<byte> room)
    {
        int count = (int)Math.Min(room.Length, Volatile.Read(ref _added) - _taken);
        int at = (int)(_taken % _bytes.Length);
        int first = Math.Min(count, _bytes.Length - at);
        _bytes.AsSpan(at, first).CopyTo(room);
        _bytes.AsSpan(0, count - first).CopyTo(room[first..]);
        int whole = room[..count].LastIndexOf((byte)'\n') + 1;
        Volatile.Write(ref _taken, _taken + whole);
        return whole;
    }
}

internal enum RingAddResult
{
    Added,

    /// <summary>Added; the ring is now half full, and the consumer should wake up.</summary>
    HalfFull,

    Dropped,
}
