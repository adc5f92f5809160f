namespace Millrace.Server.AccessLog;

/// <summary>
/// Lines on their way from one thread to another, in a fixed amount of memory and without a lock: whoever adds never waits, and a line that
/// finds no room is dropped and counted. One thread adds, one takes; each line ends with a line feed and holds no other.
/// </summary>
internal sealed class LineRing(int capacityBytes)
{
    private readonly byte[] _bytes = new byte[capacityBytes];

    // Both only grow. What lies between them, modulo the size, is there to be taken; only whole lines are ever added to it.
    private long _added;
    private long _taken;
    private long _dropped;

    /// <summary>Lines that found no room. Any thread.</summary>
    public long Dropped => Volatile.Read(ref _dropped);

    public bool IsEmpty => Volatile.Read(ref _taken) == Volatile.Read(ref _added);

    /// <summary>Adds a line, or drops it where it has no room. The one thread that adds.</summary>
    public RingAddition Add(ReadOnlySpan<byte> line)
    {
        long held = _added - Volatile.Read(ref _taken);
        if (_bytes.Length - held < line.Length)
        {
            Volatile.Write(ref _dropped, _dropped + 1);
            return RingAddition.Dropped;
        }

        int at = (int)(_added % _bytes.Length);
        int first = Math.Min(line.Length, _bytes.Length - at);
        line[..first].CopyTo(_bytes.AsSpan(at));
        line[first..].CopyTo(_bytes);
        Volatile.Write(ref _added, _added + line.Length);
        int half = _bytes.Length / 2;
        return held < half && held + line.Length >= half ? RingAddition.HalfFull : RingAddition.Added;
    }

    /// <summary>
    /// Takes as many whole lines as have room, and gives their bytes. The room must be enough for the longest line. The one thread that
    /// takes.
    /// </summary>
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
