using System.Net;
using System.Net.Sockets;
using System.Text;
using Millrace.Engine;
using Millrace.Engine.Filters;
using Millrace.Engine.Listening;
using Millrace.Engine.Tests.Kit;
using Millrace.Tls.Handshakes;
using Millrace.Tls.Tests.Kit;

namespace Millrace.Tls.Tests;

/// <summary>TLS behind a proxy that first names its client: each has a time limit of its own.</summary>
public class ProxyTests : TlsTest
{
    private const int ShortMs = 150;
    private static readonly TimeSpan Long = TimeSpan.FromHours(1);

    [Theory]
    [InlineData("")]
    [InlineData("PROXY TCP4 192.")]
    public async Task A_preface_that_does_not_come_is_waited_for_only_as_long_as_a_preface(string begun)
    {
        var policy = new ProxyPolicy([IPNetwork.Parse("127.0.0.0/8")], prefaceMs: ShortMs);
        Listener listener = await ServeAsync(policy, Long);
        Client client = await ConnectAsync(listener);

        // The end may come before what is sent does.
        SocketException error = await Assert.ThrowsAsync<SocketException>(async () =>
        {
            await client.SendAsync(Encoding.ASCII.GetBytes(begun));
            await client.ReceiveToEndAsync();
        });

        Assert.Equal(SocketError.ConnectionReset, error.SocketErrorCode);
        Assert.Equal(1, policy.Refused);
        Assert.Equal(0, Terminator.Counters.HandshakesFailed);
    }

    [Fact]
    public async Task A_handshake_that_does_not_follow_is_waited_for_only_as_long_as_a_handshake()
    {
        var policy = new ProxyPolicy([IPNetwork.Parse("127.0.0.0/8")], prefaceMs: (int)Long.TotalMilliseconds);
        Listener listener = await ServeAsync(policy, TimeSpan.FromMilliseconds(ShortMs));
        Client client = await ConnectAsync(listener);
        await client.SendAsync("PROXY TCP4 192.0.2.1 198.51.100.1 56324 443\r\n"u8.ToArray());

        _ = await client.ReceiveToEndAsync();

        Assert.Equal(0, policy.Refused);
        Assert.Equal(1, Terminator.Counters.HandshakesFailed);
    }

    [Fact]
    public async Task A_connection_beyond_the_quota_is_refused_after_the_preface_too()
    {
        var policy = new ProxyPolicy([IPNetwork.Parse("127.0.0.0/8")], prefaceMs: (int)Long.TotalMilliseconds);
        Listener listener = await ServeAsync(policy, Long, new ConnectionQuota(0));
        Client client = await ConnectAsync(listener);

        try
        {
            await client.SendAsync("PROXY TCP4 192.0.2.1 198.51.100.1 56324 443\r\n"u8.ToArray());
            _ = await client.ReceiveToEndAsync();
        }
        catch (SocketException reset) when (reset.SocketErrorCode is SocketError.ConnectionReset or SocketError.Shutdown)
        {
            // It is sent away in the next tick of the timers; what comes later meets a socket that is closed.
        }
    }

    private async Task<Listener> ServeAsync(ProxyPolicy policy, TimeSpan handshake, ConnectionQuota? quota = null)
    {
        TlsTerminator terminator = Terminate(TlsOptions() with { HandshakeTimeout = handshake, Quota = quota });
        ReactorGroup group = await StartAsync();
        ListenSettings settings = ListenSettings.Of(new Limits()) with { Proxies = policy };
        return await group.ListenAsync(
            new IPEndPoint(IPAddress.Loopback, 0), Handlers.EchoAsync, terminator.FiltersOf, refusal: null, settings).Within();
    }
}
