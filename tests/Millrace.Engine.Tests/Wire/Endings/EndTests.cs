using System.Net.Sockets;
using Millrace.Engine.Tests.Wire.Kit;

namespace Millrace.Engine.Tests.Wire.Endings;

/// <summary>Ends in order: what was written arrives, whatever the peer still sends.</summary>
public class EndTests : EngineTest
{
    [Fact]
    public async Task Fin_after_the_request_still_gets_the_whole_answer()
    {
        const int Bytes = 8 * 1024 * 1024;
        TestServer server = await Serve(Handlers.Response);
        TestClient client = await server.Connect();
        await client.Send(Handlers.Request(5, Bytes));
        client.Finish();
        byte[] response = await client.ReceiveToEnd();
        Assert.Equal(Bytes, response.Length);
        Pattern.Check(response, 5);
        await server.Emptied();
    }

    [Fact]
    public async Task The_end_is_a_fin_when_the_handler_returns()
    {
        TestServer server = await Serve(connection =>
        {
            connection.Write("Bye."u8);
            return Task.CompletedTask;
        });
        TestClient client = await server.Connect();
        Assert.Equal("Bye."u8.ToArray(), await client.ReceiveToEnd());
        client.Dispose();
        await server.Emptied();
    }

    [Fact]
    public async Task The_answer_arrives_although_the_peer_sent_more_than_was_read()
    {
        TestServer server = await Serve(async connection =>
        {
            await connection.ReadAsync();
            connection.Write(Pattern.Bytes(3, 100_000));
        }, Options with { Limits = new Limits { Linger = Patience } });
        TestClient client = await server.Connect();
        await client.Send(new byte[300_000]);
        // Read late, when the connection would have been reset long since.
        await Eventually(() => server.Reactor.Counters.Completions > 3);
        await client.Send(new byte[300_000]);
        Pattern.Check(await client.Receive(100_000), 3);
        Assert.Empty(await client.ReceiveToEnd());
        // Our end is announced, and the connection still takes what comes.
        Assert.Equal(1, await server.AtHome(() => server.Connections));
        client.Dispose();
        await server.Emptied();
    }

    [Fact]
    public async Task A_peer_that_never_ends_is_let_go_after_the_linger()
    {
        TestServer server = await Serve(Return, Options with { Limits = new Limits { Linger = TimeSpan.FromMilliseconds(100) } });
        TestClient client = await server.Connect();
        Assert.Empty(await client.ReceiveToEnd());
        await server.Emptied();
    }

    [Fact]
    public async Task A_peer_that_sends_without_end_is_cut_off_while_lingering()
    {
        TestServer server = await Serve(Return, Options with { Limits = new Limits { LingerBytes = 100_000, Linger = Patience } });
        TestClient client = await server.Connect();
        await Assert.ThrowsAsync<SocketException>(async () =>
        {
            while (true)
            {
                await client.Send(new byte[10_000]);
            }
        });
        await server.Emptied();
    }

    [Fact]
    public async Task A_reset_ends_a_wait_for_input()
    {
        var outcome = new TaskCompletionSource<ReadOutcome>();
        TestServer server = await Serve(async connection => outcome.SetResult(await connection.ReadAsync()));
        (await server.Connect()).Reset();
        Assert.Equal(ReadOutcome.Reset, await outcome.Task.WaitAsync(Patience));
        await server.Emptied();
    }

    [Fact]
    public async Task A_reset_ends_a_flush()
    {
        var outcome = new TaskCompletionSource<FlushOutcome>();
        TestServer server = await Serve(async connection =>
        {
            connection.Write(new byte[32 * 1024 * 1024]);
            outcome.SetResult(await connection.FlushAsync());
        });
        TestClient client = await server.Connect();
        await client.Receive(1_000);
        client.Reset();
        Assert.Equal(FlushOutcome.Closed, await outcome.Task.WaitAsync(Patience));
        await server.Emptied();
    }

    [Fact]
    public async Task Bytes_before_a_reset_are_followed_by_reset_not_end()
    {
        var outcomes = new TaskCompletionSource<(ReadOutcome, ReadOutcome)>();
        TestServer server = await Serve(async connection =>
        {
            ReadOutcome first = await connection.ReadAsync();
            outcomes.SetResult((first, await connection.ReadAsync()));
        });
        TestClient client = await server.Connect();
        await client.Send(new byte[10]);
        await Eventually(() => server.Reactor.Counters.Completions >= 2);
        client.Reset();
        Assert.Equal((ReadOutcome.Data, ReadOutcome.Reset), await outcomes.Task.WaitAsync(Patience));
        await server.Emptied();
    }

    [Fact]
    public async Task A_wait_that_the_handler_left_pending_does_not_hurt_the_next_tenant()
    {
        int served = 0;
        TestServer server = await Serve(
            connection =>
            {
                if (Interlocked.Increment(ref served) > 1)
                {
                    return Handlers.Echo(connection);
                }

                _ = connection.ReadAsync();
                return Task.CompletedTask;
            },
            Options with { Limits = new Limits { Linger = TimeSpan.FromMilliseconds(50) } });
        TestClient first = await server.Connect();
        Assert.Empty(await first.ReceiveToEnd());
        await server.Emptied();

        TestClient second = await server.Connect();
        Assert.Equal([1, 2, 3], await second.Exchange([1, 2, 3]));
    }

    [Fact]
    public async Task A_flush_that_the_handler_did_not_await_is_still_sent()
    {
        TestServer server = await Serve(connection =>
        {
            connection.Write(Pattern.Bytes(4, 3_000_000));
            _ = connection.FlushAsync();
            connection.Write(Pattern.Bytes(4, 1_000, position: 3_000_000));
            return Task.CompletedTask;
        });
        TestClient client = await server.Connect();
        byte[] response = await client.ReceiveToEnd();
        Assert.Equal(3_001_000, response.Length);
        Pattern.Check(response, 4);
        client.Dispose();
        await server.Emptied();
    }

    private static Task Return(Connection connection) => Task.CompletedTask;
}
