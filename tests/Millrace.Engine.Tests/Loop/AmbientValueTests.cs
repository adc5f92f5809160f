using Millrace.Engine.Tests.Kit;

namespace Millrace.Engine.Tests.Loop;

/// <summary>What somebody sets on a reactor's thread is not there for who comes next.</summary>
public class AmbientValueTests
{
    private static readonly AsyncLocal<string?> Ambient = new();

    [Fact]
    public async Task A_handler_leaves_none_to_the_next()
    {
        await using Script script = await Script.StartAsync();
        string? seen = "nothing";
        await script.ConnectAsync(7, static _ =>
        {
            Ambient.Value = "the first one's";
            return Task.CompletedTask;
        });
        await script.Kernel.ExpectAsync("shutdown");

        await script.ConnectAsync(8, _ =>
        {
            seen = Ambient.Value;
            return Task.CompletedTask;
        });

        Assert.Null(seen);
    }

    [Fact]
    public async Task A_handler_leaves_none_to_what_follows_in_the_loop()
    {
        await using Script script = await Script.StartAsync();
        var seen = new TaskCompletionSource<string?>(TaskCreationOptions.RunContinuationsAsynchronously);
        bool isFirst = true;
        Submission receive = await script.ConnectAsync(7, connection =>
        {
            if (isFirst)
            {
                isFirst = false;
                connection.WaitIdle(TimeSpan.FromMinutes(1));
                return Task.CompletedTask;
            }

            connection.Reactor.Defer(_ => seen.SetResult(Ambient.Value), null);
            Ambient.Value = "a handler's";
            return Task.CompletedTask;
        });

        // Run by a completion: no post comes in between.
        script.Kernel.Deliver(receive, "x"u8.ToArray());

        Assert.Null(await seen.Task.Within());
    }

    [Fact]
    public async Task A_handler_that_throws_leaves_none_either()
    {
        await using Script script = await Script.StartAsync();
        await script.ConnectAsync(7, static _ =>
        {
            Ambient.Value = "a failed one's";
            throw new InvalidDataException("On purpose.");
        });

        Assert.Null(await script.Reactor.AskAsync(static () => Ambient.Value));
    }

    [Fact]
    public async Task A_handler_that_is_run_again_finds_none_of_the_run_before()
    {
        await using Script script = await Script.StartAsync();
        var gate = new TaskCompletionSource();
        var seen = new TaskCompletionSource<string?>(TaskCreationOptions.RunContinuationsAsynchronously);
        bool isFirst = true;
        Submission receive = await script.ConnectAsync(7, async connection =>
        {
            if (!isFirst)
            {
                seen.SetResult(Ambient.Value);
                return;
            }

            isFirst = false;
            Ambient.Value = "the first run's";
            connection.WaitIdle(TimeSpan.FromMinutes(1));
            await gate.Task;
            await connection.Reactor.SwitchTo();
        });

        // What comes while it is about to return has it run again where it returns.
        script.Kernel.Deliver(receive, "x"u8.ToArray());
        await script.ConnectionsAsync();
        gate.SetResult();

        Assert.Null(await seen.Task.Within());
    }

    [Fact]
    public async Task A_post_leaves_none_to_the_next()
    {
        await using Script script = await Script.StartAsync();
        script.Reactor.Post(static _ => Ambient.Value = "a post's", null);

        Assert.Null(await script.Reactor.AskAsync(static () => Ambient.Value));
    }

    [Fact]
    public async Task A_post_leaves_none_to_what_follows_in_the_loop()
    {
        await using Script script = await Script.StartAsync();
        var seen = new TaskCompletionSource<string?>(TaskCreationOptions.RunContinuationsAsynchronously);
        script.Reactor.Post(
            _ =>
            {
                Reactor.Current!.Defer(_ => seen.SetResult(Ambient.Value), null);
                Ambient.Value = "a post's";
            },
            null);

        Assert.Null(await seen.Task.Within());
    }

    [Fact]
    public async Task A_flow_that_was_suppressed_goes_on_behind_the_post()
    {
        await using Script script = await Script.StartAsync();
        script.Reactor.Post(static _ => ExecutionContext.SuppressFlow(), null);

        Assert.False(await script.Reactor.AskAsync(ExecutionContext.IsFlowSuppressed));
    }
}
