using System.Net;
using System.Net.Sockets;
using Millrace.Engine.Tests.Kit;

namespace Millrace.Engine.Tests.Connections;

/// <summary>
/// The end that comes with the last bytes, while the reactor is busy. A multishot receive has been seen to show the bytes and miss the end
/// (liburing, issue 1549): a kernel where this fails leaves such connections to their deadlines.
/// </summary>
public class MissedEndTests : EngineTest
{
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task A_reset_right_behind_bytes_is_seen(bool whileReading)
    {
        (Listener listener, Task<ReadOutcome> outcome) = await ServeUntilTheEndAsync(new IPEndPoint(IPAddress.Loopback, 0), whileReading);
        Client client = await ConnectAsync(listener);
        await client.SendAsync("1");
        await client.ReceiveAsync(1);

        await WhileTheReactorIsBusyAsync(async () =>
        {
            await client.SendAsync("23");
            client.Reset();
        });

        Assert.Equal(ReadOutcome.Reset, await outcome.Within());
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task An_end_right_behind_bytes_is_seen_on_a_unix_socket(bool whileReading)
    {
        var folder = Keep(new TemporaryFolder());
        (Listener listener, Task<ReadOutcome> outcome) =
            await ServeUntilTheEndAsync(new UnixDomainSocketEndPoint(folder.File("s")), whileReading);
        Client client = await ConnectAsync(listener);
        await client.SendAsync("1");
        await client.ReceiveAsync(1);

        await WhileTheReactorIsBusyAsync(async () =>
        {
            await client.SendAsync("23");
            client.EndSending();
        });

        Assert.Equal(ReadOutcome.End, await outcome.Within());
    }

    [Fact]
    public async Task A_connection_that_rests_ends_with_its_peer()
    {
        var folder = Keep(new TemporaryFolder());
        Listener listener = await ServeAsync(
            static connection =>
            {
                connection.Write(connection.Input);
                connection.Consume(connection.Input.Length);
                connection.WaitIdle(TimeSpan.FromHours(1));
                return Task.CompletedTask;
            },
            endPoint: new UnixDomainSocketEndPoint(folder.File("s")));
        Client client = await ConnectAsync(listener);
        await client.SendAsync("1");
        await client.ReceiveAsync(1);

        await WhileTheReactorIsBusyAsync(async () =>
        {
            await client.SendAsync("2");
            client.EndSending();
        });

        Assert.Equal("2"u8.ToArray(), await client.ReceiveToEndAsync());
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task No_end_of_thousands_is_missed(bool overUnix)
    {
        var folder = Keep(new TemporaryFolder());
        Listener listener = await ServeAsync(
            static async connection =>
            {
                while (await connection.ReadAsync() == ReadOutcome.Data)
                {
                    connection.Consume(connection.Input.Length);
                }
            },
            endPoint: overUnix ? new UnixDomainSocketEndPoint(folder.File("s")) : new IPEndPoint(IPAddress.Loopback, 0));

        await Task.WhenAll(Enumerable.Range(0, 4).Select(_ => Task.Run(async () =>
        {
            for (int i = 0; i < 1_000; i++)
            {
                using Client client = await Client.ConnectAsync(listener.EndPoint);
                await client.SendAsync("12");
                client.EndSending();
                Assert.Empty(await client.ReceiveToEndAsync());
            }
        })));
    }

    /// <summary>Answers the first byte; then reads to the end, or lets the end come while it waits for something else.</summary>
    private async Task<(Listener, Task<ReadOutcome>)> ServeUntilTheEndAsync(EndPoint endPoint, bool whileReading)
    {
        var outcome = new TaskCompletionSource<ReadOutcome>(TaskCreationOptions.RunContinuationsAsynchronously);
        Listener listener = await ServeAsync(
            async connection =>
            {
                await connection.ReadAsync();
                connection.Write(connection.Input);
                connection.Consume(1);
                await connection.FlushAsync();
                ReadOutcome read = await connection.ReadAsync();
                while (read == ReadOutcome.Data)
                {
                    connection.Consume(whileReading ? connection.Input.Length : 0);
                    read = await connection.ReadAsync();
                }

                outcome.SetResult(read);
            },
            endPoint: endPoint);
        return (listener, outcome.Task);
    }

    /// <summary>What happens meanwhile meets the reactor at once, in one enter.</summary>
    private async Task WhileTheReactorIsBusyAsync(Func<Task> happen)
    {
        using var isBusy = new ManualResetEventSlim();
        using var goOn = new ManualResetEventSlim();
        Task<int> busy = Reactor.AskAsync(() =>
        {
            isBusy.Set();
            return goOn.Wait(Patience) ? 0 : 1;
        });
        isBusy.Wait(Patience, TestContext.Current.CancellationToken);
        await happen();
        goOn.Set();
        Assert.Equal(0, await busy);
    }
}
