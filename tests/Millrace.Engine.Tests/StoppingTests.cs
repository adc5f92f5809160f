using Millrace.Engine.Tests.Kit;

namespace Millrace.Engine.Tests;

/// <summary>A group that stops: idle connections go, work is finished, what takes too long is reset.</summary>
public class StoppingTests : EngineTest
{
    [Fact]
    public async Task An_idle_connection_ends_and_a_busy_one_finishes()
    {
        var outcome = new TaskCompletionSource<ReadOutcome>();
        var gate = new TaskCompletionSource();
        Listener listener = await ServeAsync(async connection =>
        {
            await connection.ReadAsync();
            bool isBusy = connection.Input[0] == (byte)'b';
            connection.Consume(1);
            connection.Write("1"u8);
            connection.Flush();
            if (isBusy)
            {
                await gate.Task;
                await connection.Reactor.SwitchTo();
                Assert.True(connection.Reactor.IsDraining);
                connection.Write("done"u8);
            }
            else
            {
                outcome.SetResult(await connection.ReadIdleAsync());
            }
        });
        Client idle = await ConnectAsync(listener);
        Client busy = await ConnectAsync(listener);
        await idle.SendAsync("i");
        await busy.SendAsync("b");
        await idle.ReceiveAsync(1);
        await busy.ReceiveAsync(1);

        Task stop = Group.StopAsync(TimeSpan.FromSeconds(15));
        Assert.Equal(ReadOutcome.Draining, await outcome.Task.Within());
        Assert.Empty(await idle.ReceiveToEndAsync());
        idle.Dispose();
        Assert.False(stop.IsCompleted);
        gate.SetResult();
        Assert.Equal("done", await busy.ReceiveTextAsync(4));
        Assert.Empty(await busy.ReceiveToEndAsync());
        busy.Dispose();
        await stop.Within();
    }

    [Fact]
    public async Task What_takes_longer_than_the_deadline_is_reset()
    {
        Listener listener = await ServeAsync(Handlers.EchoAsync);
        Client client = await ConnectAsync(listener);
        await client.SendAsync("x");
        await client.ReceiveAsync(1);
        await Group.StopAsync(TimeSpan.FromMilliseconds(50)).Within();
        await client.ExpectResetAsync();
    }

    [Fact]
    public async Task A_group_stops_under_load()
    {
        Listener listener = await ServeAsync(Handlers.PatternAsync, Options() with { Reactors = 2 });
        var served = new TaskCompletionSource();
        int responses = 0;
        Task[] clients = [.. Enumerable.Range(0, 50).Select(async id =>
        {
            using Client client = await Client.ConnectAsync(listener.EndPoint);
            await Record.ExceptionAsync(async () =>
            {
                while (true)
                {
                    await client.SendAsync(Handlers.PatternRequest(id, 5_000));
                    byte[] response = await client.ReceiveAsync(5_000);
                    Pattern.Check(id, response);
                    if (Interlocked.Increment(ref responses) == 500)
                    {
                        served.SetResult();
                    }
                }
            });
        })];
        await served.Task.Within();
        await Group.StopAsync(TimeSpan.FromMilliseconds(100)).Within();
        await Task.WhenAll(clients).Within();
    }
}
