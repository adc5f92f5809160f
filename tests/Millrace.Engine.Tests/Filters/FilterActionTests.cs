using System.Text;
using Millrace.Engine.Tests.Kit;

namespace Millrace.Engine.Tests.Filters;

/// <summary>What a filter does on its own: it speaks, holds the handler back, ends its input, ends the connection.</summary>
public class FilterActionTests : EngineTest
{
    [Fact]
    public async Task A_word_of_its_own_takes_nothing_along_that_the_handler_has_not_flushed()
    {
        Listener listener = await ServeAsync(
            async connection =>
            {
                connection.Write("unsaid"u8);
                await connection.ReadAsync();
                connection.Retract(6);
                connection.Write("said"u8);
            },
            filters: static _ => [new CommandedFilter()]);
        Client client = await ConnectAsync(listener);
        await client.SendAsync("W");
        Assert.Equal("[word]", await client.ReceiveTextAsync(6));
        await client.SendAsync("W");
        Assert.Equal("[word]", await client.ReceiveTextAsync(6));
        await client.SendAsync("x");
        Assert.Equal("said[end]", await ReceiveToEndAsync(client));
    }

    [Fact]
    public async Task A_word_goes_out_with_what_is_flushed_in_the_same_turn_and_before_it()
    {
        Listener listener = await ServeAsync(Handlers.EchoAsync, filters: static _ => [new CommandedFilter()]);
        Client client = await ConnectAsync(listener);
        await client.SendAsync("aWb");
        client.EndSending();
        Assert.Equal("[word]ab[end]", await ReceiveToEndAsync(client));
    }

    [Fact]
    public async Task A_handler_that_is_held_back_runs_when_the_filter_says_so()
    {
        int runs = 0;
        Listener listener = await ServeAsync(
            connection =>
            {
                runs++;
                connection.Write("hello"u8);
                return Task.CompletedTask;
            },
            filters: static _ => [new CommandedFilter(holds: true)]);
        Client client = await ConnectAsync(listener);
        await client.SendAsync("W");
        Assert.Equal("[word]", await client.ReceiveTextAsync(6));
        Assert.Equal(0, runs);
        await client.SendAsync("SS");
        Assert.Equal("hello[end]", await ReceiveToEndAsync(client));
        Assert.Equal(1, runs);
    }

    [Fact]
    public async Task Input_starts_a_handler_that_is_held_back()
    {
        Listener listener = await ServeAsync(Handlers.EchoAsync, filters: static _ => [new CommandedFilter(holds: true)]);
        Client client = await ConnectAsync(listener);
        await client.SendAsync("ab");
        Assert.Equal("ab", await client.ReceiveTextAsync(2));
        await client.SendAsync("Sc");
        Assert.Equal("c", await client.ReceiveTextAsync(1));
    }

    [Fact]
    public async Task A_peer_that_goes_while_the_handler_is_held_back_leaves_nothing()
    {
        CommandedFilter? filter = null;
        Listener listener = await ServeAsync(
            static _ => throw new InvalidOperationException("Nobody has started it."), filters: _ => [filter = new CommandedFilter(holds: true)]);
        Client client = await ConnectAsync(listener);
        client.EndSending();
        Assert.Equal("[end]", await ReceiveToEndAsync(client));
        await Waiting.UntilAsync(() => Reactor.Connections.Count == 0, "the slot was returned");
        Assert.True(filter!.IsReleased);
    }

    [Fact]
    public async Task A_held_back_handler_ends_with_its_group()
    {
        Listener listener = await ServeAsync(Handlers.EchoAsync, filters: static _ => [new CommandedFilter(holds: true)]);
        Client client = await ConnectAsync(listener);
        await client.SendAsync("W");
        Assert.Equal("[word]", await client.ReceiveTextAsync(6));
        Task stop = Group.StopAsync(TimeSpan.FromSeconds(15));

        // What only a filter has seen is no request: the first one still gets its moment, which no thread but the reactor's meets for sure.
        void SendWhenItDrains(object? state)
        {
            if (Reactor.IsDraining)
            {
                _ = client.Socket.Send("a"u8);
            }
            else
            {
                Reactor.Post(SendWhenItDrains, null);
            }
        }

        Reactor.Post(SendWhenItDrains, null);
        Assert.Equal("a", await client.ReceiveTextAsync(1));
        client.EndSending();
        Assert.Equal("[end]", await ReceiveToEndAsync(client));
        await stop.Within();
    }

    [Fact]
    public async Task An_end_by_the_filter_is_an_end_for_the_handler_who_may_still_answer()
    {
        Listener listener = await ServeAsync(
            async connection =>
            {
                ReadOutcome outcome;
                while ((outcome = await connection.ReadAsync()) == ReadOutcome.Data)
                {
                    connection.Consume(connection.Input.Length);
                }

                connection.Write(Encoding.ASCII.GetBytes($"{outcome} {await connection.ReadAsync()}"));
            },
            filters: static _ => [new CommandedFilter()]);
        Client client = await ConnectAsync(listener);
        await client.SendAsync("abE");
        Assert.Equal("End End[end]", await ReceiveToEndAsync(client));
        client.EndSending();
        await Waiting.UntilAsync(() => Reactor.Connections.Count == 0, "the slot was returned");
    }

    [Fact]
    public async Task An_end_that_a_filter_keeps_back_is_not_lost()
    {
        Listener listener = await ServeAsync(
            static async connection =>
            {
                ReadOutcome outcome;
                while ((outcome = await connection.ReadAsync()) == ReadOutcome.Data)
                {
                }

                connection.Write(Encoding.ASCII.GetBytes($"{outcome} after {connection.Input.Length}"));
            },
            filters: static _ => [new CommandedFilter(), new SplittingFilter()]);
        Client client = await ConnectAsync(listener);
        await client.SendAsync("Kab");
        client.EndSending();
        Assert.Equal("End after 2[end]", await ReceiveToEndAsync(client));
    }

    [Fact]
    public async Task A_filter_that_fails_has_the_last_word_and_the_handler_sees_a_reset()
    {
        var outcome = new TaskCompletionSource<ReadOutcome>();
        Listener listener = await ServeAsync(
            async connection =>
            {
                outcome.SetResult(await connection.ReadAsync());
                connection.Write("in vain"u8);
            },
            filters: static _ => [new CommandedFilter()]);
        Client client = await ConnectAsync(listener);

        // What comes after it is dropped: unread it would make a reset of the end, and that could destroy the word.
        await client.SendAsync("F" + new string('x', 100_000));
        Assert.Equal("[failed]", await ReceiveToEndAsync(client));
        Assert.Equal(ReadOutcome.Reset, await outcome.Task.Within());
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task A_handler_that_is_busy_elsewhere_does_not_hold_up_the_end_of_a_filter_that_fails(bool hasWritten)
    {
        var elsewhere = new TaskCompletionSource();
        var outcome = new TaskCompletionSource<FlushOutcome>();
        Listener listener = await ServeAsync(
            async connection =>
            {
                await elsewhere.Task;
                await connection.Reactor.SwitchTo();
                connection.Write("in vain"u8);
                outcome.SetResult(await connection.FlushAsync());
            },
            filters: static _ => [new CommandedFilter()]);
        Client client = await ConnectAsync(listener);
        if (hasWritten)
        {
            await Reactor.AskAsync(() =>
            {
                Reactor.Connections.At(0).Write("unsaid"u8);
                return 0;
            });
        }

        await client.SendAsync("F");
        Assert.Equal("[failed]", await ReceiveToEndAsync(client));
        client.EndSending();
        elsewhere.SetResult();
        await outcome.Task.Within();
        await Waiting.UntilAsync(() => Reactor.Connections.Count == 0, "the slot was returned");
    }

    [Fact]
    public async Task A_handler_that_goes_on_writing_is_not_heard_once_the_filter_has_failed()
    {
        Listener listener = await ServeAsync(
            static async connection =>
            {
                do
                {
                    connection.Write(new byte[30_000]);
                }
                while (await connection.FlushAsync() == FlushOutcome.Sent);
            },
            filters: static _ => [new CommandedFilter()]);
        Client client = await ConnectAsync(listener);
        await client.ReceiveAsync(100_000);
        await client.SendAsync("F");
        byte[] all = await client.ReceiveToEndAsync();
        Assert.True(all.AsSpan().EndsWith("[failed]"u8));
    }

    [Fact]
    public async Task The_deadline_of_a_filter_is_met_while_the_handler_is_held_back()
    {
        Listener listener = await ServeAsync(Handlers.EchoAsync, filters: static _ => [new CommandedFilter(holds: true)]);
        Client client = await ConnectAsync(listener);
        await client.SendAsync("T");
        Assert.Equal("[late]", await ReceiveToEndAsync(client));
    }

    [Fact]
    public async Task What_a_filter_puts_off_may_fail_and_costs_its_connection_only()
    {
        Listener listener = await ServeAsync(Handlers.EchoAsync, filters: static _ => [new CommandedFilter()]);
        Client bystander = await ConnectAsync(listener);
        Client client = await ConnectAsync(listener);
        await client.SendAsync("C");
        await client.ExpectResetAsync();
        await bystander.SendAsync("a");
        Assert.Equal("a", await bystander.ReceiveTextAsync(1));
        Assert.Equal(1, Log.Count(301));
    }

    [Fact]
    public async Task A_handler_may_consume_what_it_was_shown_when_its_filter_fails_to_encode()
    {
        var consumed = new TaskCompletionSource<int>();
        Listener listener = await ServeAsync(
            async connection =>
            {
                await connection.ReadAsync();
                int count = connection.Input.Length;
                connection.Write("a"u8);
                ValueTask<FlushOutcome> flush = connection.FlushAsync();
                connection.Writer.SendFlushedNow();
                try
                {
                    connection.Consume(count);
                    consumed.SetResult(count);
                }
                catch (ArgumentOutOfRangeException lost)
                {
                    consumed.SetException(lost);
                }

                await flush;
            },
            filters: static _ => [new CommandedFilter()]);
        Client client = await ConnectAsync(listener);
        await client.SendAsync("Nx");
        Assert.Equal(1, await consumed.Task.Within());
        await client.ExpectResetAsync();
    }

    [Fact]
    public async Task The_next_peer_of_a_slot_is_served_when_a_wait_for_the_last_peers_end_ended_with_its_connection()
    {
        bool isFirst = true;
        var ended = new TaskCompletionSource<ReadOutcome>();
        Listener listener = await ServeAsync(
            async connection =>
            {
                if (isFirst)
                {
                    isFirst = false;
                    Assert.Equal(ReadOutcome.End, await connection.ReadAsync());
                    ended.SetResult(await connection.Reader.ReadPeersEndAsync());
                    return;
                }

                await Handlers.EchoAsync(connection);
            },
            Options(new Limits { Linger = TimeSpan.FromMilliseconds(20) }),
            filters: static _ => [new CommandedFilter()]);
        Client first = await ConnectAsync(listener);
        await first.SendAsync("EF");
        Assert.Equal("[failed]", await ReceiveToEndAsync(first));
        await ended.Task.Within();
        await Waiting.UntilAsync(() => Reactor.Connections.Count == 0, "the slot was returned");

        Client second = await ConnectAsync(listener);
        await second.SendAsync("a");
        Assert.Equal("a", await second.ReceiveTextAsync(1));
        Assert.Equal(1, Reactor.Connections.Slots);
    }

    [Fact]
    public async Task A_filter_is_found_by_its_kind()
    {
        var seen = new TaskCompletionSource<(bool, bool, bool)>();
        Listener listener = await ServeAsync(
            connection =>
            {
                bool hasBoth = connection.Filters.Find<CommandedFilter>() is not null && connection.Filters.Find<XorFilter>() is not null;
                seen.SetResult((hasBoth, connection.Filters.Find<PrefaceFilter>() is null, connection.Filters.Find<SplittingFilter>() is null));
                return Task.CompletedTask;
            },
            filters: static _ => [new CommandedFilter(), new XorFilter()]);
        await ConnectAsync(listener);
        Assert.Equal((true, true, true), await seen.Task.Within());
    }

    private static async Task<string> ReceiveToEndAsync(Client client) => Encoding.ASCII.GetString(await client.ReceiveToEndAsync());
}
