using System.Net;
using System.Net.Sockets;
using Millrace.Engine.Tests.Wire.Kit;

namespace Millrace.Engine.Tests.Wire.Listening;

public class ListenTests : EngineTest
{
    [Fact]
    public async Task An_address_in_use_is_refused_also_within_the_process()
    {
        TestServer server = await Serve(Handlers.Echo, Options with { Reactors = 2 });
        ReactorGroup other = await Start(Options with { Reactors = 2 });
        EngineException refusal = await Assert.ThrowsAsync<EngineException>(() => other.ListenAsync(server.EndPoint, Handlers.Echo));
        Assert.Contains("in use", refusal.Message, StringComparison.Ordinal);
        Assert.Equal([1], await (await server.Connect()).Exchange([1]));
    }

    [Fact]
    public async Task A_foreign_address_is_refused()
    {
        ReactorGroup group = await Start();
        await Assert.ThrowsAsync<EngineException>(() => group.ListenAsync(new IPEndPoint(IPAddress.Parse("192.0.2.1"), 0), Handlers.Echo));
    }

    [Fact]
    public async Task Several_reactors_share_the_connections_of_an_address()
    {
        var served = new int[3];
        TestServer server = await Serve(
            connection =>
            {
                Interlocked.Increment(ref served[connection.Reactor.Index]);
                return Handlers.Echo(connection);
            },
            Options with { Reactors = 3 });
        await Task.WhenAll(Enumerable.Range(0, 200).Select(async _ => await (await server.Connect()).Exchange([1])));
        Assert.Equal(200, served.Sum());
        Assert.All(served, static count => Assert.InRange(count, 20, 160));
    }

    [Fact]
    public async Task Connections_of_a_unix_socket_are_dealt_in_turn()
    {
        using var folder = new TempFolder();
        var served = new int[3];
        TestServer server = await Serve(
            connection =>
            {
                served[connection.Reactor.Index]++;
                return Handlers.Echo(connection);
            },
            Options with { Reactors = 3 },
            new UnixDomainSocketEndPoint(folder.File("socket")));
        for (byte i = 0; i < 9; i++)
        {
            Assert.Equal([i], await (await server.Connect()).Exchange([i]));
        }

        Assert.Equal([3, 3, 3], served);
    }

    [Fact]
    public async Task A_stale_unix_socket_file_is_removed_and_ours_goes_with_the_listener()
    {
        using var folder = new TempFolder();
        var endPoint = new UnixDomainSocketEndPoint(folder.File("socket"));
        int stale = Interop.Sockets.SocketCalls.Socket(1, 1);
        Assert.Equal(0, Interop.Sockets.SocketCalls.Bind(stale, Engine.Listening.SocketEndPoint.Encode(endPoint)));
        Assert.Equal(0, Interop.Sockets.SocketCalls.Close(stale));
        Assert.True(File.Exists(folder.File("socket")));

        TestServer server = await Serve(Handlers.Echo, endPoint: endPoint);
        Assert.Equal([1], await (await server.Connect()).Exchange([1]));
        await server.Listener.StopAsync();
        Assert.False(File.Exists(folder.File("socket")));
    }

    [Fact]
    public async Task A_live_unix_socket_is_refused_and_keeps_working()
    {
        using var folder = new TempFolder();
        TestServer server = await Serve(Handlers.Echo, endPoint: new UnixDomainSocketEndPoint(folder.File("socket")));
        ReactorGroup other = await Start();
        await Assert.ThrowsAsync<EngineException>(() => other.ListenAsync(server.EndPoint, Handlers.Echo));
        Assert.Equal([1], await (await server.Connect()).Exchange([1]));
    }

    [Fact]
    public async Task A_file_that_is_no_socket_is_refused_and_left_alone()
    {
        using var folder = new TempFolder();
        string file = folder.File("document", [1, 2, 3]);
        ReactorGroup group = await Start();
        await Assert.ThrowsAsync<EngineException>(() => group.ListenAsync(new UnixDomainSocketEndPoint(file), Handlers.Echo));
        Assert.Equal([1, 2, 3], await File.ReadAllBytesAsync(file));
    }

    [Fact]
    public async Task A_listener_that_stops_serves_what_is_queued_and_refuses_the_rest()
    {
        using var blocked = new ManualResetEventSlim();
        TestServer server = await Serve(Handlers.Echo);
        server.Reactor.Post(_ => blocked.Wait(Patience), null);
        TestClient[] queued = await Task.WhenAll(Enumerable.Range(0, 20).Select(_ => server.Connect()));
        Task stop = server.Listener.StopAsync();
        blocked.Set();
        await stop.WaitAsync(Patience);
        foreach (TestClient client in queued)
        {
            Assert.Equal([4], await client.Exchange([4]));
        }

        await Assert.ThrowsAsync<SocketException>(() => server.Connect());
        await server.Listener.StopAsync().WaitAsync(Patience);
    }

    [Fact]
    public async Task Listening_on_a_stopped_group_is_refused()
    {
        ReactorGroup group = await Start();
        await group.StopAsync(TimeSpan.Zero);
        await Assert.ThrowsAsync<ObjectDisposedException>(() => group.ListenAsync(Loopback, Handlers.Echo).WaitAsync(Patience));
    }

    [Fact]
    public async Task Queues_that_do_not_fit_each_other_are_refused_by_name()
    {
        ArgumentException refusal = await Assert.ThrowsAnyAsync<ArgumentException>(
            () => ReactorGroup.StartAsync(Options with { SubmissionEntries = 64, CompletionEntries = 32 }));
        Assert.Contains("CompletionEntries", refusal.Message, StringComparison.Ordinal);
    }
}
