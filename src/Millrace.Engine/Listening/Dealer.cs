namespace Millrace.Engine.Listening;

/// <summary>Hands the connections of a socket that cannot be sharded to the reactors in turn. Any reactor's thread.</summary>
internal sealed class Dealer(IReadOnlyList<Reactor> reactors)
{
    private int _dealt = -1;

    /// <summary>Takes a connected socket over; the reactor whose turn it is serves it.</summary>
    public void Deal(int socket, ListenerCore listener)
    {
        Reactor reactor = reactors[(int)((uint)Interlocked.Increment(ref _dealt) % (uint)reactors.Count)];
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
}
