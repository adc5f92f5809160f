namespace Millrace.Tls.Handshakes;

/// <summary>
/// A limit on connections that includes handshakes, for a server that itself counts only connections whose handshake is complete. Any
/// thread.
/// </summary>
/// <param name="most">The limit on both together.</param>
internal sealed class ConnectionQuota(long most)
{
    private long _taken;

    /// <summary>Takes one for a handshake; false, with nothing taken, if none is left.</summary>
    public bool TryTake()
    {
        if (Interlocked.Increment(ref _taken) <= most)
        {
            return true;
        }

        Return();
        return false;
    }

    /// <summary>Takes one for a served connection, which another limit has admitted.</summary>
    public void Take() => Interlocked.Increment(ref _taken);

    public void Return() => Interlocked.Decrement(ref _taken);
}
