using Millrace.Engine.Tests.Kit;

namespace Millrace.Engine.Tests.OneShot;

/// <summary>What receives that bring bytes once do not share with those that go on.</summary>
[Trait("Backend", "io_uring")]
public class OneShotBehaviourTests : EngineTest
{
    [Fact]
    public async Task With_four_receive_buffers_for_hundreds_of_senders_nothing_is_lost()
    {
        Listener listener = await ServeAsync(
            Handlers.EchoAsync, (Options() with { ReceiveBuffers = 4, ReceiveBufferBytes = 256 }).OneShot());
        await Client.EchoTogetherAsync(listener, connections: 300, bytes: 20_000);
        Assert.True(Reactor.Counters.ReceivesParked > 0, "The buffers were never all in use: the test proves nothing.");
    }

    [Theory]
    [InlineData(1, 2, 1)]
    [InlineData(2, 4, 2)]
    [InlineData(2, 4, 64)]
    public async Task With_tiny_queues_nothing_is_lost(int submissions, int completions, int perTurn)
    {
        Listener listener = await ServeAsync(Handlers.EchoAsync, (Options() with
        {
            SubmissionEntries = submissions,
            CompletionEntries = completions,
            CompletionsPerTurn = perTurn,
        }).OneShot());
        await Client.EchoTogetherAsync(listener, connections: 100, bytes: 20_000);
    }

    [Fact]
    public async Task Who_is_not_read_is_not_received_from_beyond_one_buffer()
    {
        const int BufferBytes = 1_024;
        const int HighWaterBytes = 4 * BufferBytes;
        var gate = new TaskCompletionSource();
        Connection? served = null;
        Listener listener = await ServeAsync(
            async connection =>
            {
                served = connection;
                await gate.Task;
                await connection.Reactor.SwitchTo();
                await Handlers.EchoAsync(connection);
            },
            (Options(new Limits { InputHighWaterBytes = HighWaterBytes }) with { ReceiveBufferBytes = BufferBytes }).OneShot());
        Client client = await ConnectAsync(listener);
        byte[] sent = Pattern.Make(1, 20 * BufferBytes);
        Task send = client.SendAsync(sent);
        await Waiting.UntilAsync(
            () => served is not null && Reactor.AskAsync(() => served.Input.Length).Result >= HighWaterBytes, "the input is full");
        Assert.InRange(await Reactor.AskAsync(() => served!.Input.Length), HighWaterBytes, HighWaterBytes + BufferBytes - 1);

        gate.SetResult();
        Pattern.Check(1, await client.ReceiveAsync(sent.Length));
        await send;
    }
}
