using Millrace.Engine.Backends;
using Millrace.Engine.Tests.Backends.Kit;
using Millrace.Engine.Tests.Kit;
using Millrace.Interop;

namespace Millrace.Engine.Tests.Backends;

/// <summary>Waits for room in a socket that is full, and results of calls.</summary>
public abstract class RoomContractTests(BackendKind kind, bool isPolled = false) : BackendTest(kind, isPolled)
{
    private const int Bytes = 1_000_000;

    [Fact]
    public void A_socket_with_room_is_told_at_once()
    {
        using DirectBackend kernel = Open();
        using SocketPair pair = SocketPair.Tcp();
        kernel.Backend.SubmitAwaitRoom(SendToken, pair.Ours);
        Assert.True(kernel.Next(SendToken) is { IsTerminal: true, Result: >= 0 });
        kernel.Backend.CloseSocket(pair.Ours);
    }

    [Fact]
    public void A_full_one_is_told_when_somebody_reads_each_time_anew()
    {
        using DirectBackend kernel = Open();
        using SocketPair pair = SocketPair.Tcp();
        using var pages = new MappedPages(9, Bytes);
        for (int i = 0; i < 3; i++)
        {
            int sent = Fill(kernel, pair, pages);
            kernel.Backend.SubmitAwaitRoom(SendToken, pair.Ours);
            kernel.ExpectNothing(SendToken);
            Task<byte[]> read = Task.Run(() => pair.Receive(sent));
            Assert.True(kernel.Next(SendToken) is { IsTerminal: true, Result: >= 0 });
            CheckRounds(Wait(read));
        }

        kernel.Backend.CloseSocket(pair.Ours);
    }

    /// <summary>The edge has come and gone before anybody waits for it.</summary>
    [Fact]
    public void Room_that_came_before_the_wait_is_told_too()
    {
        using DirectBackend kernel = Open();
        using SocketPair pair = SocketPair.Tcp();
        using var pages = new MappedPages(9, Bytes);
        for (int i = 0; i < 3; i++)
        {
            int sent = Fill(kernel, pair, pages);
            CheckRounds(pair.Receive(sent));
            kernel.ExpectNothing(SendToken);
            kernel.Backend.SubmitAwaitRoom(SendToken, pair.Ours);
            Assert.True(kernel.Next(SendToken) is { IsTerminal: true, Result: >= 0 });
        }

        kernel.Backend.CloseSocket(pair.Ours);
    }

    [Fact]
    public void A_peer_that_resets_ends_the_wait_and_the_next_call_names_the_error()
    {
        using DirectBackend kernel = Open();
        using SocketPair pair = SocketPair.Tcp();
        using var pages = new MappedPages(9, Bytes);
        Fill(kernel, pair, pages);
        kernel.Backend.SubmitAwaitRoom(SendToken, pair.Ours);
        kernel.ExpectNothing(SendToken);
        pair.ResetPeer();
        Assert.True(kernel.Next(SendToken).IsTerminal);
        Assert.Contains((int)kernel.Backend.SendFile(pair.Ours, pages.File, 0, Bytes), (int[])[-Errno.EPIPE, -Errno.ECONNRESET]);
        kernel.Backend.CloseSocket(pair.Ours);
    }

    [Fact]
    public void A_wait_is_cancelled()
    {
        using DirectBackend kernel = Open();
        using SocketPair pair = SocketPair.Tcp();
        using var pages = new MappedPages(9, Bytes);
        Fill(kernel, pair, pages);
        kernel.Backend.SubmitAwaitRoom(SendToken, pair.Ours);
        kernel.ExpectNothing(SendToken);
        kernel.Backend.SubmitCancel(SendToken);
        Assert.Equal(-Errno.ECANCELED, kernel.Next(SendToken).Result);
        kernel.Backend.CloseSocket(pair.Ours);
    }

    [Fact]
    public void A_result_completes_in_the_coming_turn()
    {
        using DirectBackend kernel = Open();
        kernel.Backend.SubmitResult(SendToken, 42);
        Completion completion = kernel.Next(SendToken);
        Assert.Equal((42, true), (completion.Result, completion.IsTerminal));
        kernel.Backend.SubmitResult(SendToken, -Errno.EPIPE);
        Assert.Equal(-Errno.EPIPE, kernel.Next(SendToken).Result);
    }

    /// <summary>A download that goes on and on has one as soon as it has dealt with the last.</summary>
    [Fact]
    public void Results_that_never_end_and_what_a_peer_sends_come_in_turn()
    {
        using DirectBackend kernel = Open(Small with { CompletionsPerIteration = 1 });
        using SocketPair pair = SocketPair.Tcp();
        kernel.Backend.SubmitReceive(ReceiveToken, pair.Ours);
        kernel.Backend.SubmitResult(SendToken, 1);
        kernel.Backend.SubmitResult(SendToken, 1);
        pair.Peer.Send(new byte[1]);
        int results = 0;
        bool isReceived = false;
        for (int iterations = 0; iterations < 1_000 && !(isReceived && results > 10); iterations++)
        {
            foreach (Completion completion in kernel.Backend.Poll(timeoutMs: 10).ToArray())
            {
                if (completion.Token == SendToken)
                {
                    results++;
                    kernel.Backend.SubmitResult(SendToken, 1);
                }
                else if (completion.Token == ReceiveToken)
                {
                    Assert.Single(kernel.Take(completion));
                    isReceived = true;
                }
            }
        }

        Assert.True(isReceived && results > 10, $"{results} results, and what was sent has come: {isReceived}");
        kernel.Cancel(ReceiveToken);
        kernel.Backend.CloseSocket(pair.Ours);
    }

    /// <summary>Sends the same pages over and over until the socket takes no more; how many bytes it has taken.</summary>
    private static int Fill(DirectBackend kernel, SocketPair pair, MappedPages pages)
    {
        int sent = 0;
        while (true)
        {
            int result = (int)kernel.Backend.SendFile(pair.Ours, pages.File, sent % Bytes, (nuint)(Bytes - (sent % Bytes)));
            if (result < 0)
            {
                Assert.Equal(-Errno.EAGAIN, result);
                return sent;
            }

            sent += result;
        }
    }

    private static void CheckRounds(ReadOnlySpan<byte> bytes)
    {
        for (int at = 0; at < bytes.Length; at += Bytes)
        {
            Pattern.Check(9, bytes[at..Math.Min(at + Bytes, bytes.Length)]);
        }
    }
}

[Trait("Backend", "io_uring")]
public class UringRoomTests() : RoomContractTests(BackendKind.IoUring);

[Trait("Backend", "epoll")]
public class EpollRoomTests() : RoomContractTests(BackendKind.Epoll);
