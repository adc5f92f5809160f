namespace Millrace.Http;

/// <summary>
/// The streams of one connection whose sections wait for entries of the dynamic table, RFC 9204 section 2.1.2: as many as the settings
/// allow, with a stream at most once. Allocates its memory with the first.
/// </summary>
internal struct QpackBlockedStreams(int streamsMax)
{
    private Blocked[]? _streams;

    public int Count { get; private set; }

    /// <summary>Adds a stream. False if there are too many.</summary>
    public bool TryAdd(long streamId, long requiredInsertCount)
    {
        Remove(streamId);
        if (Count == streamsMax)
        {
            return false;
        }

        _streams ??= new Blocked[streamsMax];
        _streams[Count++] = new Blocked(streamId, requiredInsertCount);
        return true;
    }

    public void Remove(long streamId)
    {
        for (int index = 0; index < Count; index++)
        {
            if (_streams![index].StreamId == streamId)
            {
                RemoveAt(index);
                return;
            }
        }
    }

    /// <summary>Removes the stream that has waited longest of those that need not wait any more.</summary>
    public bool TryTake(long insertCount, out long streamId)
    {
        for (int index = 0; index < Count; index++)
        {
            if (_streams![index].RequiredInsertCount <= insertCount)
            {
                streamId = _streams[index].StreamId;
                RemoveAt(index);
                return true;
            }
        }

        streamId = 0;
        return false;
    }

    private void RemoveAt(int index)
    {
        Count--;
        Array.Copy(_streams!, index + 1, _streams!, index, Count - index);
    }

    private readonly record struct Blocked(long StreamId, long RequiredInsertCount);
}
