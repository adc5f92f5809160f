namespace Millrace.Tls.Handshakes;

/// <summary>
/// How many connections there may be, where whoever serves them counts only those whose handshake is done: together with those, no more
/// handshakes are under way. Any thread.
/// </summary>
/// <param name="most">Of both.</param>
internal sealed class ConnectionPlaces(long most)
{
    private long _taken;

    /// <summary>For a handshake: false, with nothing taken, where there is no place left.</summary>
    public bool TryTake()
    {
        if (Interlocked.Increment(ref _taken) <= most)
        {
            return true;
        }

        Return();
        return false;
    }

    /// <summary>For a connection that is served: whether it may be is for others to say.</summary>
    public void Take() => Interlocked.Increment(ref _taken);

    public void Return() => Interlocked.Decrement(ref _taken);
}
