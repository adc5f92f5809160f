using Millrace.Engine.Tests.Backends.Kit;
using Millrace.Engine.Tests.Kit;
using Millrace.Interop;

namespace Millrace.Engine.Tests.Backends;

/// <summary>Waits for room in a socket that is full.</summary>
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
    public void A_full_one_completes_each_time_that_its_peer_reads()
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
