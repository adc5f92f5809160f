using Millrace.Engine.Backends;
using Millrace.Engine.Tests.Kit;
using Millrace.Interop;

namespace Millrace.Engine.Tests.Filters;

/// <summary>What filters have made is sent by a call, while it is in the cache; what the socket does not take goes the usual way.</summary>
public class FilteredSendTests
{
    private static readonly byte[] Question = Masked("hello"u8);

    [Fact]
    public async Task Each_connection_sends_before_the_next_one_of_the_iteration_runs()
    {
        await using Script script = await Script.StartAsync();
        bool firstHasSent = false;
        Submission first = await script.ConnectAsync(7, AnswerAsync, static _ => [new XorFilter()]);
        Submission second = await script.ConnectAsync(
            8,
            async connection =>
            {
                await connection.ReadAsync();
                firstHasSent = connection.Reactor.Counters.BytesSent > 0;
                connection.Write("second"u8);
                connection.Flush();
                await connection.ReadAsync();
            },
            static _ => [new XorFilter()]);
        script.Kernel.CompleteTogether(
            (first, Question.Length, CompletionFlags.More, Question), (second, Question.Length, CompletionFlags.More, Question));
        Submission sent = await script.Kernel.ExpectAsync("send now");
        Assert.Equal(7, sent.Socket);
        Assert.Equal(Masked("answer"u8), sent.Bytes);
        sent = await script.Kernel.ExpectAsync("send now");
        Assert.Equal(8, sent.Socket);
        Assert.Equal(Masked("second"u8), sent.Bytes);
        Assert.True(firstHasSent);
    }

    [Theory]
    [InlineData(2)]
    [InlineData(-Errno.EAGAIN)]
    public async Task What_the_socket_does_not_take_is_submitted(int taken)
    {
        await using Script script = await Script.StartAsync();
        Submission receive = await script.ConnectAsync(7, AnswerAsync, static _ => [new XorFilter()]);
        script.Kernel.Calls.Enqueue(taken);
        script.Kernel.Deliver(receive, Question);
        await script.Kernel.ExpectAsync("send now");
        Submission rest = await script.Kernel.ExpectAsync("send");
        Assert.Equal(Masked("answer"u8)[Math.Max(0, taken)..], rest.Bytes);
        script.Kernel.Complete(rest, rest.Bytes.Length);
    }

    [Fact]
    public async Task What_is_sent_without_a_copy_is_submitted()
    {
        await using Script script = await Script.StartAsync();
        script.Kernel.ZeroCopyFrom = 1;
        Submission receive = await script.ConnectAsync(7, AnswerAsync, static _ => [new XorFilter()]);
        script.Kernel.Deliver(receive, Question);
        Submission sent = await script.Kernel.ExpectAsync("zero-copy send");
        Assert.Equal(Masked("answer"u8), sent.Bytes);
    }

    [Fact]
    public async Task Who_writes_as_fast_as_it_is_sent_lets_others_have_their_turn()
    {
        await using Script script = await Script.StartAsync();
        int pieces = 0;
        bool hasOther = false;
        Submission first = await script.ConnectAsync(
            7,
            async connection =>
            {
                await connection.ReadAsync();
                for (; pieces < 1_000 && !hasOther; pieces++)
                {
                    connection.Write("piece"u8);
                    await connection.FlushAsync();
                }
            },
            static _ => [new XorFilter()]);
        Submission second = await script.ConnectAsync(8, async connection =>
        {
            await connection.ReadAsync();
            hasOther = true;
        });
        script.Kernel.Deliver(first, Question);
        await script.Kernel.ExpectAsync("send now");
        script.Kernel.Deliver(second, Question);
        await script.ConnectionsAsync();
        for (int i = 0; i < 1_000 && !hasOther; i++)
        {
            await script.ConnectionsAsync();
        }

        Assert.True(hasOther);
        Assert.InRange(pieces, 1, 999);
    }

    [Fact]
    public async Task Without_filters_the_iteration_sends_at_its_end()
    {
        await using Script script = await Script.StartAsync();
        Submission receive = await script.ConnectAsync(7, AnswerAsync);
        script.Kernel.Deliver(receive, Question);
        Submission sent = await script.Kernel.ExpectAsync("send");
        Assert.Equal("answer"u8, sent.Bytes);
    }

    private static async Task AnswerAsync(Connection connection)
    {
        await connection.ReadAsync();
        connection.Write("answer"u8);
        connection.Flush();
        await connection.ReadAsync();
    }

    private static byte[] Masked(ReadOnlySpan<byte> plain)
    {
        byte[] bytes = plain.ToArray();
        for (int i = 0; i < bytes.Length; i++)
        {
            bytes[i] ^= XorFilter.Mask;
        }

        return bytes;
    }
}
