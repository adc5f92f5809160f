using System.Net;
using System.Net.Sockets;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Http;
using Millrace.AspNetCore.Tests.Kit;
using Millrace.Tests.Shared;

namespace Millrace.AspNetCore.Tests.Contract;

/// <summary>What can be listened on, and what is said of it.</summary>
public class EndPointTests
{
    private static Task ResponseLocal(HttpContext context) =>
        context.Response.WriteAsync($"{context.Connection.LocalIpAddress} {context.Connection.RemoteIpAddress}");

    [Theory, EachTransport]
    public async Task The_port_that_was_found_is_reported(TransportKind transport)
    {
        await using RunningApplication application = await RunningApplication.StartAsync(
            transport,
            ResponseLocal,
            endpoints: static kestrel =>
            {
                kestrel.Listen(IPAddress.Loopback, 0);
                kestrel.Listen(IPAddress.Loopback, 0);
            });

        Assert.Equal(2, application.Addresses.Distinct().Count());
        foreach (string address in application.Addresses)
        {
            Assert.NotEqual(0, new Uri(address).Port);
            using HttpClient client = application.NewClient();
            Assert.Equal("127.0.0.1 127.0.0.1", await client.GetStringAsync(address));
        }
    }

    [Theory, EachTransport]
    public async Task An_address_in_use_is_an_io_exception(TransportKind transport)
    {
        await using RunningApplication first = await RunningApplication.StartAsync(transport, ResponseLocal);

        IOException error = await Assert.ThrowsAsync<IOException>(() => RunningApplication.StartAsync(
            transport, ResponseLocal, endpoints: kestrel => kestrel.Listen(IPAddress.Loopback, first.Url.Port)));

        Assert.IsType<AddressInUseException>(error.InnerException);
        Assert.Contains("address already in use", error.Message, StringComparison.Ordinal);
        using HttpClient client = first.NewClient();
        Assert.Equal("127.0.0.1 127.0.0.1", await client.GetStringAsync("/"));
    }

    [Theory, EachTransport]
    public async Task A_second_address_in_use_is_what_a_start_fails_with(TransportKind transport)
    {
        await using RunningApplication first = await RunningApplication.StartAsync(transport, ResponseLocal);
        var bound = new IPEndPoint(IPAddress.Loopback, FreePort.Find());

        IOException error = await Assert.ThrowsAsync<IOException>(() => RunningApplication.StartAsync(
            transport,
            ResponseLocal,
            endpoints: kestrel =>
            {
                kestrel.Listen(bound);
                kestrel.Listen(IPAddress.Loopback, first.Url.Port);
            }));

        Assert.IsType<AddressInUseException>(error.InnerException);
        await Ports.RefusedAsync(bound);
    }

    [Theory, EachTransport]
    public async Task An_address_that_a_stranger_listens_on_is_in_use(TransportKind transport)
    {
        using var stranger = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        stranger.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        stranger.Listen();

        IOException error = await Assert.ThrowsAsync<IOException>(() => RunningApplication.StartAsync(
            transport, ResponseLocal, endpoints: kestrel => kestrel.Listen((IPEndPoint)stranger.LocalEndPoint!)));

        Assert.IsType<AddressInUseException>(error.InnerException);
    }

    [Theory, EachTransport]
    public async Task An_address_that_is_not_of_this_machine_is_refused_with_its_reason(TransportKind transport)
    {
        // 192.0.2.0/24 is for documentation (RFC 5737): nobody has it.
        SocketException error = await Assert.ThrowsAnyAsync<SocketException>(() => RunningApplication.StartAsync(
            transport, ResponseLocal, endpoints: static kestrel => kestrel.Listen(IPAddress.Parse("192.0.2.1"), 0)));

        Assert.Equal(SocketError.AddressNotAvailable, error.SocketErrorCode);
    }

    [Theory, EachTransport]
    public async Task Localhost_is_both_loopbacks(TransportKind transport)
    {
        // Localhost takes no port 0: Kestrel wants the same one of both families.
        int port = FreePort.Find();
        await using RunningApplication application = await RunningApplication.StartAsync(
            transport, ResponseLocal, endpoints: kestrel => kestrel.ListenLocalhost(port));

        Assert.Equal([$"http://localhost:{port}"], application.Addresses);
        foreach (IPAddress address in (IPAddress[])[IPAddress.Loopback, IPAddress.IPv6Loopback])
        {
            using RawClient client = await RawClient.ConnectAsync(new IPEndPoint(address, port));
            Assert.Equal($"{address} {address}", (await client.GetAsync()).Body);
        }
    }

    [Theory, EachTransport]
    public async Task Any_ip_is_reached_by_both_families(TransportKind transport)
    {
        await using RunningApplication application = await RunningApplication.StartAsync(
            transport, ResponseLocal, endpoints: static kestrel => kestrel.ListenAnyIP(0));

        foreach ((IPAddress address, string seen) in ((IPAddress, string)[])
            [(IPAddress.Loopback, "::ffff:127.0.0.1"), (IPAddress.IPv6Loopback, "::1")])
        {
            using RawClient client = await RawClient.ConnectAsync(new IPEndPoint(address, application.Url.Port));
            Assert.Equal($"{seen} {seen}", (await client.GetAsync()).Body);
        }
    }

    [Theory, EachTransport]
    public async Task An_address_that_was_not_asked_for_is_not_listened_on(TransportKind transport)
    {
        await using RunningApplication application = await RunningApplication.StartAsync(transport, ResponseLocal);

        SocketException error = await Assert.ThrowsAsync<SocketException>(
            () => RawClient.ConnectAsync(new IPEndPoint(IPAddress.Parse("127.0.0.2"), application.Url.Port)));

        Assert.Equal(SocketError.ConnectionRefused, error.SocketErrorCode);
    }

    [Theory, EachTransport]
    public async Task A_unix_socket_is_served_and_its_file_goes_with_it(TransportKind transport)
    {
        DirectoryInfo folder = Directory.CreateTempSubdirectory("millrace-unix-");
        string path = Path.Combine(folder.FullName, "site.sock");
        await using (RunningApplication application = await RunningApplication.StartAsync(
            transport, static context => context.Response.WriteAsync(context.Request.Path), endpoints: kestrel => kestrel.ListenUnixSocket(path)))
        {
            Assert.Equal([$"http://unix:{path}"], application.Addresses);
            using var handler = new SocketsHttpHandler
            {
                ConnectCallback = async (_, _) => new NetworkStream(
                    (await RawClient.ConnectAsync(new UnixDomainSocketEndPoint(path))).Socket, ownsSocket: true),
            };
            using var client = new HttpClient(handler);
            string[] bodies = await Task.WhenAll(Enumerable.Range(0, 20).Select(i => client.GetStringAsync($"http://mill/{i}"))).Within();
            Assert.Equal(Enumerable.Range(0, 20).Select(static i => $"/{i}"), bodies);
        }

        Assert.False(File.Exists(path), "The file is still there.");
        folder.Delete(recursive: true);
    }

    [Theory, EachTransport]
    public async Task A_unix_socket_in_use_is_an_io_exception(TransportKind transport)
    {
        DirectoryInfo folder = Directory.CreateTempSubdirectory("millrace-unix-");
        string path = Path.Combine(folder.FullName, "site.sock");
        await using (RunningApplication application = await RunningApplication.StartAsync(
            transport, ResponseLocal, endpoints: kestrel => kestrel.ListenUnixSocket(path)))
        {
            IOException error = await Assert.ThrowsAsync<IOException>(() => RunningApplication.StartAsync(
                transport, ResponseLocal, endpoints: kestrel => kestrel.ListenUnixSocket(path)));
            Assert.IsType<AddressInUseException>(error.InnerException);

            using RawClient client = await RawClient.ConnectAsync(new UnixDomainSocketEndPoint(path));
            Assert.Equal(200, (await client.GetAsync()).Status);
        }

        folder.Delete(recursive: true);
    }

    [Theory, EachTransport]
    public async Task A_bound_handle_is_listened_on_and_stays_its_owners(TransportKind transport)
    {
        // As systemd hands it over: bound by somebody else, who keeps it for the next one.
        using var owned = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        owned.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        await using (RunningApplication application = await RunningApplication.StartAsync(
            transport, ResponseLocal, endpoints: kestrel => kestrel.ListenHandle((ulong)owned.Handle)))
        {
            for (int i = 0; i < 20; i++)
            {
                using RawClient client = await RawClient.ConnectAsync(owned.LocalEndPoint!);
                Assert.Equal("127.0.0.1 127.0.0.1", (await client.GetAsync()).Body);
            }
        }

        // Still a socket, still bound: the descriptor was not closed with the server.
        Assert.NotNull(owned.LocalEndPoint);
        Assert.Equal(0, owned.GetSocketOption(SocketOptionLevel.Socket, SocketOptionName.Error));
    }

    [Theory, EachTransport]
    public async Task Endpoints_of_all_kinds_are_served_by_one_application(TransportKind transport)
    {
        DirectoryInfo folder = Directory.CreateTempSubdirectory("millrace-unix-");
        string path = Path.Combine(folder.FullName, "site.sock");
        await using (RunningApplication application = await RunningApplication.StartAsync(
            transport,
            static context => context.Response.WriteAsync("answer"),
            endpoints: kestrel =>
            {
                kestrel.Listen(IPAddress.Loopback, 0);
                kestrel.Listen(IPAddress.IPv6Loopback, 0);
                kestrel.ListenUnixSocket(path);
            }))
        {
            EndPoint[] endPoints =
            [
                new IPEndPoint(IPAddress.Loopback, new Uri(application.Addresses[0]).Port),
                new IPEndPoint(IPAddress.IPv6Loopback, new Uri(application.Addresses[1]).Port),
                new UnixDomainSocketEndPoint(path),
            ];
            foreach (EndPoint endPoint in endPoints)
            {
                using RawClient client = await RawClient.ConnectAsync(endPoint);
                Assert.Equal("answer", (await client.GetAsync()).Body);
            }
        }

        folder.Delete(recursive: true);
    }
}
