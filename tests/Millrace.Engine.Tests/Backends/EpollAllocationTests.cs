#if !DEBUG
using Millrace.Engine.Backends;
using Millrace.Engine.Backends.Epoll;
using Millrace.Engine.Tests.Backends.Kit;
using Millrace.Engine.Tests.Kit;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Tests.Backends;

/// <summary>
/// What the allocation tests over whole connections do not come by: sends that wait, cancels, descriptors that change hands. Once
/// everything has been done a few times it allocates nothing more. Release only, as these are.
/// </summary>
[Trait("Backend", "epoll")]
public sealed class EpollAllocationTests() : BackendTest(BackendKind.Epoll)
{
    private const int LargeBytes = 8 * 1024 * 1024;
    private const int WarmUpRounds = 20;
    private const int Rounds = 200;

    [Fact]
    public unsafe void A_connection_with_sends_that_wait_and_operations_that_are_cancelled_allocates_nothing()
    {
        using DirectBackend kernel = Open();
        using SocketPair pair = SocketPair.Tcp();
        byte* memory = kernel.Memory(new byte[LargeBytes]);
        byte[] taken = new byte[1024 * 1024];
        long before = 0;
        bool isAsExpected = true;
        for (int round = 0; round < WarmUpRounds + Rounds; round++)
        {
            if (round == WarmUpRounds)
            {
                before = GC.GetAllocatedBytesForCurrentThread();
            }

            kernel.Backend.SubmitReceive(ReceiveToken, pair.Ours);
            kernel.Backend.SubmitSend(SendToken, pair.Ours, memory, LargeBytes);
            isAsExpected &= AwaitEnd(kernel.Backend, SendToken, pair, taken) == LargeBytes;
            kernel.Backend.SubmitCancel(ReceiveToken);
            isAsExpected &= AwaitEnd(kernel.Backend, ReceiveToken, pair, taken) == -Interop.Errno.ECANCELED;
        }

        long allocated = GC.GetAllocatedBytesForCurrentThread() - before;
        kernel.Backend.CloseSocket(pair.Ours);
        Assert.True(isAsExpected);
        AssertNotEachTime(allocated);
    }

    [Fact]
    public unsafe void A_read_that_a_thread_does_allocates_nothing_on_the_reactor()
    {
        using var folder = new TemporaryFolder();
        using FileStream file = File.OpenRead(folder.File("f", new byte[1_000]));
        byte* memory = stackalloc byte[1_000];
        var work = new Work
        {
            Kind = WorkKind.Read,
            Fd = (int)file.SafeFileHandle.DangerousGetHandle(),
            Token = ReadToken,
            Memory = memory,
            Bytes = 1_000,
        };
        using var reads = new ColdReads(static () => { });
        long before = 0;
        bool isAsExpected = true;
        for (int round = 0; round < WarmUpRounds + Rounds; round++)
        {
            if (round == WarmUpRounds)
            {
                before = GC.GetAllocatedBytesForCurrentThread();
            }

            isAsExpected &= reads.TrySubmit(work, done: 0);
            int result;
            while (!reads.TryTakeFinished(out _, out result))
            {
                Thread.Yield();
            }

            isAsExpected &= result == 1_000;
        }

        long allocated = GC.GetAllocatedBytesForCurrentThread() - before;
        Assert.True(isAsExpected);
        AssertNotEachTime(allocated);
    }

    /// <summary>
    /// The least object has 24 bytes, so that less than one a round is not of the rounds: the runtime allocates when it compiles anew.
    /// </summary>
    private static void AssertNotEachTime(long allocated) => Assert.InRange(allocated, 0, Rounds);

    /// <summary>Turns until it has ended, the peer taking what comes.</summary>
    private static unsafe int AwaitEnd(Backend backend, OperationToken token, SocketPair pair, byte[] taken)
    {
        while (true)
        {
            foreach (ref readonly Completion completion in backend.Turn(timeoutMs: 1))
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
