using Millrace.Engine.Backends;
using Millrace.Engine.Tests.Kit;

namespace Millrace.Engine.Tests.Loop;

/// <summary>What is put off to the end of an iteration.</summary>
public class DeferredTests
{
    [Fact]
    public async Task What_is_deferred_sees_all_that_the_turn_brought_and_is_sent_with_it()
    {
        await using Script script = await Script.StartAsync();
        var seen = new List<string>();
        var connections = new List<Connection>();
        ConnectionHandler handler = async connection =>
        {
            connections.Add(connection);
            await connection.ReadAsync();
            seen.Add("read");
            connection.Reactor.Defer(_ => seen.Add("deferred"), null);
            if (connections.Count == 2 && seen.Count(static step => step == "read") == 2)
            {
                connection.Reactor.Defer(
                    static state =>
                    {
                        foreach (Connection each in (List<Connection>)state!)
                        {
                            each.Write("end of iteration"u8);
                            each.Flush();
                        }
                    },
                    connections);
            }

            await connection.ReadAsync();
        };
        Submission one = await script.ConnectAsync(7, handler);
        Submission other = await script.ConnectAsync(8, handler);
        script.Kernel.CompleteTogether(
            (one, 1, CompletionFlags.More, "x"u8.ToArray()),
            (other, 1, CompletionFlags.More, "x"u8.ToArray()));
        Submission[] sends = [await script.Kernel.ExpectAsync("send"), await script.Kernel.ExpectAsync("send")];
        Assert.All(sends, static send => Assert.Equal("end of iteration"u8, send.Bytes));
        Assert.Equal(["read", "read", "deferred", "deferred"], seen);

        foreach (Submission send in sends)
        {
            script.Kernel.Complete(send, send.Bytes!.Length);
        }

        foreach (Submission receive in (Submission[])[one, other])
        {
            script.Kernel.Complete(receive, 0);
        }

        await script.Kernel.ExpectAsync("close");
        await script.Kernel.ExpectAsync("close");
    }

    [Fact]
    public async Task What_deferred_work_defers_belongs_to_the_same_turn()
    {
        await using Script script = await Script.StartAsync();
        long iterations = await script.Reactor.AskAsync(() =>
        {
            script.Reactor.Defer(
                _ => script.Reactor.Defer(_ => script.Reactor.Defer(_ => Thread.MemoryBarrier(), null), null),
                null);
            return script.Reactor.Counters.Iterations;
        });
        Assert.InRange(await script.Reactor.AskAsync(() => script.Reactor.Counters.Iterations) - iterations, 1, 2);
    }

    [Fact]
    public async Task Elsewhere_nothing_can_be_deferred()
    {
        await using Script script = await Script.StartAsync();
        Assert.Throws<InvalidOperationException>(() => script.Reactor.Defer(static _ => { }, null));
    }
}
