namespace Millrace.Tls;

/// <summary>A reference count whose last holder frees the object. It starts at one, for its creator. Any thread.</summary>
internal struct ReferenceCount()
{
    private int _holders = 1;

    public bool TryHold()
    {
        int holders = Volatile.Read(ref _holders);
        while (holders > 0)
        {
            int seen = Interlocked.CompareExchange(ref _holders, holders + 1, holders);
            if (seen == holders)
            {
                return true;
            }

            holders = seen;
        }

        return false;
    }

    /// <summary>Removes a reference: true for the last, whose holder frees the object.</summary>
    public bool IsLastToRelease() => Interlocked.Decrement(ref _holders) == 0;
}
