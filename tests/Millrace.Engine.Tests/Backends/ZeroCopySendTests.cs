using Millrace.Engine.Backends;
using Millrace.Engine.Tests.Backends.Kit;
using Millrace.Engine.Tests.Kit;
using Millrace.Interop;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Tests.Backends;

/// <summary>Sends without a copy, asked of the ring directly over real sockets: a result, and a notice after it.</summary>
[Trait("Backend", "io_uring")]
public unsafe class ZeroCopySendTests() : BackendTest(BackendKind.IoUring)
{
    private const int LargeBytes = 24 * 1024 * 1024;

    [Theory]
    [InlineData(10)]
    [InlineData(100_000)]
    public void The_notice_follows_the_result(int bytes)
    {
        using DirectBackend kernel = Open(Small.ZeroCopy());
        using SocketPair pair = SocketPair.Tcp();
        byte* memory = kernel.Memory(Pattern.Make(1, bytes));
        kernel.Backend.SubmitSend(SendToken, pair.Ours, new SendRequest(memory, (nuint)bytes) { IsZeroCopy = true });
        ExpectResultAndNotice(kernel, bytes);
        kernel.Backend.CloseSocket(pair.Ours);
        Pattern.Check(1, pair.ReceiveToEnd());
    }

    [Fact]
    public void Parts_go_out_in_order()
    {
        using DirectBackend kernel = Open(Small.ZeroCopy());
        using SocketPair pair = SocketPair.Tcp();
        byte* memory = kernel.Memory(Pattern.Make(1, 50_000));
        var parts = (IoVector*)kernel.Memory(new byte[3 * sizeof(IoVector)]);
        parts[0] = new IoVector { Address = memory, Bytes = 100 };
        parts[1] = new IoVector { Address = memory + 100, Bytes = 0 };
        parts[2] = new IoVector { Address = memory + 100, Bytes = 49_900 };
        var message = (MessageHeader*)kernel.Memory(new byte[sizeof(MessageHeader)]);
        *message = new MessageHeader { Vectors = parts, VectorCount = 3 };
        kernel.Backend.SubmitSend(SendToken, pair.Ours, new SendRequest(message) { IsZeroCopy = true });
        ExpectResultAndNotice(kernel, 50_000);
        kernel.Backend.CloseSocket(pair.Ours);
        Pattern.Check(1, pair.ReceiveToEnd());
    }

    [Fact]
    public void What_does_not_fit_goes_out_as_the_peer_reads_with_one_result_and_one_notice()
    {
        using DirectBackend kernel = Open(Small.ZeroCopy());
        using SocketPair pair = SocketPair.Tcp();
        kernel.Backend.SubmitSend(SendToken, pair.Ours, new SendRequest(kernel.Memory(Pattern.Make(1, LargeBytes)), LargeBytes) { IsZeroCopy = true });
        kernel.ExpectNothing(SendToken);
        Task<byte[]> read = Task.Run(pair.ReceiveToEnd);
        ExpectResultAndNotice(kernel, LargeBytes);
        kernel.Backend.CloseSocket(pair.Ours);
        byte[] got = Wait(read);
        Assert.Equal(LargeBytes, got.Length);
        Pattern.Check(1, got);
    }

    [Fact]
    public void Cancelled_it_tells_what_is_gone_and_a_reset_brings_the_notice()
    {
        using DirectBackend kernel = Open(Small.ZeroCopy());
        using SocketPair pair = SocketPair.Tcp();
        kernel.Backend.SubmitSend(SendToken, pair.Ours, new SendRequest(kernel.Memory(new byte[LargeBytes]), LargeBytes) { IsZeroCopy = true });
        kernel.ExpectNothing(SendToken);
        kernel.Backend.SubmitCancel(SendToken);
        Completion result = kernel.Next(SendToken);
        Assert.False(result.IsTerminal);
        Assert.InRange(result.Result, 1, LargeBytes - 1);

        // Nobody reads: only the end of the socket gives the memory back.
        kernel.Backend.ResetOnClose(pair.Ours);
        kernel.Backend.CloseSocket(pair.Ours);
        Assert.True(kernel.Next(SendToken).IsTerminal);
    }

    [Fact]
    public void A_unix_socket_refuses_it()
    {
        using DirectBackend kernel = Open(Small.ZeroCopy());
        using SocketPair pair = SocketPair.Unix();
        kernel.Backend.SubmitSend(SendToken, pair.Ours, new SendRequest(kernel.Memory(new byte[10]), 10) { IsZeroCopy = true });
        Completion refusal = kernel.Next(SendToken);
        Assert.Equal(-Errno.EOPNOTSUPP, refusal.Result);
        if (!refusal.IsTerminal)
        {
            Assert.True(kernel.Next(SendToken).IsTerminal);
        }

        kernel.Backend.CloseSocket(pair.Ours);
    }
}
