using System.Net;
using System.Net.Sockets;
using Millrace.Engine.Tests.Wire.Kit;

namespace Millrace.Engine.Tests.Wire.Faults;

/// <summary>Beyond a limit the newest is told, or reset; those before it never notice.</summary>
public class OverloadTests : EngineTest
{
    [Fact]
    public async Task The_limit_is_one_for_all_reactors()
    {
        TestServer server = await Serve(Handlers.Echo, Options with { Reactors = 3, Limits = new Limits { Connections = 4 } });
        TestClient[] served = await Task.WhenAll(Enumerable.Range(0, 4).Select(_ => server.Connect()));
        await Task.WhenAll(served.Select(static client => client.Exchange([1])));
        for (int i = 0; i < 4; i++)
        {
            await server.ExpectReset([]);
        }

        Assert.Equal([2], await served[0].Exchange([2]));
        Assert.Equal(4, server.Group.Reactors.Sum(static reactor => reactor.Counters.Shed));
        Assert.Single(Log.Of(202));
    }

    [Fact]
    public async Task Beyond_the_limit_of_one_client_it_is_refused_and_others_are_served()
    {
        TestServer server = await Serve(Handlers.Echo, Options with { Limits = new Limits { ConnectionsPerClient = 2 } });
        TestClient first = await server.Connect();
        TestClient second = await server.Connect();
        await first.Exchange([1]);
        await second.Exchange([1]);
        await server.ExpectReset([]);

        TestClient other = await Connect(server.EndPoint, from: IPAddress.Parse("127.0.0.2"));
        Assert.Equal([2], await other.Exchange([2]));
        second.Dispose();
        await Eventually(() => server.Connections == 2);
        Assert.Equal([3], await (await server.Connect()).Exchange([3]));
    }

    [Fact]
    public async Task A_unix_socket_has_no_limit_of_one_client()
    {
        using var folder = new TempFolder();
        TestServer server = await Serve(
            Handlers.Echo,
            Options with { Limits = new Limits { ConnectionsPerClient = 1 } },
            new UnixDomainSocketEndPoint(folder.File("socket")));
        Assert.Equal([1], await (await server.Connect()).Exchange([1]));
        Assert.Equal([2], await (await server.Connect()).Exchange([2]));
    }

    [Fact]
    public async Task Those_beyond_the_limit_are_refused_in_words_and_those_beyond_that_are_reset()
    {
        var gate = new TaskCompletionSource();
        ReactorGroup group = await Start(Options with { Limits = new Limits { Connections = 1, Refusals = 1 } });
        Listener listener = await group.ListenAsync(Loopback, Handlers.Echo, refusal: async connection =>
        {
            await connection.ReadAsync();
            await gate.Task;
            await connection.Reactor.SwitchTo();
            connection.Write("full"u8);
        });
        var server = new TestServer(this, group, listener);
        TestClient served = await server.Connect();
        await served.Exchange([1]);
        TestClient refused = await server.Connect();
        await refused.Send(new byte[1]);
        await Eventually(() => server.Connections == 2);
        await server.ExpectReset([]);
        gate.SetResult();
        Assert.Equal("full"u8.ToArray(), await refused.ReceiveToEnd());
        refused.Dispose();
        await Eventually(() => server.Connections == 1);

        Assert.Equal([2], await served.Exchange([2]));
        Assert.Equal((1, 1), (server.Reactor.Counters.Refused, server.Reactor.Counters.Shed));
        TestClient next = await server.Connect();
        await next.Send(new byte[1]);
        Assert.Equal("full"u8.ToArray(), await next.ReceiveToEnd());
    }

    [Fact]
    public async Task Without_memory_for_its_bytes_a_connection_is_reset_and_the_others_are_served()
    {
        TestServer server = await Serve(
            async connection =>
            {
                // One that keeps what comes, and one that answers.
                while (await connection.ReadAsync() == ReadOutcome.Data)
                {
                    if (connection.Input[0] == 1)
                    {
                        connection.Write([2]);
                        connection.Consume(connection.Input.Length);
                        await connection.FlushAsync();
                    }
                }
            },
            Options with { Limits = new Limits { BufferBytes = 256 * 1024 } });
        TestClient modest = await server.Connect();
        await modest.Exchange([1]);
        TestClient greedy = await server.Connect();
        var overloaded = server.AtHome(() => server.Reactor.IsOverloaded);
        Assert.False(await overloaded);
        Exception? refused = await Record.ExceptionAsync(() => greedy.Send(new byte[8 * 1024 * 1024]));
        Assert.IsType<SocketException>(refused);

        Assert.Equal([2], await modest.Exchange([1]));
        Assert.Equal(1, server.Reactor.Counters.Starved);
        Assert.Empty(Log.Failures);
    }

    [Fact]
    public async Task A_handler_that_finds_no_memory_is_no_fault_of_its_own()
    {
        TestServer server = await Serve(
            async connection =>
            {
                await connection.ReadAsync();
                Assert.Equal(connection.Input[0] == 9, connection.Reactor.IsOverloaded);
                connection.Write(new byte[connection.Input[0] * 100_000]);
                Assert.True(connection.Reactor.IsOverloaded);
                await connection.FlushAsync();
            },
            Options with { Limits = new Limits { BufferBytes = 400 * 1024 } });
        TestClient greedy = await server.Connect();
        await greedy.Send(new byte[] { 5 });
        await greedy.ExpectReset();
        await server.Emptied();
        Assert.Equal(1, server.Reactor.Counters.Starved);
        Assert.Empty(Log.Failures);
        Assert.False(await server.AtHome(() => server.Reactor.IsOverloaded));
    }

    /// <summary>Null where it is reset before it knows that it is connected.</summary>
    private async Task<TestClient?> TryConnect(TestServer server, string from)
    {
        try
        {
            return await Connect(server.EndPoint, from: IPAddress.Parse(from));
        }
        catch (SocketException refused) when (refused.SocketErrorCode == SocketError.ConnectionReset)
        {
            return null;
        }
    }

    /// <summary>It keeps what it is sent while its first byte is 0, and answers otherwise.</summary>
    private static async Task Keep(Connection connection)
    {
        while (await connection.ReadAsync() == ReadOutcome.Data)
        {
            if (connection.Input[0] != 0)
            {
                connection.Write(connection.Input);
                connection.Consume(connection.Input.Length);
                await connection.FlushAsync();
            }
        }
    }

    [Fact]
    public async Task Where_memory_runs_out_the_connections_of_who_holds_most_are_reset_and_others_are_served()
    {
        TestServer server = await Serve(Keep, Options with { Limits = new Limits { BufferBytes = 1024 * 1024 } });
        TestClient modest = await Connect(server.EndPoint, from: IPAddress.Parse("127.0.0.3"));
        TestClient[] greedy = await Task.WhenAll(
            Enumerable.Range(0, 40).Select(_ => Connect(server.EndPoint, from: IPAddress.Parse("127.0.0.2"))));
        for (byte i = 1; i <= greedy.Length; i++)
        {
            _ = await Record.ExceptionAsync(() => greedy[i - 1].Send(new byte[40_000]));
            Assert.Equal([i], await modest.Exchange([i]));
            TestClient fresh = await Connect(server.EndPoint, from: IPAddress.Parse("127.0.0.4"));
            Assert.Equal([i], await fresh.Exchange([i]));
            fresh.Dispose();
        }

        await Eventually(() => server.Reactor.Counters.Starved > 0);
        Assert.InRange(server.Reactor.Accounts.Bytes, 0, 1024 * 1024 * 9 / 8);
        Array.ForEach(greedy, static client => client.Dispose());
        modest.Dispose();
        await server.Emptied();
        Assert.Equal((0L, 0), await server.AtHome(() => (server.Reactor.Accounts.Bytes, server.Reactor.Accounts.Clients)));
        Assert.Empty(Log.Failures);
    }

    [Fact]
    public async Task While_connections_that_were_reset_hold_their_memory_still_there_is_some_for_a_client_that_holds_little()
    {
        var gate = new TaskCompletionSource();
        TestServer server = await Serve(
            async connection =>
            {
                await connection.ReadAsync();
                if (connection.Input[0] != 0)
                {
                    connection.Write(connection.Input);
                    await connection.FlushAsync();
                    return;
                }

                // It does not see that it was reset.
                connection.Write(new byte[40_000]);
                await gate.Task;
                await connection.Reactor.SwitchTo();
            },
            Options with { Limits = new Limits { BufferBytes = 4 * 1024 * 1024 } });
        TestClient[] greedy = await Task.WhenAll(
            Enumerable.Range(0, 100).Select(_ => Connect(server.EndPoint, from: IPAddress.Parse("127.0.0.2"))));
        foreach (TestClient client in greedy)
        {
            _ = await Record.ExceptionAsync(() => client.Send(new byte[1]));
        }

        await Eventually(() => server.Reactor.Counters.Starved > 0);
        for (byte i = 1; i <= 20; i++)
        {
            TestClient little = await Connect(server.EndPoint, from: IPAddress.Parse("127.0.0.3"));
            Assert.Equal([i], await little.Exchange([i]));
            little.Dispose();
        }

        gate.SetResult();
        Array.ForEach(greedy, static client => client.Dispose());
        await server.Emptied();
        Assert.Equal(0, await server.AtHome(() => server.Reactor.Accounts.Bytes));
        Assert.Empty(Log.Failures);
    }

    [Fact]
    public async Task Where_there_are_as_many_connections_as_may_be_one_of_who_has_most_ends_for_one_of_another()
    {
        TestServer server = await Serve(Handlers.Echo, Options with { Limits = new Limits { Connections = 4 } });
        var crowd = new List<TestClient>();
        for (int i = 0; i < 4; i++)
        {
            TestClient client = await Connect(server.EndPoint, from: IPAddress.Parse("127.0.0.2"));
            Assert.Equal([1], await client.Exchange([1]));
            crowd.Add(client);
        }

        TestClient other = await Connect(server.EndPoint, from: IPAddress.Parse("127.0.0.3"));
        Assert.Equal([2], await other.Exchange([2]));
        await Eventually(() => server.Connections == 4);

        // But not for one more of their own.
        if (await TryConnect(server, "127.0.0.2") is { } another)
        {
            await another.ExpectReset();
        }

        Assert.Equal([3], await other.Exchange([3]));
    }
}
