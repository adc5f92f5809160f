using System.Net;
using System.Net.Sockets;
using Millrace.Engine.Tests.Kit;

namespace Millrace.Engine.Tests.Connections;

/// <summary>Bytes there and back over every kind of socket and in every kind of piece.</summary>
public class EchoTests : EngineTest
{
    [Fact]
    public async Task Bytes_come_back_over_ipv4()
    {
        Listener listener = await ServeAsync(Handlers.EchoAsync);
        Client client = await ConnectAsync(listener);
        await client.SendAsync("hello");
        Assert.Equal("hello", await client.ReceiveTextAsync(5));
    }

    [Fact]
    public async Task Bytes_come_back_over_ipv6()
    {
        Listener listener = await ServeAsync(Handlers.EchoAsync, endPoint: new IPEndPoint(IPAddress.IPv6Loopback, 0));
        Client client = await ConnectAsync(listener);
        await client.SendAsync("hello");
        Assert.Equal("hello", await client.ReceiveTextAsync(5));
    }

    [Fact]
    public async Task The_ipv6_wildcard_takes_ipv4_too()
    {
        EndPoint? remote = null;
        Listener listener = await ServeAsync(
            async connection =>
            {
                remote = connection.RemoteEndPoint;
                await Handlers.EchoAsync(connection);
            },
            endPoint: new IPEndPoint(IPAddress.IPv6Any, 0));
        int port = ((IPEndPoint)listener.EndPoint).Port;
        Client four = Keep(await Client.ConnectAsync(new IPEndPoint(IPAddress.Loopback, port)));
        await four.SendAsync("4");
        Assert.Equal("4", await four.ReceiveTextAsync(1));
        Assert.Equal(((IPEndPoint)four.Socket.LocalEndPoint!).Port, ((IPEndPoint)remote!).Port);
        Assert.Equal(IPAddress.Loopback, ((IPEndPoint)remote).Address.MapToIPv4());

        Client six = Keep(await Client.ConnectAsync(new IPEndPoint(IPAddress.IPv6Loopback, port)));
        await six.SendAsync("6");
        Assert.Equal("6", await six.ReceiveTextAsync(1));
        Assert.Equal(six.Socket.LocalEndPoint, remote);
    }

    [Fact]
    public async Task Bytes_come_back_over_a_unix_socket()
    {
        using var folder = new TemporaryFolder();
        Listener listener = await ServeAsync(Handlers.EchoAsync, endPoint: new UnixDomainSocketEndPoint(folder.File("s")));
        Client client = await ConnectAsync(listener);
        await client.SendAsync("hello");
        Assert.Equal("hello", await client.ReceiveTextAsync(5));
    }

    [Fact]
    public async Task A_request_may_come_byte_by_byte()
    {
        Listener listener = await ServeAsync(Lines);
        Client client = await ConnectAsync(listener);
        foreach (char character in "a slow line\n")
        {
            await client.SendAsync(character.ToString());
        }

        Assert.Equal("a slow line\n", await client.ReceiveTextAsync(12));
    }

    [Fact]
    public async Task Requests_may_be_pipelined_and_cut_anywhere()
    {
        Listener listener = await ServeAsync(Lines, Options() with { ReceiveBufferBytes = 64 });
        Client client = await ConnectAsync(listener);
        string lines = string.Concat(Enumerable.Range(0, 2_000).Select(static i => $"line {i} {new string('x', i % 97)}\n"));
        var random = new Random(7);
        Task<string> receive = client.ReceiveTextAsync(lines.Length);
        for (int at = 0; at < lines.Length;)
        {
            int piece = Math.Min(random.Next(1, 300), lines.Length - at);
            await client.SendAsync(lines.Substring(at, piece));
            at += piece;
        }

        Assert.Equal(lines, await receive);
    }

    [Fact]
    public async Task A_thousand_connections_are_served_at_once()
    {
        Listener listener = await ServeAsync(Handlers.PatternAsync);
        var clients = new List<Client>();
        for (int i = 0; i < 1_000; i++)
        {
            clients.Add(await ConnectAsync(listener));
        }

        await Task.WhenAll(clients.Select(static (client, id) => client.SendAsync(Handlers.PatternRequest(id, 3_000)))).Within();
        byte[][] responses = await Task.WhenAll(clients.Select(static client => client.ReceiveAsync(3_000))).Within();
        for (int id = 0; id < responses.Length; id++)
        {
            Pattern.Check(id, responses[id]);
        }

        Assert.Equal(1_000, await Reactor.AskAsync(() => Reactor.Connections.Count));
    }

    [Fact]
    public async Task Thousands_of_short_connections_leave_nothing_behind()
    {
        Listener listener = await ServeAsync(Handlers.PatternAsync);
        await Parallel.ForAsync(0, 3_000, new ParallelOptions { MaxDegreeOfParallelism = 16 }, async (id, _) =>
        {
            using Client client = await Client.ConnectAsync(listener.EndPoint);
            await client.SendAsync(Handlers.PatternRequest(id, 100));
            Pattern.Check(id, await client.ReceiveAsync(100));
        });

        await Waiting.UntilAsync(() => Volatile.Read(ref Reactor.Counters.Accepted) == 3_000, "all were accepted");
        await Waiting.UntilAsync(() => Reactor.Connections.Count == 0, "all slots were returned");
    }

    /// <summary>Echoes whole lines only: the rest stays unconsumed.</summary>
    private static async Task Lines(Connection connection)
    {
        while (await connection.ReadAsync() == ReadOutcome.Data)
        {
            int end;
            while ((end = connection.Input.IndexOf((byte)'\n')) >= 0)
            {
                connection.Write(connection.Input[..(end + 1)]);
                connection.Consume(end + 1);
            }

            connection.Flush();
        }
    }
}
