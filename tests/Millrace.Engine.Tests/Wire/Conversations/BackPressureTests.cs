using Millrace.Engine.Tests.Wire.Kit;

namespace Millrace.Engine.Tests.Wire.Conversations;

public class BackPressureTests : EngineTest
{
    [Fact]
    public async Task A_handler_that_does_not_consume_blocks_its_peer_and_loses_nothing()
    {
        const int Bytes = 24 * 1024 * 1024;
        var consume = new TaskCompletionSource();
        int most = 0;
        TestServer server = await Serve(async connection =>
        {
            await connection.ReadAsync();
            await consume.Task;
            await connection.Reactor.SwitchTo();
            long position = 0;
            do
            {
                most = Math.Max(most, connection.Input.Length);
                Pattern.Check(connection.Input, 9, position);
                position += connection.Input.Length;
                connection.Consume(connection.Input.Length);
            }
            while (await connection.ReadAsync() == ReadOutcome.Data);
            connection.Write(BitConverter.GetBytes(position));
        });
        TestClient client = await server.Connect();
        Task send = client.Send(Pattern.Bytes(9, Bytes));
        long before;
        do
        {
            before = server.Reactor.Counters.Completions;
            await Task.Delay(50);
        }
        while (server.Reactor.Counters.Completions != before || before < 10);

        Assert.False(send.IsCompleted);
        consume.SetResult();
        await send;
        client.Finish();
        Assert.Equal(Bytes, BitConverter.ToInt64(await client.ReceiveToEnd()));
        // The mark, and what was under way when the receive was cancelled.
        Assert.InRange(most, 1, 512 * 1024);
        Assert.Empty(Log.Failures);
    }

    [Theory]
    [InlineData(60_000, 50_000)]
    [InlineData(100, 300_000)]
    public async Task A_handler_that_waits_for_more_than_the_mark_gets_it(int first, int second)
    {
        TestServer server = await Serve(async connection =>
        {
            foreach (int count in new[] { first, second })
            {
                while (connection.Input.Length < count)
                {
                    Assert.Equal(ReadOutcome.Data, await connection.ReadAsync());
                }

                connection.Consume(count);
            }

            connection.Write("all"u8);
        });
        TestClient client = await server.Connect();
        await client.Send(new byte[first + second]);
        Assert.Equal("all"u8.ToArray(), await client.ReceiveToEnd());
        Assert.Empty(Log.Failures);
    }

    [Fact]
    public async Task Two_receive_buffers_serve_hundreds_of_connections()
    {
        TestServer server = await Serve(Handlers.Echo, Options with { ReceiveBuffers = 2, ReceiveBufferBytes = 1_024 });
        await EchoWithMany(server, clients: 300, bytes: 20_000);
        Assert.True(server.Reactor.Counters.ReceivesStarved > 0, "The buffers never ran out, so nothing was shown.");
    }

    [Theory]
    [InlineData(1, 2, 1, 2)]
    [InlineData(1, 2, 256, 1_024)]
    [InlineData(4, 4, 1, 1)]
    public async Task The_smallest_queues_are_still_right_under_load(int submissions, int completions, int perIteration, int buffers)
    {
        TestServer server = await Serve(Handlers.Echo, Options with
        {
            SubmissionEntries = submissions,
            CompletionEntries = completions,
            CompletionsPerIteration = perIteration,
            ReceiveBuffers = buffers,
            ReceiveBufferBytes = 512,
        });
        await EchoWithMany(server, clients: 60, bytes: 20_000);
    }

    [Fact]
    public async Task The_connection_beyond_the_limit_is_reset_and_the_others_stay()
    {
        TestServer server = await Serve(Handlers.Echo, Options with { Limits = new Limits { Connections = 2 } });
        TestClient first = await server.Connect();
        TestClient second = await server.Connect();
        Assert.Equal([1], await first.Exchange([1]));
        Assert.Equal([2], await second.Exchange([2]));
        await server.ExpectReset([]);
        Assert.Equal([1], await first.Exchange([1]));
        second.Dispose();
        await Eventually(() => server.Connections == 1);
        Assert.Equal([3], await (await server.Connect()).Exchange([3]));
        Assert.Equal(1, server.Reactor.Counters.Shed);
    }

    private static async Task EchoWithMany(TestServer server, int clients, int bytes)
    {
        TestClient[] all = await Task.WhenAll(Enumerable.Range(0, clients).Select(_ => server.Connect()));
        await Task.WhenAll(all.Select(async (client, i) => Pattern.Check(await client.Exchange(Pattern.Bytes(i, bytes)), i)));
        Assert.Equal(clients, server.Connections);
    }
}
