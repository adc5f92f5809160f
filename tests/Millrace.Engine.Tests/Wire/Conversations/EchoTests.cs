using System.Net;
using System.Net.Sockets;
using Millrace.Engine.Tests.Wire.Kit;

namespace Millrace.Engine.Tests.Wire.Conversations;

public class EchoTests : EngineTest
{
    [Theory]
    [InlineData("127.0.0.1")]
    [InlineData("::1")]
    [InlineData("::")]
    [InlineData("0.0.0.0")]
    public async Task Every_kind_of_ip_listener_serves_its_loopback_address(string address)
    {
        TestServer server = await Serve(Handlers.Echo, endPoint: new IPEndPoint(IPAddress.Parse(address), 0));
        var bound = Assert.IsType<IPEndPoint>(server.EndPoint);
        Assert.NotEqual(0, bound.Port);

        IPAddress loopback = bound.AddressFamily == AddressFamily.InterNetworkV6 ? IPAddress.IPv6Loopback : IPAddress.Loopback;
        TestClient client = await Connect(new IPEndPoint(loopback, bound.Port));
        Assert.Equal("Hello."u8.ToArray(), await client.Exchange("Hello."u8.ToArray()));
    }

    [Fact]
    public async Task The_ipv6_any_address_takes_ipv4_peers_as_well()
    {
        TestServer server = await Serve(Handlers.Echo, endPoint: new IPEndPoint(IPAddress.IPv6Any, 0));
        TestClient client = await Connect(new IPEndPoint(IPAddress.Loopback, ((IPEndPoint)server.EndPoint).Port));
        Assert.Equal("Hello."u8.ToArray(), await client.Exchange("Hello."u8.ToArray()));
    }

    [Fact]
    public async Task A_single_ipv6_address_takes_no_ipv4_peers()
    {
        // Held, and not listened on: a port that is free in one family may be another test's listener in the other.
        using var held = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        held.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        var ipv4 = (IPEndPoint)held.LocalEndPoint!;
        await Serve(Handlers.Echo, endPoint: new IPEndPoint(IPAddress.IPv6Loopback, ipv4.Port));

        SocketException error = await Assert.ThrowsAsync<SocketException>(() => Connect(ipv4));
        Assert.Equal(SocketError.ConnectionRefused, error.SocketErrorCode);
    }

    [Fact]
    public async Task A_unix_socket_is_served()
    {
        using var folder = new TempFolder();
        TestServer server = await Serve(Handlers.Echo, endPoint: new UnixDomainSocketEndPoint(folder.File("socket")));
        TestClient client = await server.Connect();
        Assert.Equal("Hello."u8.ToArray(), await client.Exchange("Hello."u8.ToArray()));
    }

    [Fact]
    public async Task Bytes_that_come_one_by_one_come_back_in_order()
    {
        TestServer server = await Serve(Handlers.Echo);
        TestClient client = await server.Connect();
        byte[] bytes = Pattern.Bytes(1, 500);
        foreach (byte one in bytes)
        {
            Assert.Equal([one], await client.Exchange([one]));
        }
    }

    [Fact]
    public async Task A_message_in_fragments_is_contiguous_for_the_handler()
    {
        const int MessageBytes = 10_000;
        TestServer server = await Serve(async connection =>
        {
            while (connection.Input.Length < MessageBytes)
            {
                if (await connection.ReadAsync() != ReadOutcome.Data)
                {
                    return;
                }
            }

            Pattern.Check(connection.Input, stream: 7);
            connection.Write(connection.Input);
            await connection.FlushAsync();
        });
        TestClient client = await server.Connect();
        byte[] message = Pattern.Bytes(7, MessageBytes);
        for (int start = 0, size = 1; start < message.Length; start += size, size = (size * 3) % 1_009)
        {
            size = Math.Min(size, message.Length - start);
            await client.Send(message.AsMemory(start, size));
            await Task.Yield();
        }

        Assert.Equal(message, await client.ReceiveToEnd());
        Assert.Empty(Log.Failures);
    }

    [Fact]
    public async Task Pipelined_requests_are_answered_in_order()
    {
        TestServer server = await Serve(Handlers.Response);
        TestClient client = await server.Connect();
        byte[] requests = [.. Enumerable.Range(0, 1_000).SelectMany(i => Handlers.Request(i, i % 97))];
        Task send = client.Send(requests);
        for (int i = 0; i < 1_000; i++)
        {
            Pattern.Check(await client.Receive(i % 97), i);
        }

        await send;
    }

    [Fact]
    public async Task A_thousand_connections_are_served_at_once()
    {
        TestServer server = await Serve(Handlers.Echo, Options with { Reactors = 2 });
        TestClient[] clients = await Task.WhenAll(Enumerable.Range(0, 1_000).Select(_ => server.Connect()));
        for (int round = 0; round < 3; round++)
        {
            await Task.WhenAll(clients.Select(async (client, i) =>
                Pattern.Check(await client.Exchange(Pattern.Bytes(i, 700 + i)), i)));
        }

        Assert.Equal(1_000, server.Connections);
    }

    [Fact]
    public async Task Thousands_of_short_connections_leave_nothing_behind()
    {
        TestServer server = await Serve(Handlers.Echo);
        await Parallel.ForAsync(0, 4_000, new ParallelOptions { MaxDegreeOfParallelism = 32 }, async (i, stop) =>
        {
            using TestClient client = new(AddressFamily.InterNetwork);
            await client.Socket.ConnectAsync(server.EndPoint, stop);
            Pattern.Check(await client.Exchange(Pattern.Bytes(i, 100)), i);
            if (i % 3 == 0)
            {
                client.Reset();
            }
            else if (i % 3 == 1)
            {
                client.Finish();
                Assert.Empty(await client.ReceiveToEnd());
            }
        });
        await server.Emptied();
        Assert.Empty(Log.Failures);
    }
}
