using System.Net;
using Millrace.Interop.Files;
using Millrace.Interop.IoUring;
using Millrace.Interop.Memory;
using Millrace.Interop.Sockets;
using Millrace.Interop.Tests.Kit;

namespace Millrace.Interop.Tests.Calls;

/// <summary>A call that fails returns -errno, whatever libc's way of saying so was, and throws nothing.</summary>
public unsafe class ErrnoConventionTests
{
    /// <summary>Not -1: since kernel 6.13 io_uring_register takes that for a request that needs no ring.</summary>
    private const int NoDescriptor = int.MaxValue;

    [Fact]
    public void Socket_calls_refuse_a_bad_descriptor_with_EBADF()
    {
        byte[] bytes = new byte[16];
        Assert.Equal(-Errno.EBADF, SocketCalls.Bind(NoDescriptor, bytes));
        Assert.Equal(-Errno.EBADF, SocketCalls.Connect(NoDescriptor, bytes));
        Assert.Equal(-Errno.EBADF, SocketCalls.Listen(NoDescriptor, 1));
        Assert.Equal(-Errno.EBADF, SocketCalls.Accept(NoDescriptor));
        Assert.Equal(-Errno.EBADF, SocketCalls.Shutdown(NoDescriptor, ShutdownHow.Both));
        Assert.Equal(-Errno.EBADF, SocketCalls.Close(NoDescriptor));
        Assert.Equal(-Errno.EBADF, SocketCalls.SetOption(NoDescriptor, SocketOptionNumber.LevelSocket, SocketOptionNumber.ReusePort, 1));
        Assert.Equal(-Errno.EBADF, SocketCalls.SetResetOnClose(NoDescriptor));
        Assert.Equal(-Errno.EBADF, SocketCalls.GetOption(NoDescriptor, SocketOptionNumber.LevelTcp, SocketOptionNumber.TcpInfo, bytes));
        Assert.Equal(-Errno.EBADF, SocketCalls.LocalAddress(NoDescriptor, bytes));
        Assert.Equal(-Errno.EBADF, SocketCalls.PeerAddress(NoDescriptor, bytes));
        Assert.Equal(-Errno.EBADF, SocketCalls.UnacknowledgedBytes(NoDescriptor));
        Assert.Equal(-Errno.EBADF, SocketCalls.SetNonBlocking(NoDescriptor));
        Assert.Equal(-Errno.EBADF, SocketCalls.EndConnects(NoDescriptor));
        Assert.Equal(-Errno.EBADF, SocketCalls.SignalEvent(NoDescriptor));
    }

    [Fact]
    public void File_calls_refuse_a_bad_descriptor_with_EBADF()
    {
        byte* buffer = stackalloc byte[64];
        Assert.Equal(-Errno.EBADF, FileCalls.PositionalRead(NoDescriptor, buffer, 64, 0));
        Assert.Equal(-Errno.EBADF, FileCalls.PositionalReadCached(NoDescriptor, buffer, 64, 0));
        Assert.Equal(-Errno.EBADF, FileCalls.ReadDirectory(NoDescriptor, new Span<byte>(buffer, 64)));
        Assert.Equal(-Errno.EBADF, FileCalls.StatDescriptor(NoDescriptor, StatxMask.Size, out _));
        Assert.Equal(-Errno.EBADF, FileCalls.OpenAt2(NoDescriptor, "x\0"u8, default));
        Assert.Equal(-Errno.EBADF, FileCalls.SetModified(NoDescriptor, default));
        Assert.Equal(-Errno.EBADF, FileCalls.Close(NoDescriptor));
    }

    [Fact]
    [Trait("Backend", "io_uring")]
    public void Ring_calls_refuse_a_bad_descriptor_with_EBADF()
    {
        Assert.Equal(-Errno.EBADF, IoUringCalls.Enter(NoDescriptor, 0, 0, EnterFlags.None, null, 0));
        Assert.Equal(-Errno.EBADF, IoUringCalls.Register(NoDescriptor, RegisterOpcode.BufferRing, null, 1));
        Assert.Equal(-Errno.EBADF, MemoryCalls.MapRing(NoDescriptor, 4096, IoUringCalls.MapSubmissionRing));
    }

    [Fact]
    [Trait("Backend", "io_uring")]
    public void A_ring_of_nothing_or_of_unknown_flags_is_EINVAL()
    {
        var empty = new RingParameters();
        Assert.Equal(-Errno.EINVAL, IoUringCalls.Setup(0, &empty));
        var unknown = new RingParameters { Flags = (SetupFlags)(1u << 31) };
        Assert.Equal(-Errno.EINVAL, IoUringCalls.Setup(8, &unknown));
        // DEFER_TASKRUN is only for who issues alone.
        var shared = new RingParameters { Flags = SetupFlags.DeferTaskRun };
        Assert.Equal(-Errno.EINVAL, IoUringCalls.Setup(8, &shared));
    }

    [Fact]
    [Trait("Backend", "io_uring")]
    public void Ring_parameters_that_cannot_be_read_are_EFAULT()
    {
        Assert.Equal(-Errno.EFAULT, IoUringCalls.Setup(8, null));
    }

    [Fact]
    [Trait("Backend", "io_uring")]
    public void A_descriptor_that_is_no_ring_is_EOPNOTSUPP()
    {
        int fd = SocketCalls.EventDescriptor();
        try
        {
            Assert.Equal(-Errno.EOPNOTSUPP, IoUringCalls.Enter(fd, 0, 0, EnterFlags.None, null, 0));
            Assert.Equal(-Errno.EOPNOTSUPP, IoUringCalls.Register(fd, RegisterOpcode.BufferRing, null, 1));
        }
        finally
        {
            Assert.Equal(0, SocketCalls.Close(fd));
        }
    }

    [Fact]
    public void A_failed_mapping_is_an_errno_and_no_address()
    {
        nint tooLarge = MemoryCalls.MapAnonymousPages(nuint.MaxValue / 2);
        Assert.True(MemoryCalls.Failed(tooLarge));
        Assert.Equal(-Errno.ENOMEM, tooLarge);

        nint nothing = MemoryCalls.MapAnonymousPages(0);
        Assert.True(MemoryCalls.Failed(nothing));
        Assert.Equal(-Errno.EINVAL, nothing);

        Assert.Equal(-Errno.EINVAL, MemoryCalls.Unmap(1, 4096));
    }

    [Theory]
    [InlineData(-1, true)]
    [InlineData(-4095, true)]
    [InlineData(-4096, false)]
    [InlineData(0, false)]
    [InlineData(0x7fff_ffff_f000, false)]
    [InlineData(long.MinValue, false)]
    public void Only_the_last_page_of_addresses_means_failure(long address, bool failed)
    {
        Assert.Equal(failed, MemoryCalls.Failed((nint)address));
    }

    [Fact]
    public void A_success_is_the_result_itself()
    {
        nint pages = MemoryCalls.MapAnonymousPages(8192);
        Assert.False(MemoryCalls.Failed(pages));
        Assert.All(new ReadOnlySpan<byte>((void*)pages, 8192).ToArray(), value => Assert.Equal(0, value));
        ((byte*)pages)[8191] = 1;
        Assert.Equal(0, MemoryCalls.Unmap(pages, 8192));
        Assert.Equal(7, SystemCall.Result(7));
        Assert.Equal(-2, SystemCall.Result(-2));
    }

    [Theory]
    [InlineData(Errno.EADDRINUSE)]
    [InlineData(-Errno.EADDRINUSE)]
    public void An_error_is_described_with_either_sign(int errno)
    {
        Assert.Equal("Address already in use", Errno.Describe(errno));
    }

    [Fact]
    public void An_address_in_use_and_one_that_nobody_listens_on_are_told_apart()
    {
        using var pair = new TcpPair();
        int second = SocketCalls.Socket(AddressFamilyNumber.InterNetwork, SocketTypeNumber.Stream);
        Assert.Equal(-Errno.EADDRINUSE, SocketCalls.Bind(second, TcpPair.Encode(TcpPair.LocalOf(pair.Listener))));
        Assert.Equal(-Errno.ENOTCONN, SocketCalls.PeerAddress(second, new byte[16]));
        Assert.Equal(-Errno.ENOTCONN, SocketCalls.Shutdown(second, ShutdownHow.Send));

        Assert.Equal(0, SocketCalls.Bind(second, TcpPair.Encode(new IPEndPoint(IPAddress.Loopback, 0))));
        int third = SocketCalls.Socket(AddressFamilyNumber.InterNetwork, SocketTypeNumber.Stream);
        Assert.Equal(-Errno.ECONNREFUSED, SocketCalls.Connect(third, TcpPair.Encode(TcpPair.LocalOf(second))));
        Assert.Equal(0, SocketCalls.Close(third));
        Assert.Equal(0, SocketCalls.Close(second));
    }

    [Fact]
    public void A_family_that_does_not_exist_is_EAFNOSUPPORT()
    {
        Assert.Equal(-Errno.EAFNOSUPPORT, SocketCalls.Socket(family: 999, SocketTypeNumber.Stream));
    }
}
