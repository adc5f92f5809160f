using System.Net.Sockets;
using Millrace.Engine.Tests.Wire.Kit;

namespace Millrace.Engine.Tests.Wire.Faults;

public class DeadlineTests : EngineTest
{
    private static readonly TimeSpan Short = TimeSpan.FromMilliseconds(100);

    [Fact]
    public async Task A_read_deadline_ends_the_wait_and_leaves_the_connection_usable()
    {
        TestServer server = await Serve(async connection =>
        {
            connection.SetReadDeadline(Short);
            Assert.Equal(ReadOutcome.TimedOut, await connection.ReadAsync());
            connection.Write("late"u8);
            await connection.FlushAsync();
            connection.SetReadDeadline(Timeout.InfiniteTimeSpan);
            Assert.Equal(ReadOutcome.Data, await connection.ReadAsync());
            connection.Write(connection.Input);
        });
        TestClient client = await server.Connect();
        Assert.Equal("late"u8.ToArray(), await client.Receive(4));
        await client.Send(new byte[] { 5 });
        Assert.Equal([5], await client.ReceiveToEnd());
        Assert.Empty(Log.Failures);
    }

    [Fact]
    public async Task A_read_deadline_stands_whatever_arrives()
    {
        TestServer server = await Serve(async connection =>
        {
            connection.SetReadDeadline(TimeSpan.FromMilliseconds(300));
            while (await connection.ReadAsync() == ReadOutcome.Data)
            {
                connection.Write([1]);
                await connection.FlushAsync();
            }
        });
        TestClient client = await server.Connect();
        byte[] one = new byte[1];
        do
        {
            await client.Send(one);
        }
        while (await client.Receive(one) > 0);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task A_peer_that_takes_nothing_is_reset(bool afterTheHandler)
    {
        var outcome = new TaskCompletionSource<FlushOutcome>();
        var serving = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        TestServer server = await Serve(
            async connection =>
            {
                serving.SetResult();
                connection.Write(new byte[32 * 1024 * 1024]);
                if (afterTheHandler)
                {
                    return;
                }

                outcome.SetResult(await connection.FlushAsync());
            },
            Options with { Limits = new Limits { WriteStall = Short } });
        TestClient client = await server.Connect();
        // Empty it is before the connection was accepted, too.
        await serving.Task.WaitAsync(Patience);
        await server.Emptied();
        await client.ExpectReset();
        Assert.True(afterTheHandler || await outcome.Task.WaitAsync(Patience) == FlushOutcome.Closed);
    }

    /// <summary>
    /// It takes twice the limit in all, in pauses of a small part of it: what a busy machine adds to one is less than the rest.
    /// </summary>
    [Theory]
    [InlineData(AddressFamily.InterNetwork)]
    [InlineData(AddressFamily.Unix)]
    [Trait("Duration", "Full")]
    public async Task A_peer_that_takes_little_at_a_time_is_not(AddressFamily family)
    {
        const int Bytes = 4_000_000;
        const int Pauses = 20;
        TimeSpan stall = TimeSpan.FromSeconds(2);
        using var folder = new TempFolder();
        TestServer server = await Serve(
            connection =>
            {
                connection.Write(Pattern.Bytes(1, Bytes));
                return Task.CompletedTask;
            },
            Options with { Limits = new Limits { WriteStall = stall } },
            family == AddressFamily.Unix ? new UnixDomainSocketEndPoint(folder.File("socket")) : Loopback);
        TestClient client = await server.Connect(family == AddressFamily.Unix ? null : 16 * 1024);
        byte[] piece = new byte[Bytes / 2 / Pauses];
        for (int pause = 0; pause < Pauses; pause++)
        {
            piece = await client.Receive(piece.Length);
            Pattern.Check(piece, 1, pause * piece.Length);
            // Sleeps: the kernel's socket is what is slow.
            await Task.Delay(stall / 10);
        }

        Assert.Equal(Bytes / 2, (await client.ReceiveToEnd()).Length);
    }
}
