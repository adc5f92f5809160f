namespace Millrace.Engine.Listening;

/// <summary>
/// Hands connections to the reactors in turn, past those that are held up: those of a socket that cannot be sharded, and those that wait
/// for a reactor that cannot accept them. Any thread.
/// </summary>
internal sealed class Dealer(IReadOnlyList<Reactor> reactors)
{
    private int _dealt = -1;

    /// <summary>Whether there is a reactor that is not held up.</summary>
    public bool HasFree
    {
        get
        {
            for (int i = 0; i < reactors.Count; i++)
            {
                if (!reactors[i].IsHeldUp)
                {
                    return true;
                }
            }

            return false;
        }
    }

    /// <summary>Takes a connected socket over; the reactor whose turn it is serves it.</summary>
    public void Deal(int socket, ListenerCore listener)
    {
        Reactor reactor = Next();
        if (reactor.IsHome)
        {
            reactor.Adopt(socket, listener);
            return;
        }

        reactor.Post(
            static state =>
            {
                var (reactor, socket, listener) = ((Reactor, int, ListenerCore))state!;
                reactor.Adopt(socket, listener);
            },
            (reactor, socket, listener));
    }

    /// <summary>Where all are held up one is as good as another.</summary>
    private Reactor Next()
    {
        Reactor reactor;
        int looks = reactors.Count;
        do
        {
            reactor = reactors[(int)((uint)Interlocked.Increment(ref _dealt) % (uint)reactors.Count)];
        }
        while (reactor.IsHeldUp && --looks > 0);
        return reactor;
    }
}
