using System.IO.Pipelines;
using System.Text;
using Millrace.Engine.Backends;
using Millrace.Engine.Tests.Kit;

namespace Millrace.Engine.Tests.Connections;

/// <summary>The orders in which bytes and a cancellation can meet a pipe's reader.</summary>
public class ScriptedPipeTests
{
    [Theory]
    [InlineData(0)]
    [InlineData(2)]
    [InlineData(4)]
    public async Task Bytes_that_come_with_a_cancellation_are_the_next_reads(int consumed)
    {
        await using Script script = await Script.StartAsync();
        using var cancellation = new CancellationTokenSource();
        var next = new TaskCompletionSource<string>(TaskCreationOptions.RunContinuationsAsynchronously);
        Submission reading = await script.ConnectAsync(7, async connection =>
        {
            PipeReader input = connection.AsDuplexPipe().Input;
            ReadResult read = await input.ReadAsync();
            input.AdvanceTo(read.Buffer.GetPosition(consumed), read.Buffer.End);
            next.SetResult(await CancelledAsync(input, cancellation.Token) ? NextOf(input) : "not cancelled");
        });
        script.Kernel.Deliver(reading, "seen"u8.ToArray());
        Submission cancelling = await script.ConnectAsync(8, CancelAtInput(cancellation));

        // In one iteration: what the cancellation posts, to end the wait, comes after the bytes that end it.
        script.Kernel.CompleteTogether(
            (cancelling, 1, CompletionFlags.More, "x"u8.ToArray()), (reading, 4, CompletionFlags.More, "more"u8.ToArray()));

        Assert.Equal("seenmore"[consumed..], await next.Task.Within());
    }

    [Fact]
    public async Task Without_any_the_next_read_waits_for_what_was_not_seen()
    {
        await using Script script = await Script.StartAsync();
        using var cancellation = new CancellationTokenSource();
        var next = new TaskCompletionSource<string>(TaskCreationOptions.RunContinuationsAsynchronously);
        Submission reading = await script.ConnectAsync(7, async connection =>
        {
            PipeReader input = connection.AsDuplexPipe().Input;
            ReadResult read = await input.ReadAsync();
            input.AdvanceTo(read.Buffer.Start, read.Buffer.End);
            next.SetResult(await CancelledAsync(input, cancellation.Token) ? NextOf(input) : "not cancelled");
        });
        script.Kernel.Deliver(reading, "seen"u8.ToArray());
        Submission cancelling = await script.ConnectAsync(8, CancelAtInput(cancellation));

        script.Kernel.Deliver(cancelling, "x"u8.ToArray());

        Assert.Equal("nothing", await next.Task.Within());
    }

    [Fact]
    public async Task A_read_that_a_returning_handler_cancels_says_so()
    {
        await using Script script = await Script.StartAsync();
        using var cancellation = new CancellationTokenSource();
        Task<bool>? left = null;
        await script.ConnectAsync(7, connection =>
        {
            left = CancelledAsync(connection.AsDuplexPipe().Input, cancellation.Token);
            cancellation.Cancel();
            return Task.CompletedTask;
        });

        Assert.True(await left!.Within());
    }

    private static ConnectionHandler CancelAtInput(CancellationTokenSource cancellation) => async connection =>
    {
        await connection.ReadAsync();
        cancellation.Cancel();
    };

    private static async Task<bool> CancelledAsync(PipeReader input, CancellationToken cancellation)
    {
        try
        {
            await input.ReadAsync(cancellation);
            return false;
        }
        catch (OperationCanceledException)
        {
            return true;
        }
    }

    private static string NextOf(PipeReader input)
    {
        if (!input.TryRead(out ReadResult read))
        {
            return "nothing";
        }

        string bytes = Encoding.ASCII.GetString(read.Buffer);
        input.AdvanceTo(read.Buffer.End);
        return bytes;
    }
}
