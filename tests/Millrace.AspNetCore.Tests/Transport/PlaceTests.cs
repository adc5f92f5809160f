using System.Net;
using Microsoft.Extensions.Logging.Abstractions;
using Millrace.AspNetCore.Tests.Transport.Kit;
using Millrace.AspNetCore.Transport;
using Millrace.AspNetCore.Transport.Connections;
using Millrace.AspNetCore.Transport.Scheduling;
using Millrace.Engine;
using Millrace.Tls.Handshakes;

namespace Millrace.AspNetCore.Tests.Transport;

/// <summary>Where connections are counted, each is for as long as it is, whoever ends it.</summary>
public class PlaceTests
{
    [Fact]
    public Task Who_comes_when_its_listener_has_stopped_gives_its_place_back() => AssertIsReturnedOnceAsync(static connection =>
    {
        connection.Refuse();
        return Task.CompletedTask;
    });

    [Fact]
    public Task Who_is_disposed_of_twice_gives_back_one_place() => AssertIsReturnedOnceAsync(static async connection =>
    {
        await connection.DisposeAsync();
        await connection.DisposeAsync();
    });

    private static async Task AssertIsReturnedOnceAsync(Func<TransportConnection, Task> end)
    {
        var places = new ConnectionQuota(2);
        var settings = new EndPointSettings(
            Backlog: 16, NoDelay: true, 0, 0, TransportScheduling.Inline, UsesSynchronizationContext: false, FinOnError: false, Quota: places);
        await using ReactorGroup group = await ReactorGroup.StartAsync(new EngineOptions { Reactors = 1 });
        using var pool = new ReactorMemoryPool(group.Reactors[0], KestrelPools.Factory.Create());
        var pipes = new ConnectionPipes(group.Reactors[0], pool, settings);
        var accepted = new TaskCompletionSource<TransportConnection>(TaskCreationOptions.RunContinuationsAsynchronously);
        Listener listener = await group.ListenAsync(new IPEndPoint(IPAddress.Loopback, 0), engines =>
        {
            var connection = new TransportConnection(engines, pipes, settings, new TransportLog(NullLogger.Instance));
            Task serving = connection.Serve();
            accepted.SetResult(connection);
            return serving;
        });
        using Peer peer = await Peer.ConnectAsync(listener.EndPoint);
        TransportConnection connection = await accepted.Task.Within();
        Assert.True(places.TryTake());
        Assert.False(places.TryTake());

        await end(connection).Within();

        Assert.True(places.TryTake());
        Assert.False(places.TryTake());
    }
}
