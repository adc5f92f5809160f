using System.Net.Sockets;
using Millrace.Engine.Tests.Wire.Kit;

namespace Millrace.Engine.Tests.Wire.Conversations;

/// <summary>Connections whose handler has returned and is run again with the next bytes.</summary>
public class IdleTests : EngineTest
{
    private static readonly TimeSpan Long = TimeSpan.FromMinutes(1);

    [Fact]
    public async Task The_next_bytes_find_a_handler_begun_again()
    {
        int begun = 0;
        TestServer server = await Serve(connection => EchoOnce(connection, Long, ref begun));
        TestClient client = await server.Connect();

        for (byte round = 1; round <= 20; round++)
        {
            Assert.Equal([round, 7], await client.Exchange([round, 7]));
            await Eventually(() => Volatile.Read(ref begun) == round + 1);
        }

        Assert.Equal(1, server.Connections);
    }

    [Fact]
    public async Task It_ends_in_order_when_its_peer_has_finished()
    {
        (TestServer server, TestClient client) = await RestingAsync(Long);

        client.Socket.Shutdown(SocketShutdown.Send);

        Assert.Empty(await client.ReceiveToEnd());
        await server.Emptied();
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task It_ends_in_order_when_its_time_is_over_and_not_before()
    {
        var watch = System.Diagnostics.Stopwatch.StartNew();
        (TestServer server, TestClient client) = await RestingAsync(TimeSpan.FromSeconds(2));

        Assert.Empty(await client.ReceiveToEnd());

        Assert.True(watch.ElapsedMilliseconds > 1_900, $"after {watch.ElapsedMilliseconds} ms");
        await server.Emptied();
    }

    [Fact]
    public async Task It_ends_when_the_group_stops()
    {
        int begun = 0;
        TestServer server = await Serve(connection => EchoOnce(connection, Long, ref begun));
        TestClient used = await server.Connect();
        await used.Exchange([1]);
        TestClient silent = await server.Connect();
        await Eventually(() => Volatile.Read(ref begun) == 3);

        Task stop = server.Group.StopAsync(Long);

        Assert.Empty(await used.ReceiveToEnd());
        Assert.Empty(await silent.ReceiveToEnd());
        used.Dispose();
        silent.Dispose();
        await stop.WaitAsync(Patience);
    }

    [Fact]
    public async Task A_peer_that_resets_it_leaves_nothing_behind()
    {
        (TestServer server, TestClient client) = await RestingAsync(Long);

        client.Socket.LingerState = new LingerOption(enable: true, seconds: 0);
        client.Dispose();

        await server.Emptied();
    }

    [Fact]
    public async Task Bytes_that_came_between_the_wish_and_the_return_are_served_at_once()
    {
        int begun = 0;
        var came = new TaskCompletionSource();
        TestServer server = await Serve(async connection =>
        {
            if (Interlocked.Increment(ref begun) == 1)
            {
                connection.WaitIdle(Long);
                await connection.ReadAsync();
                came.SetResult();
                return;
            }

            connection.Write(connection.Input);
            connection.Consume(connection.Input.Length);
        });
        TestClient client = await server.Connect();

        await client.Send(new byte[] { 5 });

        Assert.Equal([5], await client.ReceiveToEnd());
        await came.Task.WaitAsync(Patience);
    }

    [Fact]
    public async Task Who_has_not_consumed_everything_cannot_rest()
    {
        var outcome = new TaskCompletionSource<Exception?>();
        TestServer server = await Serve(async connection =>
        {
            await connection.ReadAsync();
            outcome.SetResult(Record.Exception(() => connection.WaitIdle(Long)));
        });
        TestClient client = await server.Connect();

        await client.Send(new byte[] { 1 });

        Assert.IsType<InvalidOperationException>(await outcome.Task.WaitAsync(Patience));
    }

    /// <summary>A connection that was served once and rests.</summary>
    private async Task<(TestServer Server, TestClient Client)> RestingAsync(TimeSpan most)
    {
        int begun = 0;
        TestServer server = await Serve(connection => EchoOnce(connection, most, ref begun));
        TestClient client = await server.Connect();
        await client.Exchange([1]);
        return (server, client);
    }

    /// <summary>Rests at once where there is nothing, and otherwise echoes and is run again by what it left: nothing.</summary>
    private static Task EchoOnce(Connection connection, TimeSpan most, ref int begun)
    {
        Interlocked.Increment(ref begun);
        connection.Write(connection.Input);
        connection.Consume(connection.Input.Length);
        connection.WaitIdle(most);
        return Task.CompletedTask;
    }
}
