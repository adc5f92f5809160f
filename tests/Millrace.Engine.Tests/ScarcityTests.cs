using System.Diagnostics;
using System.Net.Sockets;
using Millrace.Engine.Tests.Kit;
using Millrace.Interop;
using Millrace.Interop.Files;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Tests;

/// <summary>Too few of everything: slower, never wrong.</summary>
public class ScarcityTests : EngineTest
{
    [Fact]
    public async Task With_four_receive_buffers_for_hundreds_of_senders_nothing_is_lost()
    {
        Listener listener = await ServeAsync(Handlers.EchoAsync, Options() with { ReceiveBuffers = 4, ReceiveBufferBytes = 256 });
        await Client.EchoTogetherAsync(listener, connections: 300, bytes: 20_000);
        Assert.True(Reactor.Counters.ReceivesStarved > 0, "The buffers were never all in use: the test proves nothing.");
    }

    [Theory]
    [InlineData(1, 2, 1)]
    [InlineData(2, 4, 2)]
    [InlineData(2, 4, 64)]
    public async Task With_tiny_queues_nothing_is_lost(int submissions, int completions, int perIteration)
    {
        Listener listener = await ServeAsync(Handlers.EchoAsync, Options() with
        {
            SubmissionEntries = submissions,
            CompletionEntries = completions,
            CompletionsPerIteration = perIteration,
        });
        await Client.EchoTogetherAsync(listener, connections: 100, bytes: 20_000);
        Assert.Equal((2_000_000, 2_000_000), (Reactor.Counters.BytesReceived, Reactor.Counters.BytesSent));
        Assert.True(Reactor.Backend.QueuesFull > 0 || Reactor.Backend.Name != "io_uring", "The queues were never full: the test proves nothing.");
    }

    [Fact]
    public async Task Beyond_the_limit_connections_are_reset_and_the_others_served()
    {
        Listener listener = await ServeAsync(Handlers.EchoAsync, Options(new Limits { Connections = 3 }));
        var served = new List<Client>();
        for (int i = 0; i < 3; i++)
        {
            Client client = await ConnectAsync(listener);
            await client.SendAsync("x");
            await client.ReceiveAsync(1);
            served.Add(client);
        }

        await ExpectResetAsync(listener);
        foreach (Client client in served)
        {
            await client.SendAsync("y");
            Assert.Equal("y", await client.ReceiveTextAsync(1));
        }

        Assert.Equal(1, Reactor.Counters.Shed);
    }

    [Fact]
    public async Task Without_descriptors_accepting_pauses_and_recovers()
    {
        using var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        using var client = new Client(socket);
        var fillers = new List<int>();
        Assert.Equal(0, FileCalls.GetDescriptorLimit(out ResourceLimit before));
        try
        {
            // First: the kernel notes the limit when an accept is submitted (io_accept_prep), not when a connection comes.
            Assert.Equal(0, DescriptorLimit.Set(before with { Soft = (ulong)Directory.GetFiles("/proc/self/fd").Length + 64 }));
            Listener listener = await ServeAsync(Handlers.EchoAsync, Options(new Limits { AcceptPause = TimeSpan.FromMilliseconds(50) }));
            int filler;
            while ((filler = SocketCalls.EventDescriptor()) >= 0)
            {
                fillers.Add(filler);
            }

            Assert.Equal(-Errno.EMFILE, filler);
            await socket.ConnectAsync(listener.EndPoint).Within();
            await client.SendAsync("patience");
            await Waiting.UntilAsync(() => Log.Count(200) == 1, "the pause was logged");
            var watch = Stopwatch.StartNew();
            long iterations = Volatile.Read(ref Reactor.Counters.Iterations);
            await Waiting.UntilAsync(() => Volatile.Read(ref Reactor.Counters.Iterations) >= iterations + 6, "accepting was tried again");
            Assert.True(watch.ElapsedMilliseconds >= 80, $"Six turns in {watch.ElapsedMilliseconds} ms: the reactor spins.");
        }
        finally
        {
            fillers.ForEach(static fd => SocketCalls.Close(fd));
            Assert.Equal(0, DescriptorLimit.Set(before));
        }

        Assert.Equal("patience", await client.ReceiveTextAsync(8));
        Assert.Equal(1, Log.Count(200));
    }
}
