#if !DEBUG
using Millrace.Engine.Backends;
using Millrace.Engine.Backends.Epoll;
using Millrace.Engine.Tests.Backends.Kit;
using Millrace.Engine.Tests.Kit;
using Millrace.Interop.Sockets;
using Millrace.Tests.Shared;

namespace Millrace.Engine.Tests.Backends;

/// <summary>
/// What the allocation tests over whole connections do not come by: sends that wait, cancels, descriptors that change hands. Once
/// everything has been done a few times it allocates nothing more. Release only, as these are.
/// </summary>
[Trait("Backend", "epoll")]
public sealed class EpollAllocationTests() : BackendTest(BackendKind.Epoll)
{
    private const int LargeBytes = 8 * 1024 * 1024;
    private const int Times = 50;

    [Fact]
    public unsafe void A_connection_with_sends_that_wait_and_operations_that_are_cancelled_allocates_nothing()
    {
        using DirectBackend kernel = Open();
        using SocketPair pair = SocketPair.Tcp();
        byte* memory = kernel.Memory(new byte[LargeBytes]);
        byte[] taken = new byte[1024 * 1024];
        bool isAsExpected = true;
        long allocated = Allocations.OfEach(() =>
        {
            for (int time = 0; time < Times; time++)
            {
                kernel.Backend.SubmitReceive(ReceiveToken, pair.Ours);
                kernel.Backend.SubmitSend(SendToken, pair.Ours, new SendRequest(memory, LargeBytes));
                isAsExpected &= AwaitEnd(kernel.Backend, SendToken, pair, taken) == LargeBytes;
                kernel.Backend.SubmitCancel(ReceiveToken);
                isAsExpected &= AwaitEnd(kernel.Backend, ReceiveToken, pair, taken) == -Interop.Errno.ECANCELED;
            }
        });
        kernel.Backend.CloseSocket(pair.Ours);
        Assert.True(isAsExpected);
        Assert.Equal(0, allocated);
    }

    [Fact]
    public unsafe void A_read_that_a_thread_does_allocates_nothing_on_the_reactor()
    {
        using var folder = new TemporaryFolder();
        using FileStream file = File.OpenRead(folder.File("f", new byte[1_000]));
        byte* memory = stackalloc byte[1_000];
        var work = new EpollWork
        {
            Kind = EpollWorkKind.Read,
            Fd = (int)file.SafeFileHandle.DangerousGetHandle(),
            Token = ReadToken,
            Memory = memory,
            Bytes = 1_000,
        };
        using var reads = new EpollFileReader(static () => { });
        bool isAsExpected = true;
        long allocated = Allocations.OfEach(() =>
        {
            for (int time = 0; time < Times; time++)
            {
                isAsExpected &= reads.TrySubmit(work, done: 0);
                int result;
                while (!reads.TryTakeFinished(out _, out result))
                {
                    Thread.Yield();
                }

                isAsExpected &= result == 1_000;
            }
        });
        Assert.True(isAsExpected);
        Assert.Equal(0, allocated);
    }

    /// <summary>Turns until it has ended, the peer taking what comes.</summary>
    private static unsafe int AwaitEnd(Backend backend, OperationToken token, SocketPair pair, byte[] taken)
    {
        while (true)
        {
            foreach (ref readonly Completion completion in backend.Poll(timeoutMs: 1))
            {
                if (completion.Token == token)
                {
                    return completion.Result;
                }
            }

            fixed (byte* pointer = taken)
            {
                while (TransferCalls.Receive((int)pair.Peer.Handle, pointer, taken.Length) > 0)
                {
                }
            }
        }
    }
}
#endif
