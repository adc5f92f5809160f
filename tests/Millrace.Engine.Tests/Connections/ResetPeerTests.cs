using System.Net;
using System.Text;
using Millrace.Engine.Filters;
using Millrace.Engine.Listening;
using Millrace.Engine.Tests.Kit;
using Millrace.Tests.Shared;

namespace Millrace.Engine.Tests.Connections;

/// <summary>Who sends and resets at once, before the reactor has come to accept: what was sent is received, and it has a sender.</summary>
public class ResetPeerTests : EngineTest
{
    [Theory]
    [InlineData("127.0.0.1", "127.0.0.1")]
    [InlineData("::1", "::1")]
    [InlineData("::", "127.0.0.1")]
    public async Task Both_addresses_are_known_still(string listensOn, string comesTo)
    {
        var seen = NewSource<(IPEndPoint?, IPEndPoint?, EndPoint?, string)>();
        Listener listener = await ServeAsync(
            async connection =>
            {
                (EndPoint? remote, EndPoint? local) = (connection.RemoteEndPoint, connection.LocalEndPoint);
                EndPoint? kept = connection.KeepRemoteEndPoint();
                await connection.ReadAsync();
                seen.SetResult((remote as IPEndPoint, local as IPEndPoint, kept, Encoding.ASCII.GetString(connection.Input)));
            },
            endPoint: new IPEndPoint(IPAddress.Parse(listensOn), 0));
        var address = new IPEndPoint(IPAddress.Parse(comesTo), ((IPEndPoint)listener.EndPoint).Port);
        EndPoint client;
        using (await HeldReactor.HoldAsync(Reactor))
        {
            client = await SendAndResetAsync(address, "last words");
        }

        (IPEndPoint? remote, IPEndPoint? local, EndPoint? kept, string words) = await seen.Task.Within();
        Assert.Equal(client, SocketEndPoint.Unmapped(remote));
        Assert.Equal(client, kept);
        Assert.Equal(address, SocketEndPoint.Unmapped(local));
        Assert.Equal("last words", words);
    }

    [Fact]
    public async Task It_counts_for_the_limit_of_its_client()
    {
        var handlerMayReturn = NewSource<bool>();
        int served = 0;
        Listener listener = await ServeAsync(
            connection =>
            {
                served++;
                return handlerMayReturn.Task;
            },
            Options(new Limits { ConnectionsPerClient = 1 }));
        using (await HeldReactor.HoldAsync(Reactor))
        {
            await SendAndResetAsync(listener.EndPoint, "last words");
            await SendAndResetAsync(listener.EndPoint, "more last words");
        }

        await Waiting.UntilAsync(() => Volatile.Read(ref Reactor.Counters.Accepted) == 2, "both were accepted");
        Assert.Equal((1, 1L), await Reactor.AskAsync(() => (served, Reactor.Counters.Shed)));
        handlerMayReturn.SetResult(true);
    }

    [Fact]
    public async Task A_proxy_is_believed_still()
    {
        var seen = NewSource<EndPoint?>();
        var gate = new ProxyPolicy([IPNetwork.Parse("127.0.0.0/8")]);
        ReactorGroup group = await StartAsync();
        Listener listener = await group.ListenAsync(
            new IPEndPoint(IPAddress.Loopback, 0),
            connection =>
            {
                seen.SetResult(connection.RemoteEndPoint);
                return Task.CompletedTask;
            },
            filters: null,
            refusal: null,
            ListenSettings.Of(new Limits()) with { Proxies = gate }).Within();
        using (await HeldReactor.HoldAsync(Reactor))
        {
            await SendAndResetAsync(listener.EndPoint, "PROXY TCP4 192.0.2.1 198.51.100.1 56324 443\r\nlast words");
        }

        Assert.Equal(IPEndPoint.Parse("192.0.2.1:56324"), await seen.Task.Within());
        Assert.Equal(0, gate.Refused);
    }

    private static TaskCompletionSource<T> NewSource<T>() => new(TaskCreationOptions.RunContinuationsAsynchronously);

    private static async Task<EndPoint> SendAndResetAsync(EndPoint endPoint, string words)
    {
        using Client client = await Client.ConnectAsync(endPoint);
        EndPoint own = client.Socket.LocalEndPoint!;
        await client.SendAsync(words);
        // Over the loopback it is there when this returns.
        client.Reset();
        return own;
    }
}
