using System.Net;
using Millrace.Engine.Datagrams;
using Millrace.Engine.Tests.Kit;
using Millrace.QuicTransport.Tests.Kit;

namespace Millrace.QuicTransport.Tests;

/// <summary>Bytes through listeners and clients over the kernel's sockets.</summary>
public class EchoTests : QuicTransportTest
{
    private const int Megabyte = 1024 * 1024;

    [Theory]
    [InlineData(1, 1)]
    [InlineData(1, 1200)]
    [InlineData(1, 100_000)]
    [InlineData(1, 5 * Megabyte)]
    [InlineData(3, 1)]
    [InlineData(3, 100_000)]
    public async Task What_a_client_sends_comes_back(int reactors, int length)
    {
        QuicListener listener = await ListenAsync(reactors);
        TestClient client = await ConnectAsync(listener);
        await client.EchoAsync(length).Within();
        await client.CloseAsync();
        Assert.Equal(1, Sum(listener, static counters => counters.Handshakes));
        await Waiting.UntilAsync(() => Sum(listener, static counters => counters.Connections) == 0, "the connection has ended");
    }

    [Fact]
    public async Task Many_streams_of_many_connections_are_served_by_all_reactors()
    {
        const int Clients = 40;
        QuicListener listener = await ListenAsync(reactors: 3);
        TestClient[] clients = new TestClient[Clients];
        for (int i = 0; i < Clients; i++)
        {
            clients[i] = await ConnectAsync(listener, Group.Reactors[i % 3]);
        }

        await Task.WhenAll(clients.SelectMany(static client => Enumerable.Range(0, 150).Select(i => client.EchoAsync(i * 10)))).Within();
        Assert.Equal(Clients, Sum(listener, static counters => counters.Connections));
        Assert.All(listener.Counters, static counters => Assert.InRange(counters.Connections, 1, Clients));
        Assert.Equal(0, Sum(listener, static counters => counters.HandedOver));
        await Task.WhenAll(clients.Select(static client => client.CloseAsync()));
        await Waiting.UntilAsync(() => Sum(listener, static counters => counters.Connections) == 0, "all connections have ended");
    }

    [Fact]
    public async Task Datagrams_that_the_kernel_gives_to_any_reactor_reach_the_right_one()
    {
        QuicListener listener = await ListenAsync(reactors: 3, sockets: new DatagramSettings { IsSteered = false });
        TestClient[] clients = new TestClient[12];
        for (int i = 0; i < clients.Length; i++)
        {
            clients[i] = await ConnectAsync(listener);
        }

        await Task.WhenAll(clients.Select(static client => client.EchoAsync(200_000))).Within();
        Assert.InRange(Sum(listener, static counters => counters.HandedOver), 1, long.MaxValue);
    }

    [Theory]
    [InlineData("127.0.0.1", "127.0.0.1")]
    [InlineData("::1", "::1")]
    [InlineData("0.0.0.0", "127.0.0.1")]
    [InlineData("0.0.0.0", "127.0.0.2")]
    [InlineData("::", "::1")]
    [InlineData("::", "127.0.0.2")]
    public async Task A_listener_of_any_address_answers_from_the_one_that_the_client_has_asked(string bound, string address)
    {
        QuicListener listener = await ListenAsync(endPoint: new IPEndPoint(IPAddress.Parse(bound), 0));
        TestClient client = await ConnectAsync(new IPEndPoint(IPAddress.Parse(address), listener.LocalEndPoint.Port));
        await client.EchoAsync(50_000).Within();
    }

    [Fact]
    public async Task The_addresses_of_a_connection_are_those_of_both_ends()
    {
        IPEndPoint? remote = null;
        IPEndPoint? local = null;
        QuicListener listener = await ListenAsync(createHandler: connection =>
        {
            (remote, local) = (connection.RemoteEndPoint, connection.LocalEndPoint);
            Assert.Same(remote, connection.RemoteEndPoint);
            return new EchoHandler(connection);
        });
        TestClient client = await ConnectAsync(listener);
        await client.EchoAsync(1).Within();
        Assert.Equal(listener.LocalEndPoint, local);
        Assert.Equal(IPAddress.Loopback, remote!.Address);
        Assert.NotEqual(0, remote.Port);
    }
}
