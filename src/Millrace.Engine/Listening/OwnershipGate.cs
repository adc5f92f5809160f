namespace Millrace.Engine.Listening;

/// <summary>
/// Lets another thread use for a moment what its owner may end at any time, without a lock: an owner that wants to end it during a use is
/// notified after the use. Mutable: not for readonly fields.
/// </summary>
internal struct OwnershipGate
{
    private const int Free = 0;
    private const int InUse = 1;
    private const int Wanted = 2;
    private const int Ended = 3;

    private int _state;

    /// <summary>Whether another thread uses it. Owner's thread.</summary>
    public readonly bool IsInUse => Volatile.Read(in _state) is InUse or Wanted;

    /// <summary>Whether the owner wants to end it. The user's thread.</summary>
    public readonly bool IsWanted => Volatile.Read(in _state) == Wanted;

    /// <summary>Whether the caller may use it, until <see cref="GiveBack"/>. Any thread except the owner's.</summary>
    public bool TryUse() => Interlocked.CompareExchange(ref _state, InUse, Free) == Free;

    /// <summary>True when the owner wanted to end it, which has now happened: the caller must notify the owner.</summary>
    public bool GiveBack()
    {
        if (Interlocked.CompareExchange(ref _state, Free, InUse) == InUse)
        {
            return false;
        }

        Volatile.Write(ref _state, Ended);
        return true;
    }

    /// <summary>False while it is in use; the user then notifies the owner. Owner's thread.</summary>
    public bool TryEnd()
    {
        while (true)
        {
            int state = Interlocked.CompareExchange(ref _state, Ended, Free);
            if (state is Free or Ended)
            {
                return true;
            }

            if (state == Wanted || Interlocked.CompareExchange(ref _state, Wanted, InUse) == InUse)
            {
                return false;
            }
        }
    }
}
