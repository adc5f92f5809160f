using Millrace.Engine.Backends.Uring;
using Millrace.Interop;
using Millrace.Interop.Epoll;
using Millrace.Interop.IoUring;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Backends;

/// <summary>
/// How long who waits looks at the queue of the network device itself (NAPI busy polling). Rings and epoll instances have it for their
/// waits, sockets for their reads; which device it is, packets that came tell. It ends with the descriptor. Any thread.
/// </summary>
/// <param name="TimeUs">For how long, in microseconds; 0 for not at all.</param>
/// <param name="IsPreferred">Whether the device leaves its interrupts off meanwhile.</param>
internal readonly record struct BusyPoll(int TimeUs, bool IsPreferred)
{
    public bool IsOff => TimeUs == 0;

    /// <summary>Has a socket do so, and the connections that are accepted there.</summary>
    /// <exception cref="EngineException">The kernel refuses; the message names cause and remedy.</exception>
    public void RequireOfSocket(int socket)
    {
        int result = IsOff ? 0 : AskSocket(socket);
        if (result < 0)
        {
            throw new EngineException(DescribeSocket(-result)) { ErrorNumber = -result };
        }
    }

    /// <summary>Has an epoll instance do so.</summary>
    /// <exception cref="EngineException">The kernel refuses; the message names cause and remedy.</exception>
    public void RequireOfEpoll(int epoll)
    {
        int result = IsOff ? 0 : AskEpoll(epoll);
        if (result < 0)
        {
            throw new EngineException(DescribeEpoll(-result));
        }
    }

    /// <summary>Has a ring of the calling thread's do so, or its poller where it has one.</summary>
    /// <exception cref="EngineException">The kernel refuses; the message names cause and remedy.</exception>
    public unsafe void RequireOfRing(Ring ring)
    {
        if (IsOff)
        {
            return;
        }

        var registration = new BusyPollingRegistration { TimeUs = (uint)TimeUs, Prefers = (byte)(IsPreferred ? 1 : 0) };
        int result = ring.Register(RegisterOpcode.BusyPolling, &registration, 1);
        if (result < 0)
        {
            throw new EngineException(UringRefusal.ForBusyPolling(-result));
        }
    }

    /// <summary>Why this process could not do so, tried on descriptors of its own; null where it could.</summary>
    /// <param name="onTcp">Whether sockets are to do so as well.</param>
    public string? Refusal(bool onTcp)
    {
        if (IsOff)
        {
            return null;
        }

        // Epoll speaks for rings: both learned it in 6.9, and need nothing else of the kernel for it.
        int result = Try(EpollCalls.Create(), AskEpoll);
        if (result < 0)
        {
            return DescribeEpoll(-result);
        }

        result = onTcp ? Try(SocketCalls.Socket(AddressFamilyNumber.InterNetwork, SocketTypeNumber.Stream), AskSocket) : 0;
        return result < 0 ? DescribeSocket(-result) : null;
    }

    /// <summary>A socket's refusal as cause and remedy.</summary>
    public string DescribeSocket(int errno) => errno switch
    {
        Errno.EPERM when IsPreferred => "Busy polling may not be preferred by this process: "
            + "start with CAP_NET_ADMIN (the machine's, not a user namespace's), or do not prefer it.",
        _ => $"Sockets of this kernel do not poll network devices ({Errno.Describe(errno)}): {Remedies.BusyPolling}.",
    };

    private static string DescribeEpoll(int errno) =>
        $"Epoll of this kernel does not poll network devices ({Errno.Describe(errno)}): {Remedies.BusyPolling}.";

    /// <summary>Where there is no descriptor to try it on nothing is known, and whoever starts is told.</summary>
    private static int Try(int descriptor, Func<int, int> ask)
    {
        if (descriptor < 0)
        {
            return 0;
        }

        int result = ask(descriptor);
        _ = SocketCalls.Close(descriptor);
        return result;
    }

    private int AskEpoll(int epoll) => EpollCalls.SetBusyPolling(epoll, TimeUs, IsPreferred);

    private int AskSocket(int socket)
    {
        int result = SocketCalls.SetOption(socket, SocketOptionNumber.LevelSocket, SocketOptionNumber.BusyPoll, TimeUs);
        return result < 0 || !IsPreferred
            ? result
            : SocketCalls.SetOption(socket, SocketOptionNumber.LevelSocket, SocketOptionNumber.PreferBusyPoll, 1);
    }
}
