using System.Net;
using Microsoft.Extensions.Logging.Abstractions;
using Millrace.AspNetCore.Tests.Transport.Kit;
using Millrace.AspNetCore.Transport;
using Millrace.AspNetCore.Transport.Connections;
using Millrace.AspNetCore.Transport.Scheduling;
using Millrace.Engine;
using Millrace.Tls.Handshakes;

namespace Millrace.AspNetCore.Tests.Transport;

/// <summary>A connection takes a slot of the quota for as long as it exists, however it ends.</summary>
public class ConnectionQuotaTests
{
    [Fact]
    public Task A_connection_that_its_stopped_listener_refuses_returns_its_slot() => AssertIsReturnedOnceAsync(static connection =>
    {
        connection.Refuse();
        return Task.CompletedTask;
    });

    [Fact]
    public Task A_connection_that_is_disposed_of_twice_returns_one_slot() => AssertIsReturnedOnceAsync(static async connection =>
    {
        await connection.DisposeAsync();
        await connection.DisposeAsync();
    });

    private static async Task AssertIsReturnedOnceAsync(Func<TransportConnection, Task> end)
    {
        var quota = new ConnectionQuota(2);
        var settings = new EndPointSettings(new MillraceEndPointOptions(), Quota: quota);
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
        Assert.True(quota.TryTake());
        Assert.False(quota.TryTake());

        await end(connection).Within();

        Assert.True(quota.TryTake());
        Assert.False(quota.TryTake());
    }
}
