using Millrace.Interop.Sockets;

namespace Millrace.Engine.Listening;

/// <summary>
/// Distributes connections to the reactors round-robin, skipping blocked ones: those of a socket that cannot be sharded, and the backlog of
/// a blocked reactor. Any thread.
/// </summary>
internal sealed class ConnectionBalancer(IReadOnlyList<Reactor> reactors)
{
    private int _last = -1;

    public bool HasFree => reactors.Any(static reactor => !reactor.IsStalled);

    /// <summary>Takes over a connected socket and passes it to the next reactor.</summary>
    public void Distribute(int socket, ListenerContext listener)
    {
        Reactor reactor = Next();
        if (reactor.IsReactorThread)
        {
            reactor.Admission.Acquire(socket, listener);
            return;
        }

        reactor.PostContinuation(
            static state =>
            {
                var (reactor, socket, listener) = ((Reactor, int, ListenerContext))state!;
                if (reactor.IsReactorThread)
                {
                    reactor.Admission.Acquire(socket, listener);
                }
                else
                {
                    // The reactor has ended, and the socket has no other owner.
                    _ = SocketCalls.SetResetOnClose(socket);
                    _ = SocketCalls.Close(socket);
                }
            },
            (reactor, socket, listener));
    }

    /// <summary>The next reactor that is not blocked; any if all are.</summary>
    private Reactor Next()
    {
        Reactor reactor;
        int checks = reactors.Count;
        do
        {
            reactor = reactors[(int)((uint)Interlocked.Increment(ref _last) % (uint)reactors.Count)];
        }
        while (reactor.IsStalled && --checks > 0);
        return reactor;
    }
}
