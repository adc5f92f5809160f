using Millrace.Engine.Tests.Wire.Kit;

namespace Millrace.Engine.Tests.Wire.Endings;

/// <summary>Ends by a reset: at once, whatever is under way.</summary>
public class AbortTests : EngineTest
{
    [Fact]
    public async Task Abort_is_seen_as_a_reset()
    {
        TestServer server = await Serve(async connection =>
        {
            await connection.ReadAsync();
            connection.Abort();
        });
        TestClient client = await server.Connect();
        await client.Send(new byte[1]);
        await client.ExpectReset();
        await server.Emptied();
    }

    [Fact]
    public async Task Abort_before_the_first_await_is_a_reset_too()
    {
        TestServer server = await Serve(connection =>
        {
            connection.Abort();
            return Task.CompletedTask;
        });
        await server.ExpectReset([]);
        await server.Emptied();
    }

    [Fact]
    public async Task Abort_ends_a_send_that_the_peer_does_not_take()
    {
        var outcome = new TaskCompletionSource<FlushOutcome>();
        AbortHandle? served = null;
        TestServer server = await Serve(async connection =>
        {
            served = connection.AbortHandle;
            connection.Write(new byte[32 * 1024 * 1024]);
            outcome.SetResult(await connection.FlushAsync());
        });
        TestClient client = await server.Connect();
        await client.Receive(1_000);
        served!.Value.RequestAbort();
        Assert.Equal(FlushOutcome.Closed, await outcome.Task.WaitAsync(Patience));
        await client.ExpectReset();
        await server.Emptied();
    }

    [Fact]
    public async Task What_was_flushed_in_the_turn_of_an_abort_is_dropped()
    {
        TestServer server = await Serve(async connection =>
        {
            await connection.ReadAsync();
            connection.Write(new byte[32 * 1024 * 1024]);
            connection.Flush();
            connection.Abort();
        });
        TestClient client = await server.Connect();
        await client.Send(new byte[1]);
        await server.Emptied();
        await client.ExpectReset();
    }

    [Fact]
    public async Task A_flush_after_an_abort_ends_with_closed()
    {
        var outcome = new TaskCompletionSource<FlushOutcome>();
        TestServer server = await Serve(async connection =>
        {
            await connection.ReadAsync();
            connection.Abort();
            connection.Write(new byte[10]);
            outcome.SetResult(await connection.FlushAsync());
        });
        TestClient client = await server.Connect();
        await client.Send(new byte[1]);
        Assert.Equal(FlushOutcome.Closed, await outcome.Task.WaitAsync(Patience));
        await server.Emptied();
    }

    [Fact]
    public async Task An_abort_during_a_send_ends_its_flush_only_when_the_kernel_has_let_go()
    {
        var sequence = new TaskCompletionSource<(bool AtOnce, FlushOutcome Outcome)>();
        TestServer server = await Serve(async connection =>
        {
            connection.Write(new byte[32 * 1024 * 1024]);
            connection.Flush();
            await connection.ReadAsync();
            connection.Abort();
            ValueTask<FlushOutcome> flush = connection.FlushAsync();
            bool atOnce = flush.IsCompleted;
            sequence.SetResult((atOnce, await flush));
        });
        TestClient client = await server.Connect();
        await client.Receive(1_000);
        await client.Send(new byte[1]);
        Assert.Equal((false, FlushOutcome.Closed), await sequence.Task.WaitAsync(Patience));
        await server.Emptied();
    }

    [Fact]
    public async Task Abort_requested_from_another_thread_ends_a_wait()
    {
        var outcome = new TaskCompletionSource<ReadOutcome>();
        var served = new TaskCompletionSource<AbortHandle>(TaskCreationOptions.RunContinuationsAsynchronously);
        TestServer server = await Serve(async connection =>
        {
            served.SetResult(connection.AbortHandle);
            outcome.SetResult(await connection.ReadAsync());
        });
        TestClient client = await server.Connect();
        (await served.Task).RequestAbort();
        Assert.Equal(ReadOutcome.Reset, await outcome.Task.WaitAsync(Patience));
        await client.ExpectReset();
        await server.Emptied();
    }

    [Fact]
    public async Task Abort_requested_before_the_end_does_not_hit_the_next_tenant()
    {
        var release = new TaskCompletionSource();
        Connection? first = null;
        TestServer server = await Serve(async connection =>
        {
            if (first is null)
            {
                first = connection;
                // Posted while this tenant lives, run when the next one has moved in.
                connection.Reactor.Post(_ => release.Task.Wait(Patience), null);
                connection.AbortHandle.RequestAbort();
                return;
            }

            await Handlers.Echo(connection);
        });
        TestClient leaving = await server.Connect();
        leaving.Dispose();
        TestClient next = await server.Connect();
        release.SetResult();
        Assert.Equal([7], await next.Exchange([7]));
    }

    [Fact]
    public async Task An_abort_handle_kept_too_long_does_not_hit_the_next_tenant()
    {
        AbortHandle? kept = null;
        TestServer server = await Serve(async connection =>
        {
            kept ??= connection.AbortHandle;
            await Handlers.Echo(connection);
        });
        TestClient first = await server.Connect();
        Assert.Equal([1], await first.Exchange([1]));
        first.Dispose();
        await server.Emptied();

        TestClient second = await server.Connect();
        Assert.Equal([2], await second.Exchange([2]));
        kept!.Value.RequestAbort();
        Assert.Equal([3], await second.Exchange([3]));
        Assert.Equal(1, server.Connections);
    }

    [Fact]
    public async Task An_abort_handle_ends_its_own_connection()
    {
        AbortHandle handle = default;
        TestServer server = await Serve(async connection =>
        {
            handle = connection.AbortHandle;
            await Handlers.Echo(connection);
        });
        TestClient client = await server.Connect();
        Assert.Equal([1], await client.Exchange([1]));
        handle.RequestAbort();
        await client.ExpectReset();
        await server.Emptied();
    }

    [Fact]
    public async Task Posting_to_a_reactor_that_has_ended_touches_no_descriptor()
    {
        var served = new TaskCompletionSource<(Reactor Reactor, AbortHandle Abort)>(TaskCreationOptions.RunContinuationsAsynchronously);
        TestServer server = await Serve(connection =>
        {
            served.SetResult((connection.Reactor, connection.AbortHandle));
            return Handlers.Echo(connection);
        });
        TestClient client = await server.Connect();
        (Reactor reactor, AbortHandle abort) = await served.Task;
        client.Dispose();
        await server.Group.StopAsync(TimeSpan.Zero).WaitAsync(Patience);

        // Takes the number of the reactor's wake descriptor, among others.
        string[] paths = [.. Enumerable.Range(0, 16).Select(_ => Path.GetTempFileName())];
        FileStream[] files = [.. paths.Select(File.OpenWrite)];
        abort.RequestAbort();
        reactor.Post(static _ => { }, null);
        Array.ForEach(files, static file => file.Dispose());
        Assert.All(paths, static path => Assert.Equal(0, new FileInfo(path).Length));
        Array.ForEach(paths, File.Delete);
    }
}
