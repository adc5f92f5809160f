namespace Millrace.Engine.Listening;

/// <summary>
/// Lets another thread use for a moment what its owner may end at any time, without a lock: an owner that wants to end it during a use is
/// notified after the use.
/// </summary>
internal sealed class OwnershipGate
{
    private const int Free = 0;
    private const int InUse = 1;
    private const int Wanted = 2;
    private const int Ended = 3;

    private int _state;

    /// <summary>Whether the caller may use it, until <see cref="GiveBack"/>. Any thread except the owner's.</summary>
    public bool TryUse() => Interlocked.CompareExchange(ref _state, InUse, Free) == Free;

    /// <summary>True when the owner wants to end it: the caller must notify the owner.</summary>
    public bool GiveBack() => Interlocked.Exchange(ref _state, Free) == Wanted;

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
