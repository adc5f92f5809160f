namespace Millrace.Tls;

/// <summary>How many hold what the last to let go frees; its maker is one of them. Any thread.</summary>
internal struct HolderCount()
{
    private int _holders = 1;

    /// <summary>One more, unless it is freed already.</summary>
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

    /// <summary>One less: true for the last, who frees it.</summary>
    public bool IsLastToRelease() => Interlocked.Decrement(ref _holders) == 0;
}
