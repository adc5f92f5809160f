using System.Net;
using System.Net.Sockets;
using Millrace.Engine.Listening;
using Millrace.Engine.Tests.Kit;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Tests.Listening;

/// <summary>Sockets that another process has bound, and the files of unix sockets.</summary>
public class InheritedSocketTests : EngineTest
{
    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task A_bound_socket_is_served_and_stays_its_owners(bool isBlocking)
    {
        ReactorGroup group = await StartAsync(Options() with { Reactors = 2 });
        using var bound = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { Blocking = isBlocking };
        bound.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        // A second time, too: a service that is started again gets the same socket.
        for (int run = 0; run < 2; run++)
        {
            Listener listener = await group.ListenOnAsync((int)bound.Handle, Handlers.EchoAsync).Within();
            Assert.Equal(bound.LocalEndPoint, listener.EndPoint);
            for (int i = 0; i < 10; i++)
            {
                Client client = await ConnectAsync(listener);
                await client.SendAsync("x");
                await client.ReceiveAsync(1);
            }

            await listener.StopAsync().Within();
        }

        Assert.All(group.Reactors, static reactor => Assert.Equal(10, reactor.Counters.Accepted));
        using Client queued = await Client.ConnectAsync(bound.LocalEndPoint!);
    }

    /// <summary>The flags are of the socket and not of the copy: who listens there next would have O_NONBLOCK of us.</summary>
    [Fact]
    public async Task What_waits_when_a_listener_stops_is_served_by_the_next_and_the_socket_is_as_it_was()
    {
        ReactorGroup group = await StartAsync();
        using var bound = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        bound.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        Listener listener = await group.ListenOnAsync((int)bound.Handle, Handlers.EchoAsync).Within();

        // On epoll it has to be non-blocking while it is served, which it is when somebody was let in.
        Client served = await ConnectAsync(listener);
        await served.SendAsync("x");
        await served.ReceiveAsync(1);
        string flags = FlagsOf(bound);
        await listener.StopAsync().Within();
        Assert.Equal(flags, FlagsOf(bound));

        Client waiting = Keep(await Client.ConnectAsync(bound.LocalEndPoint!));
        await waiting.SendAsync("x");
        await group.ListenOnAsync((int)bound.Handle, Handlers.EchoAsync).Within();
        await waiting.ReceiveAsync(1);
    }

    [Fact]
    public async Task The_file_of_a_unix_socket_that_was_inherited_stays()
    {
        using var folder = new TemporaryFolder();
        ReactorGroup group = await StartAsync();
        int bound = SocketCalls.Socket(
            AddressFamilyNumber.Unix, SocketTypeNumber.Stream);
        SocketAddress address = new UnixDomainSocketEndPoint(folder.File("s")).Serialize();
        Assert.Equal(0, SocketCalls.Bind(bound, address.Buffer.Span[..address.Size]));
        Listener listener = await group.ListenOnAsync(bound, Handlers.EchoAsync).Within();
        Client client = await ConnectAsync(listener);
        await client.SendAsync("x");
        await client.ReceiveAsync(1);
        await listener.StopAsync().Within();
        Assert.True(File.Exists(folder.File("s")));
        Assert.Equal(0, SocketCalls.Close(bound));
    }

    [Fact]
    public async Task What_is_no_socket_is_refused_with_a_reason()
    {
        ReactorGroup group = await StartAsync();
        using var file = File.OpenHandle("/proc/self/exe");
        EngineException error = await Assert.ThrowsAsync<EngineException>(
            () => group.ListenOnAsync((int)file.DangerousGetHandle(), Handlers.EchoAsync).Within());
        Assert.Contains("cannot be listened on", error.Message, StringComparison.Ordinal);
        await Assert.ThrowsAsync<EngineException>(() => group.ListenOnAsync(1_000_000, Handlers.EchoAsync).Within());
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Connections_have_their_listeners_delay(bool noDelay)
    {
        var seen = new TaskCompletionSource<(int Bytes, int Value)>();
        ReactorGroup group = await StartAsync();
        Listener listener = await group.ListenAsync(
            new IPEndPoint(IPAddress.Loopback, 0),
            connection =>
            {
                Span<byte> value = stackalloc byte[4];
                int bytes = SocketCalls.GetOption(
                    connection.Descriptor,
                    SocketOptionNumber.LevelTcp,
                    SocketOptionNumber.NoDelay,
                    value);
                seen.SetResult((bytes, BitConverter.ToInt32(value)));
                return Task.CompletedTask;
            },
            filters: null,
            refusal: null,
            ListenSettings.Of(new Limits()) with { NoDelay = noDelay }).Within();
        await ConnectAsync(listener);
        Assert.Equal((4, noDelay ? 1 : 0), await seen.Task.Within());
    }

    private static string FlagsOf(Socket socket) => File.ReadLines($"/proc/self/fdinfo/{socket.Handle}")
        .Single(static line => line.StartsWith("flags:", StringComparison.Ordinal));

    [Theory]
    [InlineData("127.0.0.1")]
    [InlineData("0.0.0.0")]
    public async Task A_connection_knows_the_address_it_came_to(string address)
    {
        var local = new TaskCompletionSource<EndPoint?>();
        Listener listener = await ServeAsync(
            connection =>
            {
                local.SetResult(connection.LocalEndPoint);
                return Task.CompletedTask;
            },
            endPoint: new IPEndPoint(IPAddress.Parse(address), 0));
        var reached = new IPEndPoint(IPAddress.Parse("127.0.0.1"), ((IPEndPoint)listener.EndPoint).Port);
        Keep(await Client.ConnectAsync(reached));
        Assert.Equal(reached, await local.Task.Within());
    }
}
