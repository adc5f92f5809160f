namespace Millrace.Engine.Listening;

/// <summary>
/// Lets another thread use for a moment what its owner may end at any time, without a lock: an owner who comes while it is in use is
/// told when it is free.
/// </summary>
internal sealed class Claim
{
    private const int Free = 0;
    private const int InUse = 1;
    private const int Wanted = 2;
    private const int Ended = 3;

    private int _state;

    /// <summary>Whether the caller may use it, until <see cref="GiveBack"/>. Any thread but the owner's.</summary>
    public bool TryUse() => Interlocked.CompareExchange(ref _state, InUse, Free) == Free;

    /// <summary>True when the owner wants to end it: he is to be told.</summary>
    public bool GiveBack() => Interlocked.Exchange(ref _state, Free) == Wanted;

    /// <summary>False when it is in use; he who uses it tells. The owner's thread.</summary>
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
