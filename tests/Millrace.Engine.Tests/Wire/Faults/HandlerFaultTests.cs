using Millrace.Engine.Tests.Wire.Kit;

namespace Millrace.Engine.Tests.Wire.Faults;

/// <summary>Whatever a handler does wrong ends its own connection at most.</summary>
public class HandlerFaultTests : EngineTest
{
    [Theory]
    [InlineData("at once")]
    [InlineData("after an await")]
    [InlineData("away from home")]
    [InlineData("without a task")]
    [InlineData("cancelled")]
    public async Task A_failing_handler_resets_its_connection_and_harms_no_other(string when)
    {
        bool fail = false;
        TestServer server = await Serve(connection => fail ? Fail(connection, when) : Handlers.Echo(connection));
        TestClient other = await server.Connect();
        Assert.Equal([1], await other.Exchange([1]));

        fail = true;
        await server.ExpectReset(new byte[1]);
        Assert.Equal([2], await other.Exchange([2]));
        await Eventually(() => server.Connections == 1);
        Assert.Equal(when == "cancelled" ? 0 : 1, Log.Failures.Count);
    }

    [Fact]
    public async Task A_handler_that_awaited_something_foreign_comes_home()
    {
        TestServer server = await Serve(async connection =>
        {
            while (await connection.ReadAsync() == ReadOutcome.Data)
            {
                byte[] bytes = connection.Input.ToArray();
                connection.Consume(bytes.Length);
                await Task.Delay(1);
                Assert.False(connection.Reactor.IsReactorThread);
                await connection.Reactor.SwitchTo();
                Assert.True(connection.Reactor.IsReactorThread);
                Assert.Same(connection.Reactor, Reactor.Current);
                connection.Write(bytes);
                await connection.FlushAsync();
            }
        });
        TestClient client = await server.Connect();
        for (byte i = 0; i < 20; i++)
        {
            Assert.Equal([i], await client.Exchange([i]));
        }

        Assert.Empty(Log.Failures);
    }

    [Fact]
    public async Task A_handler_may_end_away_from_home()
    {
        TestServer server = await Serve(async connection =>
        {
            connection.Write("Bye."u8);
            await Task.Delay(1);
        });
        TestClient client = await server.Connect();
        Assert.Equal("Bye."u8.ToArray(), await client.ReceiveToEnd());
        client.Dispose();
        await server.Emptied();
        Assert.Empty(Log.Failures);
    }

    [Fact]
    public async Task Use_from_another_thread_is_refused()
    {
        var served = new TaskCompletionSource<Connection>(TaskCreationOptions.RunContinuationsAsynchronously);
        TestServer server = await Serve(connection =>
        {
            served.SetResult(connection);
            return Handlers.Echo(connection);
        });
        TestClient client = await server.Connect();
        Connection connection = await served.Task;
        Action[] uses =
        [
            () => _ = connection.Input.Length,
            () => connection.Consume(0),
            () => _ = connection.ReadAsync(),
            () => _ = connection.ReadIdleAsync(),
            () => connection.GetSpan(),
            () => connection.Advance(0),
            () => connection.Write([1]),
            () => connection.Flush(),
            () => _ = connection.FlushAsync(),
            () => _ = connection.ReadFileAsync(0, 0, 1),
            () => connection.SetReadDeadline(TimeSpan.Zero),
            () => connection.Abort(),
            () => connection.AsDuplexPipe().Input.TryRead(out _),
            () => _ = connection.AsDuplexPipe().Input.ReadAsync(),
            () => connection.AsDuplexPipe().Output.GetMemory(),
            () => _ = connection.AsDuplexPipe().Output.FlushAsync(),
        ];
        Assert.All(uses, static use =>
            Assert.Contains("SwitchTo", Assert.Throws<InvalidOperationException>(use).Message, StringComparison.Ordinal));
        Assert.Equal([1], await client.Exchange([1]));
    }

    [Fact]
    public async Task Misuse_at_home_is_refused_and_the_connection_goes_on()
    {
        TestServer server = await Serve(async connection =>
        {
            ValueTask<ReadOutcome> read = connection.ReadAsync();
            Assert.Throws<InvalidOperationException>(() => { _ = connection.ReadAsync(); });
            Assert.Throws<InvalidOperationException>(() => { _ = connection.ReadIdleAsync(); });
            Assert.Throws<ArgumentOutOfRangeException>(() => connection.Consume(1));
            Assert.Throws<ArgumentOutOfRangeException>(() => connection.Consume(-1));
            Assert.Throws<ArgumentOutOfRangeException>(() => connection.Advance(1));
            Assert.Throws<ArgumentOutOfRangeException>(() => connection.GetSpan(-1));
            int room = connection.GetSpan(10).Length;
            Assert.Throws<ArgumentOutOfRangeException>(() => connection.Advance(room + 1));
            Assert.Throws<ArgumentOutOfRangeException>(() => connection.Advance(-1));
            Assert.Throws<ArgumentOutOfRangeException>(() => { _ = connection.ReadFileAsync(0, -1, 1); });
            Assert.Throws<ArgumentOutOfRangeException>(() => { _ = connection.ReadFileAsync(0, 0, 0); });
            connection.Write("x"u8);
            ValueTask<FlushOutcome> flush = connection.FlushAsync();
            Assert.Throws<InvalidOperationException>(() => { _ = connection.FlushAsync(); });
            await flush;
            await read;
            connection.Write(connection.Input);
        });
        TestClient client = await server.Connect();
        await client.Send("y"u8.ToArray());
        Assert.Equal("xy"u8.ToArray(), await client.ReceiveToEnd());
        Assert.Empty(Log.Failures);
    }

    [Fact]
    public async Task Handlers_do_not_inherit_the_context_that_started_the_group()
    {
        var ambient = new AsyncLocal<string> { Value = "the starter's" };
        string? seen = "nothing";
        TestServer server = await Serve(connection =>
        {
            seen = ambient.Value;
            return Task.CompletedTask;
        });
        TestClient client = await server.Connect();
        Assert.Empty(await client.ReceiveToEnd());
        Assert.Null(seen);
    }

    private static Task Fail(Connection connection, string when) => when switch
    {
        "at once" => throw new InvalidOperationException("On purpose."),
        "after an await" => FailLater(connection),
        "away from home" => FailAway(connection),
        "cancelled" => CancelLater(connection),
        _ => null!,
    };

    private static async Task FailLater(Connection connection)
    {
        await connection.ReadAsync();
        throw new InvalidOperationException("On purpose.");
    }

    private static async Task FailAway(Connection connection)
    {
        await connection.ReadAsync();
        await Task.Delay(1);
        throw new InvalidOperationException("On purpose.");
    }

    private static async Task CancelLater(Connection connection)
    {
        await connection.ReadAsync();
        throw new OperationCanceledException();
    }
}
