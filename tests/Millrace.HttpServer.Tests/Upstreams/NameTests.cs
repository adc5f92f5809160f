using System.Net;
using System.Net.Sockets;
using Millrace.HttpServer.Tests.Upstreams.Kit;
using Millrace.HttpServer.Upstreams;

namespace Millrace.HttpServer.Tests.Upstreams;

/// <summary>Targets with names: resolved on the thread pool, again and again.</summary>
public class NameTests : UpstreamFixture
{
    private const string Ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

    private static readonly UpstreamOptions Often = new()
    {
        ResolveInterval = TimeSpan.FromMilliseconds(20),
        ResolveRetry = TimeSpan.FromMilliseconds(20),
    };

    [Fact]
    public async Task Localhost_is_resolved_and_an_address_that_refuses_is_no_failure()
    {
        RawUpstream upstream = NewUpstream();
        await StartAsync([$"http://localhost:{((IPEndPoint)upstream.EndPoint).Port}"]);
        TestSession session = await BeginAsync(TestRequest.Get() with { Host = "" });
        UpstreamWire wire = await upstream.AcceptAsync();
        Assert.Contains($"\r\nHost: localhost:{((IPEndPoint)upstream.EndPoint).Port}\r\n", await wire.ReadHeadAsync());
        await wire.SendAsync(Ok);
        await session.EndedAsync();
        Assert.Equal("ok", session.Body);
    }

    [Fact]
    public async Task An_exchange_waits_for_the_first_answer()
    {
        RawUpstream upstream = NewUpstream();
        var answer = new TaskCompletionSource<IPAddress[]>();
        await StartAsync([TargetOf(upstream)], resolve: (name, _) =>
        {
            Assert.Equal("app.test", name);
            Assert.Null(Engine.Reactor.Current);
            return answer.Task;
        });
        TestSession session = await BeginAsync();
        Assert.Equal(1, Counters.Waiting);
        answer.SetResult([IPAddress.Loopback]);
        UpstreamWire wire = await upstream.AcceptAsync();
        await wire.ReadHeadAsync();
        await wire.SendAsync(Ok);
        await session.EndedAsync();
        Assert.Equal("ok", session.Body);
    }

    [Fact]
    public async Task A_name_without_an_address_is_a_502_until_it_has_one()
    {
        RawUpstream upstream = NewUpstream();
        bool isKnown = false;
        await StartAsync([TargetOf(upstream)], Often, (_, _) => Volatile.Read(ref isKnown)
            ? Task.FromResult<IPAddress[]>([IPAddress.Loopback])
            : Task.FromException<IPAddress[]>(new SocketException((int)SocketError.HostNotFound)));
        TestSession session = await BeginAsync();
        await session.EndedAsync();
        Assert.Equal(502, session.Failure.Status);
        Assert.Contains("app.test cannot be resolved", session.Failure.Reason);
        Volatile.Write(ref isKnown, true);
        await UntilAsync(() => Pool.Group.Peers.Length == 1);
        (session, UpstreamWire wire) = await BeginAsync(upstream);
        await wire.SendAsync(Ok);
        await session.EndedAsync();
        Assert.Equal("ok", session.Body);
    }

    [Fact]
    public async Task A_failure_keeps_the_addresses_and_their_connections()
    {
        RawUpstream upstream = NewUpstream();
        int calls = 0;
        await StartAsync([TargetOf(upstream)], Often, (_, _) => Interlocked.Increment(ref calls) == 1
            ? Task.FromResult<IPAddress[]>([IPAddress.Loopback])
            : Task.FromException<IPAddress[]>(new SocketException((int)SocketError.TryAgain)));
        UpstreamWire wire = await WarmUpAsync(upstream);
        await UntilAsync(() => Volatile.Read(ref calls) > 3);
        TestSession session = await BeginAsync();
        await wire.ReadHeadAsync();
        await wire.SendAsync(Ok);
        await session.EndedAsync();
        Assert.Equal(1, Counters.Connects);
    }

    [Fact]
    public async Task Connections_to_an_address_that_is_gone_are_closed_those_in_use_after_their_exchange()
    {
        RawUpstream upstream = NewUpstream();
        int port = ((IPEndPoint)upstream.EndPoint).Port;
        IPAddress[] addresses = [IPAddress.Loopback];
        await StartAsync([TargetOf(upstream)], Often, (_, _) => Task.FromResult(Volatile.Read(ref addresses)));
        (TestSession busy, UpstreamWire used) = await BeginAsync(upstream);
        UpstreamWire idle = await WarmUpAsync(upstream);
        using var other = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        other.Bind(new IPEndPoint(IPAddress.Parse("127.0.0.2"), port));
        other.Listen();
        Volatile.Write(ref addresses, [IPAddress.Parse("127.0.0.2")]);
        await idle.AssertEndsAsync();
        await used.SendAsync(Ok);
        await busy.EndedAsync();
        Assert.Equal("ok", busy.Body);
        await used.AssertEndsAsync();

        TestSession session = await BeginAsync();
        using var wire = new UpstreamWire(await other.AcceptAsync());
        await wire.ReadHeadAsync();
        await wire.SendAsync(Ok);
        await session.EndedAsync();
        Assert.Equal("ok", session.Body);
    }

    private static string TargetOf(RawUpstream upstream) => $"http://app.test:{((IPEndPoint)upstream.EndPoint).Port}";
}
