using Millrace.Engine.Backends;
using Millrace.Engine.Tests.Backends.Kit;
using Millrace.Engine.Tests.Kit;
using Millrace.Interop;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Tests.Backends;

/// <summary>Sends, which complete once, when all of theirs is queued, when something ends them, or when they are cancelled.</summary>
public abstract class SendContractTests(BackendKind kind, bool isPolled = false) : BackendTest(kind, isPolled)
{
    private const int LargeBytes = 24 * 1024 * 1024;

    [Fact]
    public unsafe void A_send_that_fits_completes_before_anybody_reads()
    {
        using DirectBackend kernel = Open();
        using SocketPair pair = SocketPair.Tcp();
        kernel.Backend.SubmitSend(SendToken, pair.Ours, new SendRequest(kernel.Memory(Pattern.Make(1, 1_000)), 1_000));
        Completion sent = kernel.Next(SendToken);
        Assert.Equal((1_000, true), (sent.Result, sent.IsTerminal));
        kernel.Backend.CloseSocket(pair.Ours);
        Pattern.Check(1, pair.ReceiveToEnd());
    }

    [Fact]
    public unsafe void A_send_that_does_not_fit_completes_when_its_last_byte_is_queued()
    {
        using DirectBackend kernel = Open();
        using SocketPair pair = SocketPair.Tcp();
        kernel.Backend.SubmitSend(SendToken, pair.Ours, new SendRequest(kernel.Memory(Pattern.Make(1, LargeBytes)), LargeBytes));
        kernel.ExpectNothing(SendToken);

        Task<byte[]> read = Task.Run(pair.ReceiveToEnd);
        Assert.Equal(LargeBytes, kernel.Next(SendToken).Result);
        kernel.Backend.CloseSocket(pair.Ours);
        Pattern.Check(1, Wait(read));
    }

    /// <summary>The second message begins in a socket that is watched already, and its reader stops and goes.</summary>
    [Theory]
    [InlineData(3, 4_000_000)]
    [InlineData(300, 60_000)]
    [InlineData(1_024, 5_000)]
    public unsafe void Messages_of_many_parts_arrive_in_order_whatever_was_cut_where(int parts, int partBytes)
    {
        using DirectBackend kernel = Open();
        using SocketPair pair = SocketPair.Tcp();
        int bytes = parts * partBytes;
        byte* memory = kernel.Memory(Pattern.Make(1, 2 * bytes));
        MessageHeader* message = Message(kernel, memory, parts, partBytes);
        kernel.Backend.SubmitSend(SendToken, pair.Ours, new SendRequest(message));
        kernel.ExpectNothing(SendToken);
        Task<byte[]> read = Task.Run(pair.ReceiveToEnd);
        Assert.Equal(bytes, kernel.Next(SendToken).Result);
        kernel.Backend.SubmitSend(SendToken, pair.Ours, new SendRequest(Message(kernel, memory + bytes, parts, partBytes)));
        Assert.Equal(bytes, kernel.Next(SendToken).Result);
        kernel.Backend.CloseSocket(pair.Ours);
        byte[] got = Wait(read);
        Assert.Equal(2 * bytes, got.Length);
        Pattern.Check(1, got);
    }

    [Fact]
    public unsafe void A_cancelled_send_says_how_much_had_gone_out()
    {
        using DirectBackend kernel = Open();
        using SocketPair pair = SocketPair.Tcp();
        byte* memory = kernel.Memory(Pattern.Make(1, LargeBytes));
        var results = new List<int>();
        int gone = 0;

        // The kernel makes room while it can; in the end the socket is full, and a send gets nowhere at all.
        while (results.Count < 50 && (results.Count == 0 || results[^1] > 0))
        {
            kernel.Backend.SubmitSend(SendToken, pair.Ours, new SendRequest(memory + gone, (nuint)(LargeBytes - gone)));
            kernel.ExpectNothing(SendToken);
            kernel.Backend.SubmitCancel(SendToken);
            Completion cut = kernel.Next(SendToken);
            Assert.True(cut.IsTerminal);
            results.Add(cut.Result);
            gone += Math.Max(0, cut.Result);
        }

        Assert.InRange(results[0], 1, LargeBytes - 1);
        Assert.Equal(-Errno.ECANCELED, results[^1]);
        kernel.Backend.CloseSocket(pair.Ours);
        byte[] got = pair.ReceiveToEnd();
        Assert.Equal(gone, got.Length);
        Pattern.Check(1, got);
    }

    [Fact]
    public unsafe void A_send_that_was_refused_once_goes_on_after_another_was_cancelled()
    {
        using DirectBackend kernel = Open();
        using SocketPair pair = SocketPair.Tcp();
        byte* memory = kernel.Memory(Pattern.Make(1, LargeBytes));
        kernel.Backend.SubmitSend(SendToken, pair.Ours, new SendRequest(memory, LargeBytes));
        kernel.ExpectNothing(SendToken);
        kernel.Backend.SubmitCancel(SendToken);
        int before = kernel.Next(SendToken).Result;
        Task<byte[]> read = Task.Run(pair.ReceiveToEnd);
        kernel.Backend.SubmitSend(SendToken, pair.Ours, new SendRequest(memory + before, (nuint)(LargeBytes - before)));
        Assert.Equal(LargeBytes - before, kernel.Next(SendToken).Result);
        kernel.Backend.CloseSocket(pair.Ours);
        Pattern.Check(1, Wait(read));
    }

    [Fact]
    public unsafe void A_peer_that_resets_ends_a_send_and_the_next_one_names_the_error()
    {
        using DirectBackend kernel = Open();
        using SocketPair pair = SocketPair.Tcp();
        byte* memory = kernel.Memory(new byte[LargeBytes]);
        kernel.Backend.SubmitSend(SendToken, pair.Ours, new SendRequest(memory, LargeBytes));
        kernel.ExpectNothing(SendToken);
        pair.ResetPeer();
        Completion cut = kernel.Next(SendToken);
        Assert.True(cut.Result < LargeBytes, "A reset connection took everything.");
        kernel.Backend.SubmitSend(SendToken, pair.Ours, new SendRequest(memory, 10));
        Assert.Contains(kernel.Next(SendToken).Result, (int[])[-Errno.EPIPE, -Errno.ECONNRESET]);
        kernel.Backend.CloseSocket(pair.Ours);
    }

    [Fact]
    public unsafe void A_send_and_a_receive_of_one_socket_do_not_hinder_each_other()
    {
        using DirectBackend kernel = Open();
        using SocketPair pair = SocketPair.Tcp();
        kernel.Backend.SubmitReceive(ReceiveToken, pair.Ours);
        kernel.Backend.SubmitSend(SendToken, pair.Ours, new SendRequest(kernel.Memory(new byte[LargeBytes]), LargeBytes));
        kernel.ExpectNothing(SendToken);
        for (int i = 0; i < 3; i++)
        {
            pair.Peer.Send(Pattern.Make(i, 3_000));
            Pattern.Check(i, kernel.Receive(ReceiveToken, 3_000));
        }

        Task<byte[]> read = Task.Run(pair.ReceiveToEnd);
        Assert.Equal(LargeBytes, kernel.Next(SendToken).Result);
        kernel.Cancel(ReceiveToken);
        kernel.Backend.CloseSocket(pair.Ours);
        Assert.Equal(LargeBytes, Wait(read).Length);
    }

    /// <summary>Equal parts of a memory, every seventh of them divided by an empty one.</summary>
    private static unsafe MessageHeader* Message(DirectBackend kernel, byte* memory, int parts, int partBytes)
    {
        var vectors = new List<IoVector>();
        for (int i = 0; i < parts && vectors.Count < 1_024; i++)
        {
            if (i % 7 == 0 && parts < 800)
            {
                vectors.Add(new IoVector { Address = memory, Bytes = 0 });
            }

            vectors.Add(new IoVector { Address = memory + ((nint)i * partBytes), Bytes = (nuint)partBytes });
        }

        var native = (IoVector*)kernel.Memory(new byte[vectors.Count * sizeof(IoVector)]);
        vectors.CopyTo(new Span<IoVector>(native, vectors.Count));
        var message = (MessageHeader*)kernel.Memory(new byte[sizeof(MessageHeader)]);
        *message = new MessageHeader { Vectors = native, VectorCount = (nuint)vectors.Count };
        return message;
    }
}

[Trait("Backend", "io_uring")]
public class UringSendContractTests() : SendContractTests(BackendKind.IoUring);

[Trait("Backend", "io_uring")]
public class PolledUringSendContractTests() : SendContractTests(BackendKind.IoUring, isPolled: true);

[Trait("Backend", "epoll")]
public class EpollSendContractTests() : SendContractTests(BackendKind.Epoll);
