using Millrace.Engine.Filters;
using Millrace.Engine.Tests.Kit;

namespace Millrace.Engine.Tests.Connections;

/// <summary>Handlers that do it wrong hurt their own connection, loudly, and nobody else's.</summary>
public class MisuseTests : EngineTest
{
    [Fact]
    public async Task A_handler_that_throws_at_once_is_logged_and_its_connection_reset()
    {
        Listener listener = await ServeAsync(static _ => throw new InvalidDataException("at once"));
        await ExpectResetAsync(listener);
        Assert.Equal("at once", Assert.Single(Log.Entries, static entry => entry.Id == 300).Error!.Message);
    }

    [Fact]
    public async Task A_handler_that_throws_later_is_logged_and_its_connection_reset()
    {
        Listener listener = await ServeAsync(static async connection =>
        {
            await connection.ReadAsync();
            throw new InvalidDataException("later");
        });
        Client client = await ConnectAsync(listener);
        await client.SendAsync("x");
        await client.ExpectResetAsync();
        Assert.Equal("later", Assert.Single(Log.Entries, static entry => entry.Id == 300).Error!.Message);
    }

    [Fact]
    public async Task A_handler_that_throws_on_a_foreign_thread_is_logged_and_its_connection_reset()
    {
        Listener listener = await ServeAsync(static async _ =>
        {
            await Task.Yield();
            throw new InvalidDataException("elsewhere");
        });
        await ExpectResetAsync(listener);
        Assert.Equal("elsewhere", Assert.Single(Log.Entries, static entry => entry.Id == 300).Error!.Message);
    }

    [Fact]
    public async Task A_handler_that_returns_no_task_is_logged_and_its_connection_reset()
    {
        Listener listener = await ServeAsync(static _ => null!);
        await ExpectResetAsync(listener);
        Assert.Equal(1, Log.Count(300));
    }

    [Fact]
    public async Task A_connection_whose_filters_cannot_be_made_is_reset_and_logged()
    {
        Listener listener = await ServeAsync(Handlers.EchoAsync, filters: static _ => throw new InvalidDataException("no filter"));
        await ExpectResetAsync(listener);
        Assert.Equal("no filter", Assert.Single(Log.Entries, static entry => entry.Id == 300).Error!.Message);
    }

    [Fact]
    public async Task No_filters_are_as_good_as_none()
    {
        Listener listener = await ServeAsync(Handlers.EchoAsync, filters: static _ => Array.Empty<ConnectionFilter>());
        Client client = await ConnectAsync(listener);
        await client.SendAsync("x");
        Assert.Equal("x", await client.ReceiveTextAsync(1));
    }

    [Fact]
    public async Task Everything_but_an_abort_request_is_refused_on_a_foreign_thread()
    {
        var failures = new TaskCompletionSource<string[]>();
        Listener listener = await ServeAsync(async connection =>
        {
            await Task.Yield();
            var uses = new Dictionary<string, Action>(ConnectionMembers.Of(connection)) { ["Abort"] = () => connection.Abort() };
            failures.SetResult([.. uses.Where(IsAllowed).Select(static use => use.Key)]);
            await connection.Reactor.SwitchTo();
            await Handlers.EchoAsync(connection);
        });
        Client client = await ConnectAsync(listener);
        Assert.Empty(await failures.Task.Within());
        await client.SendAsync("home");
        Assert.Equal("home", await client.ReceiveTextAsync(4));
    }

    private static bool IsAllowed(KeyValuePair<string, Action> use) => Record.Exception(use.Value) is not InvalidOperationException;

    [Fact]
    public async Task A_second_wait_of_a_kind_is_refused_and_the_first_goes_on()
    {
        Listener listener = await ServeAsync(static async connection =>
        {
            ValueTask<ReadOutcome> read = connection.ReadAsync();
            Assert.Throws<InvalidOperationException>(() => { _ = connection.ReadAsync().AsTask(); });
            Assert.Equal(ReadOutcome.Data, await read);

            connection.Write(new byte[32 * 1024 * 1024]);
            ValueTask<FlushOutcome> flush = connection.FlushAsync();
            Assert.Throws<InvalidOperationException>(() => { _ = connection.FlushAsync().AsTask(); });
            Assert.Equal(FlushOutcome.Sent, await flush);
        });
        Client client = await ConnectAsync(listener);
        await client.SendAsync("x");
        Assert.Equal(32 * 1024 * 1024, (await client.ReceiveToEndAsync()).Length);
        Assert.Equal(0, Log.Count(300));
    }

    [Fact]
    public async Task Counts_out_of_range_are_refused()
    {
        Listener listener = await ServeAsync(static connection =>
        {
            Assert.Throws<ArgumentOutOfRangeException>(() => connection.Consume(1));
            Assert.Throws<ArgumentOutOfRangeException>(() => connection.Consume(-1));
            Assert.Throws<ArgumentOutOfRangeException>(() => connection.Advance(1));
            Assert.Throws<ArgumentOutOfRangeException>(() => { _ = connection.ReadFileAsync(0, -1, 1).AsTask(); });
            Assert.Throws<ArgumentOutOfRangeException>(() => { _ = connection.ReadFileAsync(0, 0, 0).AsTask(); });
            connection.Write("fine"u8);
            return Task.CompletedTask;
        });
        Client client = await ConnectAsync(listener);
        Assert.Equal("fine", await client.ReceiveTextAsync(4));
        Assert.Equal(0, Log.Count(300));
    }
}
