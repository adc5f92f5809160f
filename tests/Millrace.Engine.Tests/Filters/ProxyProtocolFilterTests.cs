using System.Net;
using System.Net.Sockets;
using System.Text;
using Millrace.Engine.Filters;
using Millrace.Engine.Listening;
using Millrace.Engine.Tests.Wire.Kit;

namespace Millrace.Engine.Tests.Filters;

/// <summary>Connections that come by a proxy, over real sockets.</summary>
public class ProxyProtocolFilterTests : EngineTest
{
    private const string Line = "PROXY TCP4 192.0.2.1 198.51.100.1 56324 443\r\n";

    private static readonly ProxyPolicy Trusting = new([IPNetwork.Parse("127.0.0.0/8")]);

    [Theory]
    [InlineData(1)]
    [InlineData(7)]
    [InlineData(1000)]
    public async Task The_handler_sees_the_client_and_its_bytes_only(int pieceBytes)
    {
        EndPoint? remote = null;
        EndPoint? local = null;
        TestServer server = await ServeBehindProxy(Trusting, connection =>
        {
            (remote, local) = (connection.RemoteEndPoint, connection.LocalEndPoint);
            return Handlers.Echo(connection);
        });
        TestClient client = await server.Connect();
        byte[] body = Pattern.Bytes(1, 5_000);
        Task<byte[]> response = client.Receive(body.Length);

        foreach (byte[] piece in Encoding.ASCII.GetBytes(Line).Concat(body).Chunk(pieceBytes))
        {
            await client.Send(piece);
        }

        Assert.Equal(body, await response);
        Assert.Equal(IPEndPoint.Parse("192.0.2.1:56324"), remote);
        Assert.Equal(IPEndPoint.Parse("198.51.100.1:443"), local);
    }

    [Fact]
    public async Task A_handler_that_speaks_first_speaks_once_the_preface_is_there()
    {
        TestServer server = await ServeBehindProxy(Trusting, static connection =>
        {
            connection.Write("hello"u8);
            return Task.CompletedTask;
        });
        TestClient client = await server.Connect();
        await client.Send(Encoding.ASCII.GetBytes(Line));
        Assert.Equal("hello"u8.ToArray(), await client.ReceiveToEnd());
    }

    [Fact]
    public async Task A_proxy_s_own_connection_keeps_its_addresses()
    {
        EndPoint? remote = null;
        TestServer server = await ServeBehindProxy(Trusting, connection =>
        {
            remote = connection.RemoteEndPoint;
            return Handlers.Echo(connection);
        });
        TestClient client = await server.Connect();
        await client.Send(Encoding.ASCII.GetBytes("PROXY UNKNOWN\r\n"));
        Assert.Equal([1, 2], await client.Exchange([1, 2]));
        Assert.Equal(client.Socket.LocalEndPoint, remote);
    }

    [Fact]
    public async Task The_filters_behind_it_see_nothing_of_it()
    {
        TestServer server = await ServeBehindProxy(Trusting, Handlers.Echo, static _ => [new XorFilter()]);
        TestClient client = await server.Connect();
        await client.Send(Encoding.ASCII.GetBytes(Line));
        byte[] bytes = Pattern.Bytes(2, 100_000);
        Assert.Equal(bytes, await client.Exchange(bytes));
    }

    [Theory]
    [InlineData("GET / HTTP/1.1\r\n\r\n")]
    [InlineData("PROXY TCP4 nobody 198.51.100.1 1 2\r\n")]
    public async Task What_begins_with_no_preface_is_ended_and_counted(string request)
    {
        var gate = new ProxyPolicy([IPNetwork.Parse("127.0.0.0/8")]);
        bool isServed = false;
        TestServer server = await ServeBehindProxy(gate, connection =>
        {
            isServed = true;
            return Handlers.Echo(connection);
        });

        await server.ExpectReset(Encoding.ASCII.GetBytes(request));

        await server.Emptied();
        Assert.False(isServed);
        Assert.Equal(1, gate.Refused);
        Assert.Contains("PROXY header is missing or malformed", Assert.Single(Log.Of(303)).Text, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_preface_of_somebody_who_is_not_trusted_is_not_believed()
    {
        var gate = new ProxyPolicy([IPNetwork.Parse("10.0.0.0/8")]);
        TestServer server = await ServeBehindProxy(gate, Handlers.Echo);

        await server.ExpectReset(Encoding.ASCII.GetBytes(Line));

        await server.Emptied();
        Assert.Equal(1, gate.Refused);
        Assert.Contains("not a trusted proxy", Assert.Single(Log.Of(303)).Text, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_preface_that_does_not_come_is_waited_for_only_so_long()
    {
        var gate = new ProxyPolicy([IPNetwork.Parse("127.0.0.0/8")], prefaceMs: 150);
        TestServer server = await ServeBehindProxy(gate, Handlers.Echo);
        await server.ExpectReset(Encoding.ASCII.GetBytes("PROXY TCP4 192."));
        Assert.Equal(1, gate.Refused);
    }

    [Fact]
    public async Task Who_only_looks_whether_somebody_listens_is_no_news()
    {
        var gate = new ProxyPolicy([IPNetwork.Parse("127.0.0.0/8")]);
        TestServer server = await ServeBehindProxy(gate, Handlers.Echo);
        TestClient client = await server.Connect();
        client.Finish();
        Assert.Empty(await client.ReceiveToEnd());
        client.Dispose();
        await server.Emptied();
        Assert.Equal(0, gate.Refused);
        Assert.Empty(Log.Of(301));
    }

    [Fact]
    public async Task Connections_are_counted_for_the_client_and_not_for_the_proxy()
    {
        EngineOptions options = Options with { Limits = new Limits { ConnectionsPerClient = 1 } };
        TestServer server = await ServeBehindProxy(Trusting, Handlers.Echo, options: options, refusal: static connection =>
        {
            connection.Write("no"u8);
            return Task.CompletedTask;
        });
        TestClient one = await server.Connect();
        TestClient other = await server.Connect();
        await one.Send(Encoding.ASCII.GetBytes(Line));
        await other.Send(Encoding.ASCII.GetBytes(Line.Replace("192.0.2.1", "192.0.2.2", StringComparison.Ordinal)));
        Assert.Equal([1], await one.Exchange([1]));
        Assert.Equal([1], await other.Exchange([1]));

        TestClient again = await server.Connect();
        await again.Send(Encoding.ASCII.GetBytes(Line));
        Assert.Equal("no"u8.ToArray(), await again.ReceiveToEnd());
        again.Dispose();
        one.Dispose();
        await Eventually(() => server.Connections == 1);
        TestClient later = await server.Connect();
        await later.Send(Encoding.ASCII.GetBytes(Line));
        Assert.Equal([1], await later.Exchange([1]));
    }

    [Fact]
    public async Task A_unix_socket_has_the_mode_it_is_told_and_who_comes_by_it_is_believed()
    {
        string path = Path.Combine(Path.GetTempPath(), $"millrace-proxy-{Guid.NewGuid():N}.sock");
        EndPoint? remote = null;
        ReactorGroup group = await Start();
        Listener listener = await group.ListenAsync(
            new UnixDomainSocketEndPoint(path),
            connection =>
            {
                remote = connection.RemoteEndPoint;
                return Handlers.Echo(connection);
            },
            filters: null,
            settings: SettingsWith(new ProxyPolicy([])) with { SocketMode = UnixFileMode.UserRead | UnixFileMode.UserWrite });
#pragma warning disable CA1416 // The engine is Linux's.
        Assert.Equal(UnixFileMode.UserRead | UnixFileMode.UserWrite, File.GetUnixFileMode(path));
#pragma warning restore CA1416
        TestClient client = await Connect(listener.EndPoint);
        await client.Send(Encoding.ASCII.GetBytes(Line));
        Assert.Equal([1], await client.Exchange([1]));
        Assert.Equal(IPEndPoint.Parse("192.0.2.1:56324"), remote);
        client.Dispose();
        await listener.StopAsync();
        Assert.False(File.Exists(path));
    }

    private static ListenSettings SettingsWith(ProxyPolicy gate) => ListenSettings.Of(new Limits()) with { Proxies = gate };

    private async Task<TestServer> ServeBehindProxy(
        ProxyPolicy gate,
        ConnectionHandler handler,
        Func<Connection, IReadOnlyList<ConnectionFilter>>? filters = null,
        EngineOptions? options = null,
        ConnectionHandler? refusal = null)
    {
        ReactorGroup group = await Start(options);
        Listener listener = await group.ListenAsync(Loopback, handler, filters, refusal, SettingsWith(gate));
        return new TestServer(this, group, listener);
    }
}
