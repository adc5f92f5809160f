using System.Net;
using System.Net.Sockets;
using Millrace.Engine.Listening;
using Millrace.Engine.Tests.Kit;
using Millrace.Interop;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Tests.Listening;

/// <summary>What an acceptor does with the errors of accept(2), step by step. Its socket is a number no descriptor has.</summary>
public class AcceptorTests
{
    private const int ListenSocket = 1_000_000_000;

    private static readonly ListenerContext Core = new(new IPEndPoint(IPAddress.Loopback, 1), static _ => Task.CompletedTask, null);

    [Theory]
    [InlineData(Errno.EMFILE)]
    [InlineData(Errno.ENFILE)]
    [InlineData(Errno.ENOMEM)]
    [InlineData(Errno.ENOBUFS)]
    public async Task Scarcity_pauses_and_is_told_once_for_an_episode(int errno)
    {
        await using Script script = await Script.StartAsync(new Limits { AcceptPause = TimeSpan.FromMilliseconds(100) });
        Acceptor acceptor = await ListenAsync(script);
        Submission accept = await script.Kernel.ExpectAsync("accept");
        for (int i = 0; i < 3; i++)
        {
            script.Kernel.Complete(accept, -errno);
            Assert.Equal(0, await script.ConnectionsAsync());
            script.Kernel.AdvanceClock(99);
            Assert.Equal(0, await script.ConnectionsAsync());
            Assert.True(script.Kernel.IsQuiet);
            script.Kernel.AdvanceClock(1);
            accept = await script.Kernel.ExpectAsync("accept");
        }

        Assert.Equal(1, script.Log.Count(200));
        await StopAsync(script, acceptor, accept);
    }

    [Theory]
    [InlineData(Errno.ECONNABORTED)]
    [InlineData(Errno.EINTR)]
    [InlineData(Errno.EPROTO)]
    [InlineData(Errno.ENETDOWN)]
    public async Task The_error_of_one_connection_is_none_of_the_listeners(int errno)
    {
        await using Script script = await Script.StartAsync();
        Acceptor acceptor = await ListenAsync(script);
        Submission accept = await script.Kernel.ExpectAsync("accept");
        script.Kernel.Complete(accept, -errno);
        accept = await script.Kernel.ExpectAsync("accept");
        Assert.Equal(0, script.Log.Count(200));
        await StopAsync(script, acceptor, accept);
    }

    [Fact]
    public async Task An_acceptor_stopped_during_a_pause_does_not_accept_again()
    {
        await using Script script = await Script.StartAsync();
        Acceptor acceptor = await ListenAsync(script);
        script.Kernel.Complete(await script.Kernel.ExpectAsync("accept"), -Errno.EMFILE);
        script.Reactor.Post(_ => acceptor.Stop(), null);
        Assert.Equal(ListenSocket, (await script.Kernel.ExpectAsync("close")).Socket);
        await acceptor.Stopped.Within();
        script.Kernel.AdvanceClock(10_000);
        Assert.Equal(0, await script.ConnectionsAsync());
        Assert.True(script.Kernel.IsQuiet);
    }

    [Fact]
    public async Task What_the_kernel_has_queued_is_dealt_before_the_socket_is_closed()
    {
        // The script accepts nothing, so whoever connects stays queued.
        using var listening = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        listening.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        listening.Listen();
        await using Script script = await Script.StartAsync();
        var dealt = new List<int>();
        Acceptor acceptor = await script.Reactor.AskAsync(
            () => Acceptor.Start(script.Reactor, (int)listening.SafeHandle.DangerousGetHandle(), Core, (socket, _) => dealt.Add(socket)));
        Submission accept = await script.Kernel.ExpectAsync("accept");
        var clients = new List<Client>();
        for (int i = 0; i < 3; i++)
        {
            clients.Add(await Client.ConnectAsync(listening.LocalEndPoint!));
        }

        await StopAsync(script, acceptor, accept);
        Assert.Equal(3, dealt.Count);
        Assert.All(dealt, static socket => Assert.Equal(0, SocketCalls.Close(socket)));
        clients.ForEach(static client => client.Dispose());
    }

    [Fact]
    public async Task An_accept_that_ends_with_a_connection_is_taken_up_again()
    {
        await using Script script = await Script.StartAsync();
        Acceptor acceptor = await ListenAsync(script);
        Submission accept = await script.Kernel.ExpectAsync("accept");
        script.Kernel.Complete(accept, 7);
        Submission receive = await script.Kernel.ExpectAsync("receive");
        Assert.Equal(7, receive.Socket);
        await script.Kernel.ExpectAsync("shutdown");
        await script.Kernel.ExpectAsync("accept");
        script.Kernel.Complete(receive, 0);
        await script.ExpectClosedAsync(7);
        await StopAsync(script, acceptor, accept);
    }

    [Fact]
    public async Task Connections_beyond_the_limit_are_reset_and_those_before_it_live()
    {
        await using Script script = await Script.StartAsync(new Limits { Connections = 1 });
        Submission first = await script.ConnectAsync(7, Handlers.EchoAsync);
        await script.Reactor.AskAsync(() =>
        {
            script.Reactor.Admission.Acquire(8, Core);
            return true;
        });
        Assert.Equal(8, (await script.Kernel.ExpectAsync("reset")).Socket);
        Assert.Equal(8, (await script.Kernel.ExpectAsync("close")).Socket);
        Assert.Equal(1, script.Reactor.Counters.Shed);
        script.Kernel.Complete(first, 0);
        await script.ExpectClosedAsync(7);
    }

    private static Task<Acceptor> ListenAsync(Script script) =>
        script.Reactor.AskAsync(() => Acceptor.Start(script.Reactor, ListenSocket, Core, script.Reactor.Admission.Acquire));

    private static async Task StopAsync(Script script, Acceptor acceptor, Submission accept)
    {
        script.Reactor.Post(_ => acceptor.Stop(), null);
        await script.Kernel.ExpectAsync("cancel");
        script.Kernel.Complete(accept, -Errno.ECANCELED);
        await script.Kernel.ExpectAsync("close");
        await acceptor.Stopped.Within();
    }
}
