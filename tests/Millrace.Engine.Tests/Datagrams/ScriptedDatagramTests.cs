using Millrace.Engine.Backends;
using Millrace.Engine.Buffers;
using Millrace.Engine.Datagrams;
using Millrace.Engine.Loop;
using Millrace.Engine.Tests.Datagrams.Kit;
using Millrace.Engine.Tests.Kit;
using Millrace.Interop;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Tests.Datagrams;

/// <summary>A UDP socket step by step: errors, shortages, and ends at every moment.</summary>
public class ScriptedDatagramTests
{
    private const CompletionFlags More = CompletionFlags.More;

    [Fact]
    public async Task A_receive_that_ends_is_submitted_again()
    {
        await using Script script = await Script.StartAsync();
        (DatagramSocket socket, DatagramProbe probe, Submission receive) = await OpenAsync(script);
        foreach (int result in (int[])[-Errno.ENOBUFS, -Errno.EINTR, -Errno.EAGAIN, -Errno.ECANCELED, -Errno.ENOBUFS])
        {
            script.Kernel.Complete(receive, result);
            receive = await script.Kernel.ExpectAsync("receive datagrams");
        }

        Deliver(script, receive, [1], CompletionFlags.None);
        receive = await script.Kernel.ExpectAsync("receive datagrams");
        Deliver(script, receive, [2]);
        await Waiting.UntilAsync(() => probe.Datagrams == 2, "both are here");
        Assert.Equal((2, 2, 0), (socket.Counters.Received, socket.Counters.ReceivesStarved, socket.Counters.ReceiveErrors));
    }

    [Fact]
    public async Task An_error_that_comes_again_at_once_pauses_the_receive()
    {
        await using Script script = await Script.StartAsync();
        (DatagramSocket socket, DatagramProbe probe, Submission receive) = await OpenAsync(script);
        script.Kernel.Complete(receive, -Errno.ENOMEM);
        receive = await script.Kernel.ExpectAsync("receive datagrams");
        for (int i = 0; i < 3; i++)
        {
            script.Kernel.Complete(receive, -Errno.ENOMEM);
            await script.ConnectionsAsync();
            Assert.True(script.Kernel.IsQuiet);
            script.Kernel.AdvanceClock(20);
            receive = await script.Kernel.ExpectAsync("receive datagrams");
        }

        Deliver(script, receive, [1]);
        await Waiting.UntilAsync(() => probe.Datagrams == 1, "it is here");
        Assert.Equal((4, 1), (socket.Counters.ReceiveErrors, script.Log.Count(203)));
    }

    [Fact]
    public async Task An_error_after_datagrams_pauses_nothing()
    {
        await using Script script = await Script.StartAsync();
        (DatagramSocket socket, DatagramProbe probe, Submission receive) = await OpenAsync(script);
        for (int i = 0; i < 3; i++)
        {
            Deliver(script, receive, [(byte)i]);
            script.Kernel.Complete(receive, -Errno.ENOMEM);
            receive = await script.Kernel.ExpectAsync("receive datagrams");
        }

        Assert.Equal((3, 3, 0), (probe.Datagrams, socket.Counters.ReceiveErrors, script.Log.Count(203)));
    }

    [Fact]
    public async Task What_an_iteration_has_no_time_for_comes_in_the_next_ones_in_order()
    {
        await using Script script = await Script.StartAsync();
        (DatagramSocket socket, DatagramProbe probe, Submission receive) = await OpenAsync(script);
        probe.Received = (_, _) => script.Kernel.Spend(IterationBudget.PhaseTicks);
        script.Kernel.CompleteTogether([.. Enumerable.Range(0, 5).Select(i => Message(receive, [(byte)i])), (receive, -Errno.ENOBUFS, default, null)]);
        receive = await script.Kernel.ExpectAsync("receive datagrams");
        await Waiting.UntilAsync(() => probe.Datagrams == 5, "all are here");
        Assert.Equal([0, 1, 2, 3, 4], probe.Arrivals.Select(static arrival => (int)arrival.Bytes[0]));
        Assert.Equal((4, 5), (socket.Counters.Postponed, socket.Counters.Received));
        // Each iteration has its own time to send.
        await Waiting.UntilAsync(() => probe.Calls.Count(static call => call == "all") == 5, "it was notified");
        Assert.Equal(0, script.Kernel.BuffersLent);
    }

    [Fact]
    public async Task A_close_returns_the_buffers_that_wait()
    {
        await using Script script = await Script.StartAsync();
        (DatagramSocket socket, DatagramProbe probe, Submission receive) = await OpenAsync(script);
        probe.Received = (socket, _) =>
        {
            script.Kernel.Spend(IterationBudget.PhaseTicks);
            if (probe.Datagrams == 2)
            {
                socket.Close();
            }
        };
        script.Kernel.CompleteTogether([.. Enumerable.Range(0, 5).Select(i => Message(receive, [(byte)i]))]);
        Submission cancel = await script.Kernel.ExpectAsync("cancel");
        Assert.Equal(receive.Token, cancel.Token);
        // Datagrams that come before the cancel has found the receive.
        Deliver(script, receive, [9]);
        script.Kernel.Complete(receive, -Errno.ECANCELED);
        await script.Kernel.ExpectAsync("close");
        await probe.Closed.Within();
        Assert.Equal((2, 0), (probe.Datagrams, script.Kernel.BuffersLent));
    }

    [Fact]
    public async Task A_terminal_datagram_whose_handler_closes_ends_it_once()
    {
        await using Script script = await Script.StartAsync();
        (_, DatagramProbe probe, Submission receive) = await OpenAsync(script);
        probe.Received = static (socket, _) => socket.Close();
        Deliver(script, receive, [1], CompletionFlags.None);
        await script.Kernel.ExpectAsync("close");
        await probe.Closed.Within();
        Assert.Equal((0, 0), await script.Reactor.AskAsync(() => (script.Reactor.Operations.Count, script.Reactor.DatagramSockets.Count)));
    }

    [Fact]
    public async Task What_did_not_fit_is_counted_and_dropped()
    {
        await using Script script = await Script.StartAsync();
        (DatagramSocket socket, DatagramProbe probe, Submission receive) = await OpenAsync(script);
        byte[] cut = DatagramScript.Message([1, 2, 3], claimed: 5, flags: MessageFlags.Truncated);
        script.Kernel.Complete(receive, cut.Length, More, cut);
        byte[] blind = DatagramScript.Message([1, 2, 3], flags: MessageFlags.ControlTruncated);
        script.Kernel.Complete(receive, blind.Length, More, blind);
        Deliver(script, receive, [4]);
        await Waiting.UntilAsync(() => probe.Datagrams == 1, "the whole one is here");
        Assert.Equal((2, 1), (socket.Counters.Truncated, socket.Counters.Received));
    }

    [Fact]
    public async Task Drops_of_the_kernel_are_summed_over_its_counters_end()
    {
        await using Script script = await Script.StartAsync();
        (DatagramSocket socket, DatagramProbe probe, Submission receive) = await OpenAsync(script);
        foreach (uint drops in (uint[])[5, 5, 1u << 31, uint.MaxValue, 2])
        {
            byte[] message = DatagramScript.Message([1], ReceivedDatagramsTests.Control(1, 40, BitConverter.GetBytes(drops)));
            script.Kernel.Complete(receive, message.Length, More, message);
        }

        await Waiting.UntilAsync(() => probe.Datagrams == 5, "all are here");
        Assert.Equal(uint.MaxValue + 3L, socket.Counters.KernelDrops);
    }

    [Fact]
    public async Task A_device_that_cannot_cut_sends_gets_them_one_by_one()
    {
        await using Script script = await Script.StartAsync();
        (DatagramSocket socket, _, _) = await OpenAsync(script);
        byte[] content = Pattern.Make(1, 2_500);
        Assert.True(await DatagramTest.SendAsync(socket, content, 1_000, DatagramScript.Peer, DatagramScript.Peer, DatagramEcn.Ect0));
        Submission send = await script.Kernel.ExpectAsync("send datagram");
        Assert.Equal(content, send.Bytes);
        Assert.Equal(1_000, BitConverter.ToUInt16(await ControlOf(script, 17, 103), 0));
        script.Kernel.Complete(send, -Errno.EIO);
        foreach (byte[] datagram in content.Chunk(1_000))
        {
            send = await script.Kernel.ExpectAsync("send datagram");
            Assert.Equal(datagram, send.Bytes);
            Assert.Equal(2, (await ControlOf(script, 0, 1))[0]);
            script.Kernel.Complete(send, datagram.Length);
        }

        await Waiting.UntilAsync(() => socket.Counters.Sent == 3, "all are sent");
        Assert.Equal((1, 2_500, 0), (socket.SegmentsMaxTo(DatagramScript.Peer), socket.Counters.SentBytes, socket.Counters.SendErrors));
        Assert.Equal(0, await script.Reactor.AskAsync(() => script.Reactor.Pools.Lent));

        static Task<byte[]> ControlOf(Script script, int level, int type)
        {
            Assert.True(script.Kernel.Controls.TryDequeue(out byte[]? control));
            for (int at = 0; at < control.Length;)
            {
                int bytes = (int)BitConverter.ToInt64(control, at);
                if ((BitConverter.ToInt32(control, at + 8), BitConverter.ToInt32(control, at + 12)) == (level, type))
                {
                    return Task.FromResult(control[(at + 16)..(at + bytes)]);
                }

                Assert.NotEqual((17, 103, false), (BitConverter.ToInt32(control, at + 8), BitConverter.ToInt32(control, at + 12), level == 17));
                at += (bytes + 7) & -8;
            }

            throw new InvalidOperationException($"No control message {level}/{type}.");
        }
    }

    [Fact]
    public async Task A_refusal_to_cut_is_of_its_address_and_is_tried_again_after_a_while()
    {
        await using Script script = await Script.StartAsync();
        (DatagramSocket socket, _, _) = await OpenAsync(script);
        await RefuseAsync(DatagramScript.Peer);
        DatagramAddress samePort = DatagramScript.Peer with { Port = 9 };
        DatagramAddress other = DatagramScript.Peer with { Low = DatagramScript.Peer.Low + 1 };
        Assert.Equal((1, 1, 64), await MostAsync(DatagramScript.Peer, samePort, other));
        await AdvanceAsync(SegmentRefusals.KeptMs - 1);
        Assert.Equal((1, 1, 64), await MostAsync(DatagramScript.Peer, samePort, other));
        await AdvanceAsync(1);
        Assert.Equal((64, 64, 64), await MostAsync(DatagramScript.Peer, samePort, other));

        // One device of all.
        for (uint i = 0; i < SegmentRefusals.AddressesMax; i++)
        {
            Assert.Equal((64, 64, 64), await MostAsync(DatagramScript.Peer, samePort, other));
            await RefuseAsync(DatagramScript.Peer with { Low = DatagramScript.Peer.Low + 10 + i });
        }

        Assert.Equal((1, 1, 1), await MostAsync(DatagramScript.Peer, samePort, other));
        await AdvanceAsync(SegmentRefusals.KeptMs);
        Assert.Equal((64, 64, 64), await MostAsync(DatagramScript.Peer, samePort, other));

        async Task RefuseAsync(DatagramAddress to)
        {
            Assert.True(await DatagramTest.SendAsync(socket, new byte[20], 10, to));
            script.Kernel.Complete(await script.Kernel.ExpectAsync("send datagram"), -Errno.EIO);
            script.Kernel.Complete(await script.Kernel.ExpectAsync("send datagram"), 10);
            script.Kernel.Complete(await script.Kernel.ExpectAsync("send datagram"), 10);
        }

        Task<(int, int, int)> MostAsync(DatagramAddress one, DatagramAddress two, DatagramAddress three) => script.Reactor.AskAsync(
            () => (socket.SegmentsMaxTo(one), socket.SegmentsMaxTo(two), socket.SegmentsMaxTo(three)));

        async Task AdvanceAsync(long ms)
        {
            script.Kernel.AdvanceClock(ms);
            await script.ConnectionsAsync();
        }
    }

    /// <summary>A socket of a service manager is duplicated for each reactor: each of them reads the one counter.</summary>
    [Fact]
    public async Task Drops_of_a_socket_with_several_descriptors_are_counted_once()
    {
        await using Script script = await Script.StartAsync();
        var common = new KernelDropCount();
        DatagramProbe[] probes = [new(), new()];
        var sockets = new List<DatagramSocket>();
        var receives = new List<Submission>();
        foreach (DatagramProbe probe in probes)
        {
            sockets.Add(await script.Reactor.AskAsync(() =>
            {
                var socket = new DatagramSocket(script.Reactor, 7 + sockets.Count, probe, common);
                socket.Start();
                return socket;
            }));
            receives.Add(await script.Kernel.ExpectAsync("receive datagrams"));
        }

        // The third is an earlier report that comes late.
        foreach ((int index, uint drops) in new[] { (0, 5u), (1, 5u), (1, 9u), (0, 7u), (0, 9u), (0, 12u) })
        {
            byte[] message = DatagramScript.Message([1], ReceivedDatagramsTests.Control(1, 40, BitConverter.GetBytes(drops)));
            script.Kernel.Complete(receives[index], message.Length, More, message);
        }

        await Waiting.UntilAsync(() => probes.Sum(static probe => probe.Datagrams) == 6, "all are here");
        Assert.Equal((8, 4), (sockets[0].Counters.KernelDrops, sockets[1].Counters.KernelDrops));
    }

    [Fact]
    public async Task Sends_that_the_kernel_refuses_are_counted_and_lost()
    {
        await using Script script = await Script.StartAsync();
        (DatagramSocket socket, DatagramProbe probe, _) = await OpenAsync(script);
        int[] errors = [Errno.EMSGSIZE, Errno.ENETUNREACH, Errno.EPERM, Errno.ENOBUFS, Errno.EINVAL, Errno.EAGAIN, Errno.EIO];
        foreach (int error in errors)
        {
            Assert.True(await DatagramTest.SendAsync(socket, [1, 2, 3], 3, DatagramScript.Peer));
            script.Kernel.Complete(await script.Kernel.ExpectAsync("send datagram"), -error);
        }

        await Waiting.UntilAsync(() => socket.Counters.SendErrors == errors.Length, "all are counted");
        Assert.Equal((1, 0, 64), (socket.Counters.TooLarge, socket.Counters.Sent, socket.SegmentsMaxTo(DatagramScript.Peer)));
        Assert.Empty(probe.Calls);
        Assert.Equal(0, await script.Reactor.AskAsync(() => script.Reactor.Pools.Lent));
    }

    [Fact]
    public async Task A_socket_of_ipv4_does_not_send_to_ipv6()
    {
        await using Script script = await Script.StartAsync();
        byte[] local = new byte[16];
        _ = DatagramScript.Peer.Write(local, isIPv6: false);
        script.Kernel.Local = local;
        (DatagramSocket socket, _, _) = await OpenAsync(script);
        Assert.True(await DatagramTest.SendAsync(socket, [1], 1, DatagramAddress.OfIPv6(1, 1, 1, 0)));
        await script.ConnectionsAsync();
        Assert.Equal((true, 1), (script.Kernel.IsQuiet, socket.Counters.SendErrors));
    }

    [Fact]
    public async Task A_full_socket_is_waited_for_and_its_owner_is_called_once()
    {
        await using Script script = await Script.StartAsync();
        (DatagramSocket socket, DatagramProbe probe, _) = await OpenAsync(script);
        byte[] large = new byte[65_507];
        int sent = await script.Reactor.AskAsync(() =>
        {
            int sent = 0;
            while (DatagramTest.TrySend(socket, large, 1_400, DatagramScript.Peer))
            {
                sent++;
            }

            return sent;
        });
        Assert.InRange(sent, 12, 16);
        var sends = new List<Submission>();
        for (int i = 0; i < sent; i++)
        {
            sends.Add(await script.Kernel.ExpectAsync("send datagram"));
        }

        Assert.Equal(DatagramSendMemory.ChunksMax, await script.Reactor.AskAsync(() => script.Reactor.Pools.Lent));
        // In reverse order, as a kernel may: the memory of the last ones is free first.
        sends.Reverse();
        for (int i = 0; i < sends.Count; i++)
        {
            script.Kernel.Complete(sends[i], large.Length);
            await script.ConnectionsAsync();
            // Not while little is free.
            Assert.True(i >= 2 || probe.Calls.IsEmpty);
        }

        Assert.Equal(["room"], probe.Calls);
        Assert.Equal((sent, 0), (socket.Counters.Sends, await script.Reactor.AskAsync(() => script.Reactor.Pools.Lent)));
    }

    [Fact]
    public async Task Without_memory_the_owner_is_called_when_there_may_be_some()
    {
        await using Script script = await Script.StartAsync(new Limits { BufferBytes = 600_000 });
        (DatagramSocket socket, DatagramProbe probe, _) = await OpenAsync(script);
        Block[] others = await script.Reactor.AskAsync(
            () => new[] { script.Reactor.Pools.Rent(BlockPools.ChunkBytes), script.Reactor.Pools.Rent(BlockPools.ChunkBytes) });
        Assert.False(await DatagramTest.SendAsync(socket, [1], 1, DatagramScript.Peer));
        await script.ConnectionsAsync();
        Assert.Empty(probe.Calls);
        script.Kernel.AdvanceClock(20);
        await Waiting.UntilAsync(() => probe.Calls.SequenceEqual(["room"]), "it may try again");
        Assert.False(await DatagramTest.SendAsync(socket, [1], 1, DatagramScript.Peer));
        await script.Reactor.AskAsync(() =>
        {
            Array.ForEach(others, script.Reactor.Pools.Return);
            return 0;
        });
        script.Kernel.AdvanceClock(20);
        await Waiting.UntilAsync(() => probe.Calls.SequenceEqual(["room", "room"]), "it may try again");
        Assert.True(await DatagramTest.SendAsync(socket, [1], 1, DatagramScript.Peer));
        script.Kernel.Complete(await script.Kernel.ExpectAsync("send datagram"), 1);
    }

    [Fact]
    public async Task A_buffer_in_which_nothing_is_sent_is_given_back()
    {
        await using Script script = await Script.StartAsync();
        (DatagramSocket socket, _, _) = await OpenAsync(script);
        await script.Reactor.AskAsync(() =>
        {
            Assert.Equal(1_000, socket.GetSendBuffer(1_000).Length);
            Assert.Equal(2_000, socket.GetSendBuffer(2_000).Length);
            socket.Send(0, 1, DatagramScript.Peer, default, default);
            return 0;
        });
        Assert.Equal(0, await script.Reactor.AskAsync(() => script.Reactor.Pools.Lent));
        Assert.True(script.Kernel.IsQuiet);
    }

    [Fact]
    public async Task A_close_cancels_what_waits_and_ends_when_all_is_back()
    {
        await using Script script = await Script.StartAsync();
        (DatagramSocket socket, DatagramProbe probe, Submission receive) = await OpenAsync(script);
        Assert.True(await DatagramTest.SendAsync(socket, [1], 1, DatagramScript.Peer));
        Assert.True(await DatagramTest.SendAsync(socket, [2], 1, DatagramScript.Peer));
        Submission first = await script.Kernel.ExpectAsync("send datagram");
        Submission second = await script.Kernel.ExpectAsync("send datagram");
        await script.Reactor.AskAsync(() =>
        {
            socket.Close();
            return 0;
        });
        foreach (Submission inFlight in (Submission[])[receive, first, second])
        {
            Assert.Equal(inFlight.Token, (await script.Kernel.ExpectAsync("cancel")).Token);
        }

        // One that the cancel has missed is cancelled again.
        script.Kernel.Complete(second, -Errno.ECANCELED);
        script.Kernel.Complete(receive, -Errno.ECANCELED);
        await script.ConnectionsAsync();
        Assert.False(probe.Closed.IsCompleted);
        script.Kernel.AdvanceClock(CancelRetry.FirstMs + 10);
        Assert.Equal(first.Token, (await script.Kernel.ExpectAsync("cancel")).Token);
        script.Kernel.Complete(first, -Errno.ECANCELED);
        Assert.Equal(7, (await script.Kernel.ExpectAsync("close")).Socket);
        await probe.Closed.Within();
        Assert.Equal((0, 0), (socket.Counters.SendErrors, await script.Reactor.AskAsync(() => script.Reactor.Pools.Lent)));
    }

    [Fact]
    public async Task A_datagram_for_a_receive_that_is_over_returns_its_buffer()
    {
        await using Script script = await Script.StartAsync();
        (DatagramSocket socket, DatagramProbe probe, Submission receive) = await OpenAsync(script);
        await script.Reactor.AskAsync(() =>
        {
            socket.Close();
            return 0;
        });
        await script.Kernel.ExpectAsync("cancel");
        script.Kernel.Complete(receive, -Errno.ECANCELED);
        await probe.Closed.Within();
        await script.Kernel.ExpectAsync("close");
        // The slot is another's now.
        (_, DatagramProbe next, _) = await OpenAsync(script);
        Deliver(script, receive, [1]);
        await script.ConnectionsAsync();
        Assert.Equal((0, 0, 0), (probe.Datagrams, next.Datagrams, script.Kernel.BuffersLent));
    }

    [Fact]
    public async Task A_reactor_that_stops_cancels_its_sockets_operations()
    {
        Script script = await Script.StartAsync();
        (DatagramSocket socket, DatagramProbe probe, Submission receive) = await OpenAsync(script);
        Assert.True(await DatagramTest.SendAsync(socket, [1], 1, DatagramScript.Peer));
        Submission send = await script.Kernel.ExpectAsync("send datagram");
        Task stop = script.Reactor.StopAsync(TimeSpan.Zero);
        Assert.Equal(receive.Token, (await script.Kernel.ExpectAsync("cancel")).Token);
        Assert.Equal(send.Token, (await script.Kernel.ExpectAsync("cancel")).Token);
        script.Kernel.Complete(receive, -Errno.ECANCELED);
        script.Kernel.Complete(send, -Errno.ECANCELED);
        await stop.Within();
        Assert.True(probe.Closed.IsCompletedSuccessfully);
        Assert.True(script.Kernel.IsDisposed);
    }

    [Fact]
    public async Task A_kernel_that_never_answers_keeps_the_memory()
    {
        Script script = await Script.StartAsync();
        (DatagramSocket socket, DatagramProbe probe, _) = await OpenAsync(script);
        Assert.True(await DatagramTest.SendAsync(socket, [1], 1, DatagramScript.Peer));
        await AbandonedReactor.StopAsync(script);
        Assert.Equal((false, false), (probe.Closed.IsCompleted, script.Kernel.IsDisposed));
        BlockLeakDetector.Reports.Clear();
    }

    private static async Task<(DatagramSocket Socket, DatagramProbe Probe, Submission Receive)> OpenAsync(Script script)
    {
        var probe = new DatagramProbe();
        DatagramSocket socket = await script.Reactor.AskAsync(() =>
        {
            var socket = new DatagramSocket(script.Reactor, 7, probe);
            socket.Start();
            return socket;
        });
        return (socket, probe, await script.Kernel.ExpectAsync("receive datagrams"));
    }

    private static void Deliver(Script script, Submission receive, byte[] datagram, CompletionFlags flags = More)
    {
        byte[] message = DatagramScript.Message(datagram);
        script.Kernel.Complete(receive, message.Length, flags, message);
    }

    private static (Submission, int, CompletionFlags, byte[]?) Message(Submission receive, byte[] datagram)
    {
        byte[] message = DatagramScript.Message(datagram);
        return (receive, message.Length, More, message);
    }
}
