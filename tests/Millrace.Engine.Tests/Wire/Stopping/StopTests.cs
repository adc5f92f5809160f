using System.Diagnostics;
using System.Net.Sockets;
using Millrace.Engine.Tests.Wire.Kit;

namespace Millrace.Engine.Tests.Wire.Stopping;

public class StopTests : EngineTest
{
    private static readonly TimeSpan FarAway = TimeSpan.FromMinutes(10);

    [Fact]
    public async Task Idle_connections_end_at_once_and_the_stop_is_prompt()
    {
        var outcomes = new System.Collections.Concurrent.ConcurrentBag<ReadOutcome>();
        TestServer server = await Serve(
            async connection =>
            {
                ReadOutcome outcome;
                while ((outcome = await connection.ReadIdleAsync()) == ReadOutcome.Data)
                {
                    connection.Write(connection.Input);
                    connection.Consume(connection.Input.Length);
                    await connection.FlushAsync();
                }

                Assert.True(connection.Reactor.IsDraining);
                outcomes.Add(outcome);
            },
            Options with { Reactors = 2 });
        TestClient[] clients = await Task.WhenAll(Enumerable.Range(0, 20).Select(_ => server.Connect()));
        await Task.WhenAll(clients.Select(client => client.Exchange([1])));

        Task[] ends = [.. clients.Select(async client =>
        {
            Assert.Empty(await client.ReceiveToEnd());
            client.Dispose();
        })];
        long start = Stopwatch.GetTimestamp();
        await server.Group.StopAsync(FarAway).WaitAsync(Patience);
        Assert.True(Stopwatch.GetElapsedTime(start) < Patience);
        await Task.WhenAll(ends);
        Assert.Equal(Enumerable.Repeat(ReadOutcome.Draining, 20), outcomes);
    }

    [Fact]
    public async Task Work_in_flight_finishes_within_the_deadline()
    {
        var draining = new TaskCompletionSource();
        TestServer server = await Serve(async connection =>
        {
            await connection.ReadAsync();
            await draining.Task;
            await connection.Reactor.SwitchTo();
            connection.Write(Pattern.Bytes(1, 5_000_000));
        });
        TestClient client = await server.Connect();
        await client.Send(new byte[1]);
        await Eventually(() => server.Connections == 1);
        Task stop = server.Group.StopAsync(FarAway);
        await Eventually(() => server.Reactor.IsDraining);
        draining.SetResult();
        byte[] response = await client.ReceiveToEnd();
        Assert.Equal(5_000_000, response.Length);
        Pattern.Check(response, 1);
        client.Dispose();
        await stop.WaitAsync(Patience);
        Assert.Empty(Log.Failures);
    }

    [Fact]
    public async Task The_deadline_resets_what_is_left()
    {
        var outcome = new TaskCompletionSource<ReadOutcome>();
        TestServer server = await Serve(async connection => outcome.SetResult(await connection.ReadAsync()));
        TestClient client = await server.Connect();
        await Eventually(() => server.Connections == 1);
        Task stop = server.Group.StopAsync(TimeSpan.FromMilliseconds(50));
        await client.ExpectReset();
        await stop.WaitAsync(Patience);
        Assert.Equal(ReadOutcome.Reset, await outcome.Task);
    }

    [Fact]
    public async Task A_second_stop_waits_for_the_first()
    {
        TestServer server = await Serve(Handlers.Echo, Options with { Reactors = 2 });
        Task first = server.Group.StopAsync(FarAway);
        Task second = server.Group.StopAsync(TimeSpan.Zero);
        await Task.WhenAll(first, second).WaitAsync(Patience);
        await Assert.ThrowsAsync<SocketException>(() => server.Connect());
    }

    [Fact]
    public async Task Groups_come_and_go_without_a_trace()
    {
        for (int i = 0; i < 20; i++)
        {
            TestServer server = await Serve(Handlers.Echo, Options with { Reactors = 2 });
            Assert.Equal([1], await (await server.Connect()).Exchange([1]));
            await server.Group.DisposeAsync().AsTask().WaitAsync(Patience);
        }
    }

    /// <summary>The peers keep their own ends open: an orderly end that waits for theirs would take the linger's two seconds.</summary>
    [Fact]
    public async Task Idle_connections_do_not_hold_up_the_end()
    {
        TestServer server = await Serve(
            static async connection =>
            {
                while (await connection.ReadIdleAsync() == ReadOutcome.Data)
                {
                    connection.Write(connection.Input);
                    connection.Consume(connection.Input.Length);
                    await connection.FlushAsync();
                }
            },
            Options with { Reactors = 2, Limits = new Limits { Linger = FarAway } });
        TestClient[] clients = await Task.WhenAll(Enumerable.Range(0, 20).Select(_ => server.Connect()));
        await Task.WhenAll(clients.Select(client => client.Exchange([1])));

        await server.Group.StopAsync(FarAway).WaitAsync(Patience);

        foreach (TestClient client in clients)
        {
            Assert.Empty(await client.ReceiveToEnd());
        }
    }
}
