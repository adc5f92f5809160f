using System.Net;
using System.Net.Sockets;
using Millrace.Engine.Connecting;
using Millrace.Engine.Tests.Filters;
using Millrace.Engine.Tests.Kit;

namespace Millrace.Engine.Tests.Connecting;

/// <summary>Connections that a reactor makes through filters, which hold the handler back until they are ready.</summary>
public class FilteredConnectTests : EngineTest
{
    private readonly List<CommandedFilter> _filters = [];

    [Fact]
    public async Task The_attempt_lasts_until_the_filter_lets_the_handler_run()
    {
        using Socket listener = Listen();
        await StartAsync();
        bool hasRun = false;
        Task connect = ConnectAsync(listener, async connection =>
        {
            hasRun = true;
            await connection.ReadAsync();
            connection.Write(connection.Input);
            connection.Consume(connection.Input.Length);
        });
        using Client peer = new(await listener.AcceptAsync().Within());
        await peer.SendAsync("W");
        Assert.Equal("[word]", await peer.ReceiveTextAsync(6));
        Assert.False(hasRun || connect.IsCompleted);
        await peer.SendAsync("Sx");
        await connect.Within();
        Assert.True(hasRun);
        Assert.Equal("x[end]", await peer.ReceiveTextAsync(6));
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task A_peer_that_ends_before_fails_the_attempt(bool withReset)
    {
        using Socket listener = Listen();
        await StartAsync();
        Task connect = ConnectAsync(listener, Never);
        using Client peer = new(await listener.AcceptAsync().Within());
        if (withReset)
        {
            peer.Reset();
        }
        else
        {
            peer.EndSending();
        }

        SocketException refusal = await Assert.ThrowsAsync<SocketException>(() => connect.Within());
        Assert.Equal(SocketError.ConnectionReset, refusal.SocketErrorCode);
        await NothingIsLeftAsync();
    }

    [Fact]
    public async Task The_filters_own_reason_fails_the_attempt_before_its_peer_has_closed()
    {
        using Socket listener = Listen();
        await StartAsync();
        Task connect = ConnectAsync(listener, Never);
        using Client peer = new(await listener.AcceptAsync().Within());
        await peer.SendAsync("C");
        Assert.Equal("planted", (await Assert.ThrowsAsync<InvalidDataException>(() => connect.Within())).Message);
        await NothingIsLeftAsync();
    }

    [Fact]
    public async Task A_filter_that_cannot_be_made_fails_the_attempt()
    {
        using Socket listener = Listen();
        await StartAsync();
        ConnectSettings settings = ConnectSettings.Of(new Limits()) with { Filters = static _ => throw new InvalidDataException("planted") };
        await Assert.ThrowsAsync<InvalidDataException>(() => Reactor.RunAsync(
            () => Reactor.ConnectAsync(listener.LocalEndPoint!, Never, settings, TestContext.Current.CancellationToken)));
        await NothingIsLeftAsync();
    }

    [Fact]
    public async Task The_time_limit_holds_for_the_filters_too()
    {
        using Socket listener = Listen();
        await StartAsync();
        Task connect = ConnectAsync(listener, Never, TimeSpan.FromMilliseconds(150));
        using Client peer = new(await listener.AcceptAsync().Within());
        SocketException refusal = await Assert.ThrowsAsync<SocketException>(() => connect.Within());
        Assert.Equal(SocketError.TimedOut, refusal.SocketErrorCode);
        Assert.Contains("the handshake was not complete within 0.15 s", refusal.Message, StringComparison.Ordinal);
        await peer.ExpectResetAsync();
        await NothingIsLeftAsync();
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task A_cancelled_wait_and_a_stop_end_the_connection(bool byStop)
    {
        using Socket listener = Listen();
        using var cancellation = new CancellationTokenSource();
        await StartAsync();
        Task connect = ConnectAsync(listener, Never, Timeout.InfiniteTimeSpan, cancellation.Token);
        using Client peer = new(await listener.AcceptAsync().Within());
        await peer.SendAsync("W");
        Assert.Equal("[word]", await peer.ReceiveTextAsync(6));
        if (byStop)
        {
            await Group.StopAsync(TimeSpan.Zero).Within();
        }
        else
        {
            await cancellation.CancelAsync();
        }

        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => connect.Within());
        await peer.ExpectResetAsync();
        if (!byStop)
        {
            // The reset is there before the reactor has released the filters.
            await NothingIsLeftAsync();
        }

        Assert.True(Assert.Single(_filters).IsReleased);
    }

    [Fact]
    public async Task Attempts_that_end_at_any_moment_leave_nothing()
    {
        using Socket listener = Listen();
        await StartAsync();
        int connected = 0;
        for (int i = 0; i < 300; i++)
        {
            using var cancellation = new CancellationTokenSource();
            Task connect = ConnectAsync(listener, static _ => Task.CompletedTask, Timeout.InfiniteTimeSpan, cancellation.Token);
            using Client peer = new(await listener.AcceptAsync().Within());
            Task send = peer.SendAsync("S");
            if (i % 3 == 1)
            {
                Reactor.Post(_ => cancellation.Cancel(), null);
            }
            else if (i % 3 == 2)
            {
                peer.EndSending();
            }

            connected += await Record.ExceptionAsync(() => connect.Within()) is null ? 1 : 0;
            await Record.ExceptionAsync(() => send);
            await Reactor.AskAsync(() => 0);
        }

        Assert.True(connected >= 100, $"{connected} of 300 connected.");
        await NothingIsLeftAsync();
        Assert.All(_filters, static filter => Assert.True(filter.IsReleased));
    }

    private static Task Never(Connection connection) => throw new InvalidOperationException("The handler was not to run.");

    private static Socket Listen()
    {
        var listener = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        listener.Listen();
        return listener;
    }

    private Task ConnectAsync(
        Socket listener, ConnectionHandler handler, TimeSpan? timeout = null, CancellationToken cancellation = default)
    {
        ConnectSettings settings = ConnectSettings.Of(new Limits()) with
        {
            Timeout = timeout ?? Patience,
            Filters = _ =>
            {
                _filters.Add(new CommandedFilter(holds: true));
                return [_filters[^1]];
            },
        };
        return Reactor.RunAsync(() => Reactor.ConnectAsync(listener.LocalEndPoint!, handler, settings, cancellation));
    }

    private Task NothingIsLeftAsync() => Waiting.UntilAsync(
        () => Reactor.AskAsync(() => Reactor.Connections.Count + Reactor.Operations.Count).Result == 0, "slots and operations were returned");
}
