using System.Net;
using System.Net.Sockets;
using Millrace.HttpServer.Tests.Upstreams.Kit;
using Millrace.HttpServer.Upstreams;

namespace Millrace.HttpServer.Tests.Upstreams;

/// <summary>How long an upstream may take: only for what it is to blame for.</summary>
// Sleeps: deadlines have to pass.
public class DeadlineTests : UpstreamFixture
{
    private const string Ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

    private static readonly UpstreamOptions Short = new()
    {
        FirstByteTimeout = TimeSpan.FromMilliseconds(300),
        IdleTimeout = TimeSpan.FromMilliseconds(300),
    };

    [Theory]
    [InlineData("")]
    [InlineData("HTTP/1.1 20")]
    public async Task No_response_in_time_is_a_504(string part)
    {
        RawUpstream upstream = await StartAsync(Short);
        (TestSession session, UpstreamWire wire) = await BeginAsync(upstream);
        await wire.SendAsync(part);
        await session.EndedAsync();
        Assert.Equal((504, 1L), (session.Failure.Status, Counters.TimedOut));
        await wire.AssertEndsAsync();
    }

    [Fact]
    public async Task Silence_within_a_response_cuts_it()
    {
        RawUpstream upstream = await StartAsync(Short);
        (TestSession session, UpstreamWire wire) = await BeginAsync(upstream);
        await wire.SendAsync("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel");
        await session.EndedAsync();
        Assert.Equal(("hel", 504), (session.Body, session.Failure.Status));
        await wire.AssertEndsAsync();
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task Each_byte_starts_the_time_again()
    {
        RawUpstream upstream = await StartAsync(Short);
        (TestSession session, UpstreamWire wire) = await BeginAsync(upstream);
        await wire.SendAsync("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
        foreach (char value in "hello")
        {
            await Task.Delay(150);
            await wire.SendAsync($"{value}");
        }

        await session.EndedAsync();
        Assert.Equal((UpstreamPhase.Complete, "hello"), (session.Phase, session.Body));
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task A_client_that_pauses_its_upload_is_not_the_upstreams_fault()
    {
        RawUpstream upstream = await StartAsync(Short);
        (TestSession session, UpstreamWire wire) = await BeginAsync(upstream, TestRequest.Post(4));
        await session.WriteAsync("ab");
        // Sleeps: the body comes later than the deadline of a response.
        await Task.Delay(800);
        await session.WriteAsync("cd", ends: true);
        Assert.Equal("abcd", await wire.ReadAsync(4));
        await wire.SendAsync(Ok);
        await session.EndedAsync();
        Assert.Equal("ok", session.Body);
    }

    [Fact]
    public async Task After_the_upload_the_upstream_has_its_time()
    {
        RawUpstream upstream = await StartAsync(Short);
        (TestSession session, UpstreamWire wire) = await BeginAsync(upstream, TestRequest.Post(2));
        await session.WriteAsync("ab", ends: true);
        await session.EndedAsync();
        Assert.Equal(504, session.Failure.Status);
        await wire.ReadAsync(2);
        await wire.AssertEndsAsync();
    }

    [Theory]
    [Trait("Duration", "Full")]
    [InlineData(false, 3)]
    [InlineData(true, 3)]
    [InlineData(true, 200_000)]
    public async Task A_client_that_does_not_take_the_response_is_not_the_upstreams_fault(bool takesHead, int size)
    {
        RawUpstream upstream = await StartAsync(Short);
        (TestSession session, UpstreamWire wire) = await BeginAsync(upstream, set: session =>
        {
            session.TakesHeads = takesHead;
            session.TakesBytesMax = 0;
        });
        await wire.SendAsync($"HTTP/1.1 200 OK\r\nContent-Length: {size + 2}\r\n\r\n{new string('x', size)}");
        // Sleeps: the client takes nothing for longer than the deadline.
        await Task.Delay(800);
        await session.TakeAsync(long.MaxValue);
        await Task.Delay(100);
        await wire.SendAsync("ok");
        await session.EndedAsync();
        Assert.Equal((UpstreamPhase.Complete, size + 2L), (session.Phase, session.BodyBytes));
    }

    [Fact]
    public async Task A_connect_that_takes_too_long_is_a_504()
    {
        using var full = new FullListener();
        await StartAsync([full.Target], new UpstreamOptions { ConnectTimeout = TimeSpan.FromMilliseconds(300) });
        TestSession session = await BeginAsync();
        await session.EndedAsync();
        Assert.Equal((504, 0), (session.Failure.Status, Counters.Connections));
    }

    [Fact]
    public async Task Another_upstream_serves_what_the_first_did_not_accept_in_time()
    {
        using var full = new FullListener();
        RawUpstream upstream = NewUpstream();
        await StartAsync([full.Target, upstream.Target], new UpstreamOptions { ConnectTimeout = TimeSpan.FromMilliseconds(300) });
        (TestSession session, UpstreamWire wire) = await BeginAsync(upstream);
        await wire.SendAsync(Ok);
        await session.EndedAsync();
        Assert.Equal("ok", session.Body);
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task An_exchange_that_is_connected_for_is_served_by_a_connection_that_becomes_free()
    {
        using var full = new FullListener();
        RawUpstream upstream = NewUpstream();
        await StartAsync([upstream.Target, full.Target], new UpstreamOptions { ConnectTimeout = TimeSpan.FromSeconds(2) });
        (TestSession one, UpstreamWire wire) = await BeginAsync(upstream);
        TestSession two = await BeginAsync(TestRequest.Get("/2"));
        await wire.SendAsync(Ok);
        await one.EndedAsync();
        Assert.StartsWith("GET /2 ", await wire.ReadHeadAsync());
        await wire.SendAsync(Ok);
        await two.EndedAsync();
        Assert.Equal("ok", two.Body);
        await UntilAsync(() => Counters.ConnectsFailed == 1);
    }

    /// <summary>An address whose queue of connections is full, so that a SYN to it is dropped.</summary>
    private sealed class FullListener : IDisposable
    {
        private readonly Socket _listener = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        private readonly List<Socket> _clients = [];

        public FullListener()
        {
            _listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
            _listener.Listen(0);
            Target = $"http://{_listener.LocalEndPoint}";
            for (int i = 0; i < 4; i++)
            {
                var client = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { Blocking = false };
                _clients.Add(client);
                try
                {
                    client.Connect(_listener.LocalEndPoint!);
                }
                catch (SocketException pending) when (pending.SocketErrorCode is SocketError.WouldBlock or SocketError.InProgress)
                {
                    // It waits in the queue, or for its place there.
                }
            }
        }

        public string Target { get; }

        public void Dispose()
        {
            _clients.ForEach(static client => client.Dispose());
            _listener.Dispose();
        }
    }
}
