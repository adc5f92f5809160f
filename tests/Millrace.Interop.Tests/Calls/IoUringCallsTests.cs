using System.Diagnostics;
using Millrace.Interop.IoUring;
using Millrace.Interop.Memory;
using Millrace.Interop.Sockets;
using Millrace.Interop.Tests.Kit;

namespace Millrace.Interop.Tests.Calls;

/// <summary>The structures at work: what is written through them is what this machine's kernel reads, and back.</summary>
[Trait("Backend", "io_uring")]
public unsafe class IoUringCallsTests
{
    [Fact]
    public void The_kernel_fills_the_parameters_in()
    {
        using var ring = new RawRing();

        Assert.Equal(8u, ring.Parameters.SubmissionEntries);
        Assert.Equal(16u, ring.Parameters.CompletionEntries);
        Assert.Equal(8u, ring.SubmissionRingEntries);
        Assert.Equal(16u, ring.CompletionRingEntries);
        const RingFeatures Old = RingFeatures.SingleMapping | RingFeatures.NoDrop | RingFeatures.SubmitStable | RingFeatures.ExtendedArgument;
        Assert.Equal(Old, ring.Parameters.Features & Old);
    }

    [Fact]
    public void A_ring_is_closed_on_exec()
    {
        using var ring = new RawRing();

        Assert.True(Libc.IsCloseOnExec(ring.Fd));
    }

    [Theory]
    [InlineData(SetupFlags.SingleIssuer, 6, 0)]
    [InlineData(SetupFlags.SingleIssuer | SetupFlags.DeferTaskRun, 6, 1)]
    [InlineData(SetupFlags.NoSubmissionArray, 6, 6)]
    internal void A_setup_flag_is_taken_by_the_kernels_that_have_it_and_EINVAL_before(SetupFlags flags, int major, int minor)
    {
        var parameters = new RingParameters { Flags = flags };
        int result = IoUringCalls.Setup(8, &parameters);

        if (Environment.OSVersion.Version >= new Version(major, minor))
        {
            Assert.Equal(0, SocketCalls.Close(result));
        }
        else
        {
            Assert.Equal(-Errno.EINVAL, result);
        }
    }

    [Fact]
    public void Not_to_count_as_iowait_came_with_kernel_6_15()
    {
        using var ring = new RawRing();

        Assert.Equal(Environment.OSVersion.Version >= new Version(6, 15), (ring.Parameters.Features & RingFeatures.NoIoWait) != 0);
        int expected = Environment.OSVersion.Version >= new Version(6, 15) ? 0 : -Errno.EINVAL;
        Assert.Equal(expected, IoUringCalls.Enter(ring.Fd, 0, 0, EnterFlags.GetEvents | EnterFlags.NoIoWait, null, 0));
    }

    [Fact]
    public void An_operation_comes_back_under_its_user_data()
    {
        using var ring = new RawRing();

        for (ulong i = 0; i < 40; i++)
        {
            Cqe completion = ring.Run(new Sqe { Opcode = Opcode.Nop, Fd = -1, UserData = 0xfeed_0000_0000_0000 + i });

            Assert.Equal(0xfeed_0000_0000_0000 + i, completion.UserData);
            Assert.Equal(0, completion.Result);
            Assert.Equal(CqeFlags.None, completion.Flags);
        }
    }

    [Fact]
    public void A_wait_ends_with_ETIME_after_its_timeout_and_not_before()
    {
        using var ring = new RawRing();
        var timeout = new KernelTimespec { Nanoseconds = 20_000_000 };
        var argument = new GetEventsArgument { Timeout = (ulong)&timeout };

        long startedAt = Stopwatch.GetTimestamp();
        int result;
        do
        {
            // Again after a signal of the runtime's own.
            result = IoUringCalls.Enter(
                ring.Fd, 0, 1, EnterFlags.GetEvents | EnterFlags.ExtendedArgument, &argument, (nuint)sizeof(GetEventsArgument));
        }
        while (result == -Errno.EINTR);

        Assert.Equal(-Errno.ETIME, result);
        Assert.True(Stopwatch.GetElapsedTime(startedAt) >= TimeSpan.FromMilliseconds(20));
    }

    [Fact]
    public void A_registered_ring_is_entered_by_its_slot()
    {
        using var ring = new RawRing();
        var update = new ResourceUpdate { Offset = ResourceUpdate.AnySlot, Data = (ulong)ring.Fd };

        Assert.Equal(1, IoUringCalls.Register(ring.Fd, RegisterOpcode.RingDescriptors, &update, 1));

        Assert.NotEqual(ResourceUpdate.AnySlot, update.Offset);
        Assert.Equal(0, IoUringCalls.Enter((int)update.Offset, 0, 0, EnterFlags.GetEvents | EnterFlags.RegisteredRing, null, 0));
        var slot = new ResourceUpdate { Offset = update.Offset };
        Assert.Equal(1, IoUringCalls.Register(ring.Fd, RegisterOpcode.UnregisterRingDescriptors, &slot, 1));
        Assert.Equal(
            -Errno.EBADF, IoUringCalls.Enter((int)update.Offset, 0, 0, EnterFlags.GetEvents | EnterFlags.RegisteredRing, null, 0));
    }

    [Fact]
    public void A_multishot_receive_says_which_provided_buffer_it_filled()
    {
        const ushort Group = 3;
        const int BufferBytes = 64;
        using var pair = new TcpPair();
        using var ring = new RawRing();
        var buffers = (ProvidedBuffer*)MemoryCalls.MapAnonymousPages(4096);
        byte* memory = (byte*)MemoryCalls.MapAnonymousPages(4096);
        var registration = new BufferRingRegistration { RingAddress = (ulong)buffers, RingEntries = 4, BufferGroup = Group };
        TcpPair.Require(IoUringCalls.Register(ring.Fd, RegisterOpcode.BufferRing, &registration, 1));
        Provide(&buffers[0], memory, BufferBytes, bufferId: 40);
        Provide(&buffers[1], memory + BufferBytes, BufferBytes, bufferId: 41);
        Volatile.Write(ref buffers[0].TailInSlotZero, 2);

        Assert.Equal(5, Libc.Write(pair.Client, "first"u8));
        Cqe first = ring.Run(new Sqe
        {
            Opcode = Opcode.Receive,
            Flags = SqeFlags.BufferSelect,
            IoPriority = IoPriority.ReceiveMultishot,
            Fd = pair.Accepted,
            BufferGroup = Group,
            UserData = 9,
        });
        Assert.Equal(6, Libc.Write(pair.Client, "second"u8));
        Assert.Equal(0, IoUringCalls.Enter(ring.Fd, 0, 1, EnterFlags.GetEvents, null, 0));
        Cqe second = ring.Take();

        Assert.Equal((9UL, 5, CqeFlags.Buffer | CqeFlags.More, 40), Parts(first));
        Assert.Equal("first"u8.ToArray(), new ReadOnlySpan<byte>(memory, 5).ToArray());
        Assert.Equal((9UL, 6, CqeFlags.Buffer | CqeFlags.More, 41), Parts(second));
        Assert.Equal("second"u8.ToArray(), new ReadOnlySpan<byte>(memory + BufferBytes, 6).ToArray());

        // Both are taken: the third receive finds none, which ends the operation.
        Assert.Equal(1, Libc.Write(pair.Client, "!"u8));
        Assert.Equal(0, IoUringCalls.Enter(ring.Fd, 0, 1, EnterFlags.GetEvents, null, 0));
        Assert.Equal((9UL, -Errno.ENOBUFS, CqeFlags.None, 0), Parts(ring.Take()));

        Assert.Equal(0, IoUringCalls.Register(ring.Fd, RegisterOpcode.UnregisterBufferRing, &registration, 1));
        Assert.Equal(0, MemoryCalls.Unmap((nint)buffers, 4096));
        Assert.Equal(0, MemoryCalls.Unmap((nint)memory, 4096));
    }

    [Fact]
    public void A_message_of_several_parts_arrives_in_their_order()
    {
        using var pair = new TcpPair();
        using var ring = new RawRing();
        byte* memory = stackalloc byte[] { (byte)'c', (byte)'a', (byte)'b' };
        IoVector* parts = stackalloc IoVector[]
        {
            new IoVector { Address = memory + 1, Bytes = 2 },
            new IoVector { Address = memory, Bytes = 1 },
        };
        var message = new MessageHeader { Vectors = parts, VectorCount = 2 };

        Cqe sent = ring.Run(new Sqe
        {
            Opcode = Opcode.SendMessage,
            Fd = pair.Accepted,
            Address = (ulong)&message,
            Length = 1,
            OperationFlags = MessageFlags.WaitAll | MessageFlags.NoSignal,
        });

        Assert.Equal(3, sent.Result);
        byte[] received = new byte[8];
        Assert.Equal(3, Libc.Read(pair.Client, received));
        Assert.Equal("abc"u8.ToArray(), received[..3]);
    }

    private static void Provide(ProvidedBuffer* slot, byte* memory, uint bytes, ushort bufferId)
    {
        slot->Address = (ulong)memory;
        slot->Length = bytes;
        slot->BufferId = bufferId;
    }

    private static (ulong UserData, int Result, CqeFlags Low, int BufferId) Parts(Cqe completion) =>
        (completion.UserData, completion.Result, completion.Flags & (CqeFlags.Buffer | CqeFlags.More), completion.BufferId);
}
