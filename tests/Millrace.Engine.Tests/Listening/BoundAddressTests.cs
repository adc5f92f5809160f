using System.Net;
using System.Net.Sockets;
using Millrace.Engine.Listening;
using Millrace.Engine.Tests.Kit;

namespace Millrace.Engine.Tests.Listening;

/// <summary>Addresses that are bound before anybody is served there.</summary>
public class BoundAddressTests : EngineTest
{
    private static readonly ListenSettings Settings = ListenSettings.Of(new Limits());

    [Fact]
    public async Task A_bound_address_is_nobody_elses_and_lets_in_only_when_it_is_listened_on()
    {
        ReactorGroup group = await StartAsync(Options() with { Reactors = 2 });
        using BoundAddress bound = BoundAddress.Bind(new IPEndPoint(IPAddress.Loopback, 0), reactors: 2, Settings);
        await Assert.ThrowsAnyAsync<SocketException>(() => Client.ConnectAsync(bound.EndPoint));

        Listener listener = await group.ListenAsync(bound, Handlers.EchoAsync, filters: null, refusal: null).Within();
        Assert.Equal(bound.EndPoint, listener.EndPoint);
        Client client = await ConnectAsync(listener);
        await client.SendAsync("x");
        await client.ReceiveAsync(1);
        bound.Dispose();
        Client another = await ConnectAsync(listener);
        await another.SendAsync("x");
        await another.ReceiveAsync(1);
    }

    /// <summary>Both were bound, which SO_REUSEADDR allows while nobody listens; half of the clients would be the other's.</summary>
    [Theory]
    [InlineData(1, "127.0.0.1", "127.0.0.1")]
    [InlineData(2, "127.0.0.1", "127.0.0.1")]
    [InlineData(1, "0.0.0.0", "127.0.0.1")]
    [InlineData(2, "0.0.0.0", "127.0.0.1")]
    [InlineData(1, "127.0.0.1", "::")]
    [InlineData(2, "127.0.0.1", "::")]
    public async Task Of_two_that_overlap_the_first_to_listen_has_it_however_many_reactors_there_are(int reactors, string one, string other)
    {
        ReactorGroup group = await StartAsync(Options() with { Reactors = reactors });
        using BoundAddress first = BoundAddress.Bind(new IPEndPoint(IPAddress.Parse(one), 0), reactors, Settings);
        int port = ((IPEndPoint)first.EndPoint).Port;
        using BoundAddress second = BoundAddress.Bind(new IPEndPoint(IPAddress.Parse(other), port), reactors, Settings);
        await group.ListenAsync(first, Handlers.EchoAsync, filters: null, refusal: null).Within();
        EngineException error = await Assert.ThrowsAsync<EngineException>(
            () => group.ListenAsync(second, Handlers.EchoAsync, filters: null, refusal: null).Within());
        Assert.True(error.IsAddressInUse);

        second.Dispose();
        Client client = Keep(await Client.ConnectAsync(new IPEndPoint(IPAddress.Loopback, port)));
        await client.SendAsync("x");
        await client.ReceiveAsync(1);
    }

    [Fact]
    public void What_is_disposed_of_unheard_is_free_again_and_leaves_no_file()
    {
        using var folder = new TemporaryFolder();
        var file = new UnixDomainSocketEndPoint(folder.File("s"));
        BoundAddress.Bind(file, reactors: 2, Settings).Dispose();
        Assert.False(File.Exists(folder.File("s")));

        BoundAddress first = BoundAddress.Bind(new IPEndPoint(IPAddress.Loopback, 0), reactors: 2, Settings);
        first.Dispose();
        using BoundAddress second = BoundAddress.Bind(first.EndPoint, reactors: 2, Settings);
        Assert.Equal(first.EndPoint, second.EndPoint);
    }
}
