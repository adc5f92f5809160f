using System.Buffers;
using System.IO.Pipelines;
using System.Text;
using Millrace.Engine.Tests.Kit;

namespace Millrace.Engine.Tests.Connections;

/// <summary>
/// A connection that is kept beyond its handler: its object serves the next peer, whose bytes are none of the first one's business.
/// </summary>
public class StaleUseTests
{
    [Theory]
    [InlineData("lingers")]
    [InlineData("is gone")]
    [InlineData("rests")]
    public async Task A_connection_is_refused_to_a_handler_that_has_returned(string how)
    {
        await using Script script = await Script.StartAsync();
        Connection? kept = null;
        Submission receive = await script.ConnectAsync(7, connection =>
        {
            kept = connection;
            if (how == "rests")
            {
                connection.WaitIdle(TimeSpan.FromMinutes(1));
            }

            return Task.CompletedTask;
        });
        if (how != "rests")
        {
            await script.Kernel.ExpectAsync("shutdown");
        }

        if (how == "is gone")
        {
            script.Kernel.Complete(receive, 0);
            await script.ExpectClosedAsync(7);
        }

        Assert.Equal("", await script.Reactor.AskAsync(() => AllowedOf(UsesOf(kept!))));

        // To end it is no use of it, and nothing where it has ended.
        Assert.Null(await script.Reactor.AskAsync(() => Record.Exception(kept!.Abort)));
    }

    [Fact]
    public async Task Pipes_are_refused_to_a_handler_that_has_returned()
    {
        await using Script script = await Script.StartAsync();
        IDuplexPipe? kept = null;
        await script.ConnectAsync(7, connection =>
        {
            kept = connection.AsDuplexPipe();
            return Task.CompletedTask;
        });
        await script.Kernel.ExpectAsync("shutdown");

        Assert.Equal("", await script.Reactor.AskAsync(() => AllowedOf(UsesOf(kept!))));
    }

    [Fact]
    public async Task Pipes_of_an_earlier_peer_reach_nothing_of_the_next_one()
    {
        await using Script script = await Script.StartAsync();
        IDuplexPipe? kept = null;
        ReadResult open = default;
        Submission first = await script.ConnectAsync(7, async connection =>
        {
            kept = connection.AsDuplexPipe();
            open = await kept.Input.ReadAsync();
        });
        script.Kernel.Deliver(first, "mine"u8.ToArray());
        await script.Kernel.ExpectAsync("shutdown");
        script.Kernel.Complete(first, 0);
        await script.ExpectClosedAsync(7);

        var more = new TaskCompletionSource();
        ReadResult shown = default;
        string seen = "";
        Submission second = await script.ConnectAsync(8, async connection =>
        {
            IDuplexPipe own = connection.AsDuplexPipe();
            own.Output.Write("answer"u8);
            shown = await own.Input.ReadAsync();
            await more.Task;
            await connection.Reactor.SwitchTo();
            seen = Encoding.ASCII.GetString(shown.Buffer);
            own.Input.AdvanceTo(shown.Buffer.End);
        });
        Assert.Equal(first.Token.Slot, second.Token.Slot);
        script.Kernel.Deliver(second, "secret"u8.ToArray());
        script.Kernel.Deliver(second, " and more"u8.ToArray());
        await script.ConnectionsAsync();

        string allowed = await script.Reactor.AskAsync(() => AllowedOf(UsesOf(kept!)));
        Exception? advanced = await script.Reactor.AskAsync(() => Record.Exception(() => kept!.Input.AdvanceTo(open.Buffer.End)));

        // Who gives them up says so, also late, and as a failure: it is no use of them.
        var failure = new InvalidDataException("On purpose.");
        Exception? completed = await script.Reactor.AskAsync(() => Record.Exception(() => kept!.Input.Complete(failure)));
        completed ??= await script.Reactor.AskAsync(() => Record.Exception(() => kept!.Output.Complete(failure)));
        more.SetResult();

        Assert.Equal("", allowed);
        Assert.IsType<InvalidOperationException>(advanced);
        Assert.Null(completed);
        Assert.Equal("answer"u8.ToArray(), (await script.Kernel.ExpectAsync("send")).Bytes);
        Assert.Equal("secret", seen);
    }

    [Fact]
    public async Task A_handle_is_not_had_for_the_next_peer()
    {
        await using Script script = await Script.StartAsync();
        Connection? kept = null;
        Submission first = await script.ConnectAsync(7, connection =>
        {
            kept = connection;
            return Task.CompletedTask;
        });
        await script.Kernel.ExpectAsync("shutdown");
        script.Kernel.Complete(first, 0);
        await script.ExpectClosedAsync(7);

        Assert.IsType<InvalidOperationException>(await script.Reactor.AskAsync(() => Record.Exception(() => _ = kept!.AbortHandle)));
    }

    private static Dictionary<string, Action> UsesOf(Connection connection) =>
        new(ConnectionMembers.Of(connection)) { ["UnsentBytes"] = () => _ = connection.UnsentBytes };

    private static Dictionary<string, Action> UsesOf(IDuplexPipe pipe) => new()
    {
        ["TryRead"] = () => pipe.Input.TryRead(out ReadResult _),
        ["ReadAsync"] = () => _ = pipe.Input.ReadAsync().AsTask(),
        ["GetSpan"] = () => pipe.Output.GetSpan(),
        ["GetMemory"] = () => pipe.Output.GetMemory(),
        ["Advance"] = () => pipe.Output.Advance(0),
        ["UnflushedBytes"] = () => _ = pipe.Output.UnflushedBytes,
        ["FlushAsync"] = () => _ = pipe.Output.FlushAsync().AsTask(),
    };

    private static string AllowedOf(Dictionary<string, Action> uses) => string.Join(", ", uses.Where(IsAllowed).Select(static use => use.Key));

    private static bool IsAllowed(KeyValuePair<string, Action> use) =>
        Record.Exception(use.Value) is not InvalidOperationException error
        || !error.Message.Contains("has returned", StringComparison.Ordinal);
}
