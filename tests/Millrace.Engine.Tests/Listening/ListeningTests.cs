using System.Net;
using System.Net.Sockets;
using Millrace.Engine.Listening;
using Millrace.Engine.Tests.Kit;
using Millrace.Interop.Sockets;
using Millrace.Tests.Shared;

namespace Millrace.Engine.Tests.Listening;

/// <summary>Addresses: had, refused, shared among reactors and given back.</summary>
public class ListeningTests : EngineTest
{
    [Fact]
    public async Task Port_0_is_a_free_port()
    {
        Listener one = await ServeAsync(Handlers.EchoAsync);
        Listener other = await Group.ListenAsync(new IPEndPoint(IPAddress.Loopback, 0), Handlers.EchoAsync).Within();
        Assert.NotEqual(0, ((IPEndPoint)one.EndPoint).Port);
        Assert.NotEqual(one.EndPoint, other.EndPoint);
    }

    [Theory]
    [InlineData(1, 1)]
    [InlineData(1, 2)]
    [InlineData(2, 1)]
    [InlineData(2, 2)]
    public async Task An_address_in_use_is_an_error(int reactors, int otherReactors)
    {
        Listener listener = await ServeAsync(Handlers.EchoAsync, Options() with { Reactors = reactors });
        ReactorGroup other = await StartAsync(Options() with { Reactors = otherReactors });
        EngineException error =
            await Assert.ThrowsAsync<EngineException>(() => other.ListenAsync(listener.EndPoint, Handlers.EchoAsync).Within());
        Assert.Contains("in use", error.Message, StringComparison.Ordinal);
        Assert.True(error.IsAddressInUse);
        error = await Assert.ThrowsAsync<EngineException>(() => Group.ListenAsync(listener.EndPoint, Handlers.EchoAsync).Within());
        Assert.Contains("in use", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task An_address_of_another_machine_is_an_error()
    {
        ReactorGroup group = await StartAsync();
        EngineException error = await Assert.ThrowsAsync<EngineException>(
            () => group.ListenAsync(new IPEndPoint(IPAddress.Parse("192.0.2.1"), 0), Handlers.EchoAsync).Within());
        Assert.Contains("not an address of this machine", error.Message, StringComparison.Ordinal);
        Assert.False(error.IsAddressInUse);
    }

    [Fact]
    public async Task Reactors_share_the_connections_of_an_ip_address()
    {
        Listener listener = await ServeAsync(Handlers.EchoAsync, Options() with { Reactors = 2 });
        for (int i = 0; i < 100; i++)
        {
            Client client = await ConnectAsync(listener);
            await client.SendAsync("x");
            await client.ReceiveAsync(1);
        }

        // By the hash of the addresses: that one gets fewer than 20 of 100 happens once in 10^10 runs.
        Assert.All(Group.Reactors, static reactor => Assert.InRange(reactor.Counters.Accepted, 20, 80));
    }

    [Fact]
    public async Task Connections_of_a_unix_socket_are_dealt_in_turn()
    {
        using var folder = new TemporaryFolder();
        Listener listener = await ServeAsync(
            Handlers.EchoAsync, Options() with { Reactors = 2 }, new UnixDomainSocketEndPoint(folder.File("s")));
        for (int i = 0; i < 10; i++)
        {
            Client client = await ConnectAsync(listener);
            await client.SendAsync("x");
            await client.ReceiveAsync(1);
        }

        Assert.All(Group.Reactors, static reactor => Assert.Equal(5, reactor.Counters.Accepted));
    }

    [Fact]
    public async Task A_unix_socket_that_nobody_listens_on_is_replaced_and_removed_at_the_end()
    {
        using var folder = new TemporaryFolder();
        var endPoint = new UnixDomainSocketEndPoint(folder.File("s"));
        int stale = SocketCalls.Socket(AddressFamilyNumber.Unix, SocketTypeNumber.Stream);
        SocketAddress address = endPoint.Serialize();
        Assert.Equal(0, SocketCalls.Bind(stale, address.Buffer.Span[..address.Size]));
        Assert.Equal(0, SocketCalls.Close(stale));
        Assert.True(File.Exists(folder.File("s")));

        Listener listener = await ServeAsync(Handlers.EchoAsync, endPoint: endPoint);
        Client client = await ConnectAsync(listener);
        await client.SendAsync("x");
        await client.ReceiveAsync(1);
        await listener.StopAsync().Within();
        Assert.False(File.Exists(folder.File("s")));
    }

    /// <summary>Read as a path, which it is not, the name leads from the working directory, where tests leave nothing, to a file.</summary>
    [Fact]
    public async Task An_abstract_name_is_no_file_and_removes_none()
    {
        using var folder = new TemporaryFolder();
        string file = folder.File("data", [1]);
        var endPoint = new UnixDomainSocketEndPoint("\0/../" + Path.GetRelativePath(Environment.CurrentDirectory, file));
        Assert.Equal(file, Path.GetFullPath(endPoint.ToString()));

        BoundAddress.Bind(endPoint, reactors: 1, ListenSettings.Of(new Limits())).Dispose();
        Assert.True(File.Exists(file));

        Listener listener = await ServeAsync(Handlers.EchoAsync, endPoint: endPoint);
        Client client = await ConnectAsync(listener);
        await client.SendAsync("x");
        await client.ReceiveAsync(1);
        await listener.StopAsync().Within();
        Assert.True(File.Exists(file));
    }

    [Theory]
    [InlineData("/run/s", "/run/s")]
    [InlineData("@s", "@s")]
    [InlineData("\0s", null)]
    public void Only_an_address_tells_a_file_from_an_abstract_name(string name, string? file) =>
        Assert.Equal(file, SocketEndPoint.FilePathOf(new UnixDomainSocketEndPoint(name)));

    [Fact]
    public async Task A_unix_socket_that_somebody_listens_on_is_refused()
    {
        using var folder = new TemporaryFolder();
        var endPoint = new UnixDomainSocketEndPoint(folder.File("s"));
        Listener listener = await ServeAsync(Handlers.EchoAsync, endPoint: endPoint);
        ReactorGroup other = await StartAsync();
        await Assert.ThrowsAsync<EngineException>(() => other.ListenAsync(endPoint, Handlers.EchoAsync).Within());
        Client client = await ConnectAsync(listener);
        await client.SendAsync("x");
        await client.ReceiveAsync(1);
    }

    [Fact]
    public async Task A_live_unix_socket_with_a_full_queue_is_refused_without_a_wait()
    {
        using var folder = new TemporaryFolder();
        var endPoint = new UnixDomainSocketEndPoint(folder.File("s"));
        using var live = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        live.Bind(endPoint);
        live.Listen(0);
        using Client queued = await Client.ConnectAsync(endPoint);
        ReactorGroup group = await StartAsync();
        await Assert.ThrowsAsync<EngineException>(() => Task.Run(() => group.ListenAsync(endPoint, Handlers.EchoAsync)).Within());
    }

    [Theory]
    [InlineData("regular")]
    [InlineData("link")]
    public async Task A_file_that_is_no_socket_is_left_alone(string kind)
    {
        using var folder = new TemporaryFolder();
        string path = folder.File("precious", [1, 2, 3]);
        if (kind == "link")
        {
            path = File.CreateSymbolicLink(folder.File("link"), path).FullName;
        }

        ReactorGroup group = await StartAsync();
        await Assert.ThrowsAsync<EngineException>(() => group.ListenAsync(new UnixDomainSocketEndPoint(path), Handlers.EchoAsync).Within());
        Assert.Equal([1, 2, 3], await File.ReadAllBytesAsync(path));
    }

    [Fact]
    public async Task A_listener_that_stops_serves_whom_the_kernel_has_queued()
    {
        Listener listener = await ServeAsync(Handlers.EchoAsync);
        using HeldReactor held = await HeldReactor.HoldAsync(Reactor);
        var clients = new List<Client>();
        for (int i = 0; i < 20; i++)
        {
            Client client = await ConnectAsync(listener);
            await client.SendAsync($"{i:d3}");
            clients.Add(client);
        }

        Task stop = listener.StopAsync();
        held.Dispose();
        await stop.Within();
        for (int i = 0; i < clients.Count; i++)
        {
            Assert.Equal($"{i:d3}", await clients[i].ReceiveTextAsync(3));
        }

        SocketException refused = await Assert.ThrowsAsync<SocketException>(() => Client.ConnectAsync(listener.EndPoint));
        Assert.Equal(SocketError.ConnectionRefused, refused.SocketErrorCode);
    }

    [Fact]
    public async Task The_socket_options_of_the_listener_are_inherited()
    {
        var noDelay = new TaskCompletionSource<int>();
        Listener listener = await ServeAsync(Handlers.EchoAsync);
        Client client = await ConnectAsync(listener);
        await client.SendAsync("x");
        await client.ReceiveAsync(1);
        foreach (string link in Directory.GetFiles("/proc/self/fd"))
        {
            int fd = int.Parse(Path.GetFileName(link), System.Globalization.CultureInfo.InvariantCulture);
            byte[] address = new byte[16];
            if (SocketCalls.PeerAddress(fd, address) == 16 && PortOf(address) == ((IPEndPoint)client.Socket.LocalEndPoint!).Port)
            {
                byte[] value = new byte[4];
                Assert.Equal(4, SocketCalls.GetOption(fd, SocketOptionNumber.LevelTcp, SocketOptionNumber.NoDelay, value));
                noDelay.SetResult(value[0]);
            }
        }

        Assert.Equal(1, await noDelay.Task.Within());
    }

    private static int PortOf(byte[] address) => (address[2] << 8) | address[3];
}
