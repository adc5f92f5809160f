using System.Net;
using System.Runtime.InteropServices;
using Millrace.Interop.Epoll;
using Millrace.Interop.IoUring;
using Millrace.Interop.Memory;
using Millrace.Interop.Sockets;

namespace Millrace.Interop.Tests;

/// <summary>The one convention: a result, or -errno. A bad descriptor shows for every call that its reason arrives.</summary>
public unsafe partial class SystemCallTests
{
    private const int NoSuchFd = 1_000_000_000;

    public static TheoryData<string> CallsOnADescriptor => [.. OnDescriptor.Keys];

    private static readonly Dictionary<string, Func<int, int>> OnDescriptor = new()
    {
        ["bind"] = static fd => SocketCalls.Bind(fd, Loopback()),
        ["connect"] = static fd => SocketCalls.Connect(fd, Loopback()),
        ["listen"] = static fd => SocketCalls.Listen(fd, 1),
        ["accept"] = SocketCalls.Accept,
        ["shutdown"] = static fd => SocketCalls.Shutdown(fd, ShutdownHow.Both),
        ["close"] = SocketCalls.Close,
        ["setsockopt"] = static fd => SocketCalls.SetOption(fd, SocketOptionNumber.LevelSocket, SocketOptionNumber.ReuseAddress, 1),
        ["linger"] = SocketCalls.SetResetOnClose,
        ["getsockopt"] = static fd => SocketCalls.GetOption(fd, SocketOptionNumber.LevelTcp, SocketOptionNumber.TcpInfo, new byte[128]),
        ["getsockname"] = static fd => SocketCalls.LocalAddress(fd, new byte[128]),
        ["getpeername"] = static fd => SocketCalls.PeerAddress(fd, new byte[128]),
        ["ioctl"] = SocketCalls.UnacknowledgedBytes,
        ["fcntl"] = SocketCalls.SetNonBlocking,
        ["fcntl, of the descriptor"] = SocketCalls.SetCloseOnExec,
        ["write"] = SocketCalls.SignalEvent,
        ["epoll_ctl"] = static fd => EpollCalls.Add(fd, 0, EpollEventMask.Readable, 0),
        ["recv"] = static fd => TransferCalls.Receive(fd, null, 0),
        ["send"] = static fd => (int)TransferCalls.Send(fd, null, 0),
        ["sendmsg"] = static fd => (int)TransferCalls.SendMessage(fd, null),
        ["mmap"] = static fd => (int)MemoryCalls.MapRing(fd, 4096, IoUringCalls.MapSubmissionRing),
    };

    [Theory]
    [MemberData(nameof(CallsOnADescriptor))]
    public void A_bad_descriptor_is_reported_as_minus_ebadf(string call) => Assert.Equal(-Errno.EBADF, OnDescriptor[call](NoSuchFd));

    [Fact]
    [Trait("Backend", "io_uring")]
    public void A_bad_ring_is_reported_as_minus_ebadf()
    {
        Assert.Equal(-Errno.EBADF, IoUringCalls.Enter(NoSuchFd, 0, 0, EnterFlags.None, null, 0));
        Assert.Equal(-Errno.EBADF, IoUringCalls.Register(NoSuchFd, RegisterOpcode.RingDescriptors, null, 1));
    }

    [Fact]
    [Trait("Backend", "io_uring")]
    public void Setup_without_entries_is_minus_einval()
    {
        var parameters = default(RingParameters);
        Assert.Equal(-Errno.EINVAL, IoUringCalls.Setup(0, &parameters));
    }

    [Fact]
    [Trait("Backend", "io_uring")]
    public void Setup_with_an_unknown_flag_is_minus_einval()
    {
        var parameters = new RingParameters { Flags = (SetupFlags)(1u << 31) };
        Assert.Equal(-Errno.EINVAL, IoUringCalls.Setup(8, &parameters));
    }

    [Fact]
    [Trait("Backend", "io_uring")]
    public void Setup_with_a_bad_pointer_is_minus_efault() => Assert.Equal(-Errno.EFAULT, IoUringCalls.Setup(8, (RingParameters*)8));

    [Fact]
    [Trait("Backend", "io_uring")]
    public void Enter_on_something_else_is_minus_eopnotsupp()
    {
        int fd = SocketCalls.EventDescriptor();
        Assert.Equal(-Errno.EOPNOTSUPP, IoUringCalls.Enter(fd, 0, 0, EnterFlags.None, null, 0));
        Assert.Equal(0, SocketCalls.Close(fd));
    }

    [Fact]
    [Trait("Backend", "io_uring")]
    public void A_signal_ends_a_wait_with_minus_eintr()
    {
        var parameters = default(RingParameters);
        int ring = IoUringCalls.Setup(8, &parameters);
        Assert.True(ring >= 0, Errno.Describe(ring));
        try
        {
            int result = 0;
            nint thread = 0;
            using var started = new ManualResetEventSlim();
            using var ended = new ManualResetEventSlim();
            using var isLeftAlone = new ManualResetEventSlim();
            var waiter = new Thread(() =>
            {
                Volatile.Write(ref thread, pthread_self());
                started.Set();
                result = IoUringCalls.Enter(ring, 0, 1, EnterFlags.GetEvents, null, 0);
                ended.Set();
                // A thread that is gone must not be signalled.
                isLeftAlone.Wait();
            });
            waiter.Start();
            started.Wait();

            // The runtime handles SIGCONT and goes on. Again until it met the wait: the first may come before it began.
            int signals = 0;
            while (!ended.Wait(1) && signals++ < 10_000)
            {
                Assert.Equal(0, pthread_kill(Volatile.Read(ref thread), SignalContinue));
            }

            Assert.True(ended.IsSet);
            isLeftAlone.Set();
            waiter.Join();
            Assert.Equal(-Errno.EINTR, result);
        }
        finally
        {
            Assert.Equal(0, SocketCalls.Close(ring));
        }
    }

    [Fact]
    [Trait("Backend", "io_uring")]
    public void A_wait_with_a_timeout_ends_with_minus_etime()
    {
        var parameters = default(RingParameters);
        int ring = IoUringCalls.Setup(8, &parameters);
        var timeout = new KernelTimespec { Nanoseconds = 1_000_000 };
        var argument = new GetEventsArgument { Timeout = (ulong)&timeout };
        int result;
        do
        {
            result = IoUringCalls.Enter(
                ring, 0, 1, EnterFlags.GetEvents | EnterFlags.ExtendedArgument, &argument, (nuint)sizeof(GetEventsArgument));
        }
        while (result == -Errno.EINTR);

        Assert.Equal(-Errno.ETIME, result);
        Assert.Equal(0, SocketCalls.Close(ring));
    }

    [Fact]
    public void A_socket_is_close_on_exec_and_its_options_reach_the_kernel()
    {
        int fd = SocketCalls.Socket(AddressFamilyNumber.InterNetwork, SocketTypeNumber.Stream);
        string flags = FlagsOf(fd);
        Assert.Contains("2000002", flags, StringComparison.Ordinal);

        Span<byte> linger = stackalloc byte[8];
        Assert.Equal(0, SocketCalls.SetResetOnClose(fd));
        Assert.Equal(8, SocketCalls.GetOption(fd, SocketOptionNumber.LevelSocket, SocketOptionNumber.Linger, linger));
        Assert.Equal(1L, BitConverter.ToInt64(linger));

        Assert.Equal(0, SocketCalls.SetNonBlocking(fd));
        flags = FlagsOf(fd);
        Assert.Contains("2004002", flags, StringComparison.Ordinal);
        Assert.Equal(0, SocketCalls.UnacknowledgedBytes(fd));
        Assert.Equal(0, SocketCalls.Close(fd));
    }

    [Fact]
    public void An_accept_with_nothing_queued_is_minus_eagain()
    {
        int fd = SocketCalls.Socket(AddressFamilyNumber.InterNetwork, SocketTypeNumber.Stream);
        Assert.Equal(0, SocketCalls.Bind(fd, Loopback()));
        Assert.Equal(0, SocketCalls.Listen(fd, 1));
        Assert.Equal(0, SocketCalls.SetNonBlocking(fd));
        Assert.Equal(-Errno.EAGAIN, SocketCalls.Accept(fd));
        Assert.Equal(0, SocketCalls.Close(fd));
    }

    [Fact]
    public void A_failed_mapping_is_told_from_an_address()
    {
        Assert.True(MemoryCalls.Failed(MemoryCalls.MapAnonymousPages(0)));
        nint pages = MemoryCalls.MapAnonymousPages(4096);
        Assert.False(MemoryCalls.Failed(pages));
        Assert.Equal(0, *(long*)pages);
        Assert.Equal(0, MemoryCalls.Unmap(pages, 4096));
    }

    [Fact]
    public void An_error_is_described_in_the_systems_words_whatever_its_sign()
    {
        Assert.Equal("Address already in use", Errno.Describe(Errno.EADDRINUSE));
        Assert.Equal("Address already in use", Errno.Describe(-Errno.EADDRINUSE));
    }

    private const int SignalContinue = 18;

    private static string FlagsOf(int fd) =>
        File.ReadAllLines($"/proc/self/fdinfo/{fd}").Single(static line => line.StartsWith("flags:", StringComparison.Ordinal));

    private static byte[] Loopback()
    {
        SocketAddress address = new IPEndPoint(IPAddress.Loopback, 0).Serialize();
        return address.Buffer[..address.Size].ToArray();
    }

    [LibraryImport("libc")]
    private static partial nint pthread_self();

    [LibraryImport("libc")]
    private static partial int pthread_kill(nint thread, int signal);
}
