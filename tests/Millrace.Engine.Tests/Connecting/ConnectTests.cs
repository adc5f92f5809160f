using System.Net;
using System.Net.Sockets;
using Millrace.Engine.Tests.Kit;

namespace Millrace.Engine.Tests.Connecting;

/// <summary>Connections that a reactor makes, over real sockets. That no descriptor is left is looked at after every test.</summary>
public class ConnectTests : EngineTest
{
    private static readonly IPEndPoint Loopback = new(IPAddress.Loopback, 0);

    [Theory]
    [InlineData("tcp")]
    [InlineData("tcp6")]
    [InlineData("unix")]
    public async Task An_echo_comes_back_over_a_connection_that_was_made_here(string family)
    {
        using var folder = new TemporaryFolder();
        EndPoint endPoint = family switch
        {
            "unix" => new UnixDomainSocketEndPoint(folder.File("s")),
            "tcp6" => new IPEndPoint(IPAddress.IPv6Loopback, 0),
            _ => Loopback,
        };
        Listener listener = await ServeAsync(Handlers.EchoAsync, endPoint: endPoint);
        var echo = new TaskCompletionSource<byte[]>(TaskCreationOptions.RunContinuationsAsynchronously);
        EndPoint? remote = null;
        EndPoint? local = null;
        await Reactor.RunAsync(() => Reactor.ConnectAsync(listener.EndPoint, async connection =>
        {
            Assert.Same(Reactor, connection.Reactor);
            (remote, local) = (connection.RemoteEndPoint, connection.LocalEndPoint);
            echo.SetResult(await AskAsync(connection, Pattern.Make(1, 300_000)));
        }));

        Pattern.Check(1, await echo.Task.Within());
        Assert.Equal(listener.EndPoint, remote);
        Assert.NotEqual(listener.EndPoint, local);
        Assert.Equal(family == "unix", local is null);
    }

    [Fact]
    public async Task A_port_that_nobody_listens_on_is_told_with_its_remedy()
    {
        using var silent = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        silent.Bind(Loopback);
        SocketException refusal = await FailAsync(silent.LocalEndPoint!);
        Assert.Equal(SocketError.ConnectionRefused, refusal.SocketErrorCode);
        string sentence = $"{silent.LocalEndPoint} cannot be connected to: nothing listens there; start the server";
        Assert.Contains(sentence, refusal.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_unix_socket_that_is_missing_is_told_with_its_remedy()
    {
        using var folder = new TemporaryFolder();
        SocketException refusal = await FailAsync(new UnixDomainSocketEndPoint(folder.File("missing")));
        Assert.Equal(SocketError.AddressNotAvailable, refusal.SocketErrorCode);
        Assert.Contains("the socket does not exist", refusal.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_connect_without_an_answer_ends_with_its_time()
    {
        using var hole = BlackHole.Open();
        SocketException refusal = await FailAsync(hole.EndPoint, TimeSpan.FromMilliseconds(150));
        Assert.Equal(SocketError.TimedOut, refusal.SocketErrorCode);
        Assert.Contains("it did not respond within 0.15 s", refusal.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_connect_that_is_not_told_otherwise_takes_no_longer_than_the_limit()
    {
        using var hole = BlackHole.Open();
        await StartAsync(Options(new Limits { ConnectTimeout = TimeSpan.FromMilliseconds(50) }));
        Task connect = Reactor.RunAsync(() => Reactor.ConnectAsync(hole.EndPoint, Never));
        Assert.Equal(SocketError.TimedOut, (await Assert.ThrowsAsync<SocketException>(() => connect)).SocketErrorCode);
    }

    [Theory]
    [InlineData("another thread")]
    [InlineData("the reactor")]
    [InlineData("earlier")]
    public async Task A_connect_in_flight_can_be_cancelled(string from)
    {
        using var hole = BlackHole.Open();
        using var cancellation = new CancellationTokenSource();
        await StartAsync();
        if (from == "earlier")
        {
            await cancellation.CancelAsync();
        }

        Task connect = Reactor.RunAsync(() => Reactor.ConnectAsync(hole.EndPoint, Never, Timeout.InfiniteTimeSpan, cancellation.Token));
        await Reactor.AskAsync(() => 0);
        if (from == "the reactor")
        {
            Reactor.Post(_ => cancellation.Cancel(), null);
        }
        else
        {
            await cancellation.CancelAsync();
        }

        OperationCanceledException end = await Assert.ThrowsAnyAsync<OperationCanceledException>(() => connect);
        Assert.Equal(cancellation.Token, end.CancellationToken);
        Assert.Equal(0, await Reactor.AskAsync(() => Reactor.Operations.Count - Reactor.Acceptors.Length));
    }

    [Fact]
    public async Task A_stop_ends_a_connect_in_flight_and_need_not_wait_for_it()
    {
        using var hole = BlackHole.Open();
        await StartAsync();
        Task connect = Reactor.RunAsync(() => Reactor.ConnectAsync(hole.EndPoint, Never, Timeout.InfiniteTimeSpan));
        await Reactor.AskAsync(() => 0);
        await Group.StopAsync(TimeSpan.FromHours(1)).Within();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => connect);
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task A_handler_may_connect_until_the_time_for_finishing_is_over()
    {
        using var hole = BlackHole.Open();
        var drains = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var last = new TaskCompletionSource<Exception>(TaskCreationOptions.RunContinuationsAsynchronously);
        Listener echo = await ServeAsync(Handlers.EchoAsync);
        ReactorGroup other = await StartAsync();
        Listener listener = await other.ListenAsync(Loopback, async connection =>
        {
            await connection.ReadAsync();
            while (!connection.Reactor.IsDraining)
            {
                await connection.Reactor.Delay(TimeSpan.FromMilliseconds(1));
            }

            await connection.Reactor.ConnectAsync(echo.EndPoint, static _ => Task.CompletedTask);
            drains.SetResult();
            Task connect = connection.Reactor.ConnectAsync(hole.EndPoint, Never, Timeout.InfiniteTimeSpan);
            last.SetResult((await Record.ExceptionAsync(() => connect))!);
        });
        Client client = await ConnectAsync(listener);
        await client.SendAsync("x");
        Task stop = other.StopAsync(TimeSpan.FromSeconds(3));
        await drains.Task.Within();
        Assert.IsType<OperationCanceledException>(await last.Task.Within());
        await stop.Within();
    }

    [Fact]
    public async Task A_thousand_connects_give_all_their_descriptors_back()
    {
        const int Count = 1_000;
        Listener listener = await ServeAsync(Handlers.EchoAsync);
        int echoed = 0;
        async Task ConnectAllAsync()
        {
            for (int i = 0; i < Count; i += 50)
            {
                Task[] batch = [.. Enumerable.Range(i, 50).Select(id => Reactor.ConnectAsync(listener.EndPoint, async connection =>
                {
                    Pattern.Check(id, await AskAsync(connection, Pattern.Make(id, 100)));
                    echoed++;
                }))];
                await Task.WhenAll(batch);
                await Reactor.SwitchTo();
            }
        }

        await Reactor.RunAsync(ConnectAllAsync);
        await Waiting.UntilAsync(() => Volatile.Read(ref echoed) == Count, "all were echoed");
        await Waiting.UntilAsync(() => Reactor.AskAsync(() => Reactor.Connections.Count).Result == 0, "all connections ended");
        Assert.Equal(0, await Reactor.AskAsync(() => Reactor.Operations.Count - Reactor.Acceptors.Length));
    }

    [Fact]
    public async Task Connects_that_are_cancelled_at_any_moment_leave_nothing()
    {
        Listener listener = await ServeAsync(Handlers.EchoAsync);
        using var hole = BlackHole.Open();
        int connected = 0;
        int cancelled = 0;
        async Task ConnectAsync(int round)
        {
            using var cancellation = new CancellationTokenSource();
            Task connect = Reactor.ConnectAsync(
                round % 8 < 4 ? listener.EndPoint : hole.EndPoint, static _ => Task.CompletedTask, cancellation.Token);
            // The cancellation meets the connect at its beginning, on its way, with its completion, or after it.
            for (int iterations = round % 4; iterations > 0; iterations--)
            {
                await Reactor.Yield();
            }

            if (round % 8 == 3)
            {
                // After it for certain: how far the kernel gets in an iteration is not the same for all backends.
                await connect;
            }

            cancellation.Cancel();
            bool hasConnected = await Record.ExceptionAsync(() => connect) is null;
            connected += hasConnected ? 1 : 0;
            cancelled += hasConnected ? 0 : 1;
        }

        for (int round = 0; round < 400; round++)
        {
            int current = round;
            await Reactor.RunAsync(() => ConnectAsync(current));
        }

        Assert.Equal(400, connected + cancelled);
        Assert.True(cancelled >= 200 && connected > 0, $"{connected} connected, {cancelled} were cancelled.");
        Assert.Equal(0, await Reactor.AskAsync(() => Reactor.Operations.Count - Reactor.Acceptors.Length));
    }

    [Fact]
    public async Task A_unix_socket_whose_queue_is_full_is_waited_for()
    {
        using var listener = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        listener.Bind(new UnixDomainSocketEndPoint($"\0millrace-{Guid.NewGuid():N}"));
        listener.Listen(0);
        await StartAsync();
        Task[] connects = [.. Enumerable.Range(0, 5).Select(_ => Reactor.RunAsync(
            () => Reactor.ConnectAsync(listener.LocalEndPoint!, static connection => connection.ReadAsync().AsTask())))];
        await Task.Delay(30);
        Assert.Contains(connects, static connect => !connect.IsCompleted);
        for (int i = 0; i < connects.Length; i++)
        {
            Keep(await listener.AcceptAsync().Within());
        }

        await Task.WhenAll(connects).Within();
    }

    [Fact]
    public async Task What_is_made_here_counts_for_no_limit_of_clients()
    {
        Listener listener = await ServeAsync(Handlers.EchoAsync, Options(new Limits { Connections = 2, ConnectionsPerClient = 2 }));
        var echoes = new List<Task<byte[]>>();
        for (int i = 0; i < 2; i++)
        {
            var echo = new TaskCompletionSource<byte[]>(TaskCreationOptions.RunContinuationsAsynchronously);
            await Reactor.RunAsync(() => Reactor.ConnectAsync(
                listener.EndPoint, async connection => echo.SetResult(await AskAsync(connection, Pattern.Make(i, 10)))));
            echoes.Add(echo.Task);
        }

        for (int i = 0; i < 2; i++)
        {
            Pattern.Check(i, await echoes[i].Within());
        }
    }

    [Fact]
    public async Task A_handler_that_fails_resets_what_it_was_given()
    {
        using var listener = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        listener.Bind(Loopback);
        listener.Listen();
        await StartAsync();
        await Reactor.RunAsync(() => Reactor.ConnectAsync(
            listener.LocalEndPoint!, static _ => throw new InvalidOperationException("as it should")));
        using Client peer = new(await listener.AcceptAsync().Within());
        await peer.ExpectResetAsync();
        Assert.Equal(1, Log.Count(300));
    }

    [Fact]
    public async Task A_connection_that_was_made_here_may_rest()
    {
        using var listener = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        listener.Bind(Loopback);
        listener.Listen();
        await StartAsync();
        int runs = 0;
        await Reactor.RunAsync(() => Reactor.ConnectAsync(listener.LocalEndPoint!, async connection =>
        {
            runs++;
            if (connection.Input.Length == 0)
            {
                await connection.ReadAsync();
            }

            connection.Consume(connection.Input.Length);
            connection.Write("ok"u8);
            connection.WaitIdle(TimeSpan.FromMinutes(1));
        }));
        using Client peer = new(await listener.AcceptAsync().Within());
        for (int i = 0; i < 3; i++)
        {
            await peer.SendAsync("x");
            Assert.Equal("ok", await peer.ReceiveTextAsync(2));
        }

        Assert.Equal(3, runs);
    }

    [Fact]
    public async Task A_connect_from_another_thread_or_to_a_name_is_refused()
    {
        Listener listener = await ServeAsync(Handlers.EchoAsync);
        await Assert.ThrowsAsync<InvalidOperationException>(() => Reactor.ConnectAsync(listener.EndPoint, Never));
        NotSupportedException refusal = await Assert.ThrowsAsync<NotSupportedException>(
            () => Reactor.RunAsync(() => Reactor.ConnectAsync(new DnsEndPoint("socket", 80), Never)));
        Assert.Contains("resolve a name first", refusal.Message, StringComparison.Ordinal);
    }

    /// <summary>Sends, and receives as much.</summary>
    private static async Task<byte[]> AskAsync(Connection connection, byte[] bytes)
    {
        connection.Write(bytes);
        connection.Flush();
        while (connection.Input.Length < bytes.Length)
        {
            Assert.Equal(ReadOutcome.Data, await connection.ReadAsync());
        }

        return connection.Input.ToArray();
    }

    private static Task Never(Connection connection) => throw new InvalidOperationException("Nothing was to be connected.");

    private async Task<SocketException> FailAsync(EndPoint endPoint, TimeSpan? timeout = null)
    {
        await StartAsync();
        Task connect = Reactor.RunAsync(() => Reactor.ConnectAsync(endPoint, Never, timeout ?? Patience));
        return await Assert.ThrowsAsync<SocketException>(() => connect);
    }
}
