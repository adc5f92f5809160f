using Millrace.Engine.Loop;
using Millrace.Engine.Tests.Kit;
using Millrace.Quic.Connections;
using Millrace.Quic.Streams;
using Millrace.QuicTransport.Tests.Kit;

namespace Millrace.QuicTransport.Tests;

/// <summary>Sends outside of callbacks, deadlines of handlers, migrations.</summary>
public class TimingTests : QuicTransportTest
{
    [Fact]
    public async Task What_is_written_outside_of_a_callback_is_sent_after_ScheduleSend()
    {
        QuicListener listener = await ListenAsync(createHandler: static connection => new LateHandler(connection));
        TestClient client = await ConnectAsync(listener);
        await client.EchoAsync(500).Within();
    }

    [Fact]
    public async Task A_deadline_calls_the_handler_once()
    {
        int calls = 0;
        var called = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        QuicListener listener = await ListenAsync(createHandler: connection => new DeadlineHandler(connection, () =>
        {
            calls++;
            called.TrySetResult();
        }));
        TestClient client = await ConnectAsync(listener);
        await called.Task.Within();
        await client.EchoAsync(500).Within();
        Assert.Equal(1, calls);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    [Trait("Rfc", "9000-9")]
    public async Task A_client_that_moves_stays_on_its_reactor(bool isSteered)
    {
        QuicListener listener = await ListenAsync(
            reactors: 3, sockets: new Engine.Datagrams.DatagramSettings { IsSteered = isSteered });
        TestClient[] clients = new TestClient[6];
        for (int i = 0; i < clients.Length; i++)
        {
            clients[i] = await ConnectAsync(listener);
            await clients[i].EchoAsync(1000).Within();
        }

        long[] connections = [.. listener.Counters.Select(static counters => counters.Connections)];
        foreach (TestClient client in clients)
        {
            Assert.True(await client.Connection.Reactor.AskAsync(client.Connection.TryMigrate));
        }

        await Task.WhenAll(clients.Select(static client => client.EchoAsync(300_000))).Within();
        await Waiting.UntilAsync(() => Sum(listener, static counters => counters.Migrations) == clients.Length, "all have moved");
        Assert.Equal(connections, listener.Counters.Select(static counters => counters.Connections));
    }

    /// <summary>Answers from a delay of the reactor.</summary>
    private sealed class LateHandler(QuicServerConnection connection) : EchoHandler(connection)
    {
        public override void OnStream(QuicConnection connection, QuicStream stream, StreamEvents events)
        {
            if (stream.IsReadToEnd || !stream.TryRead(out ReadOnlySpan<byte> bytes) || events.HasFlag(StreamEvents.Closed))
            {
                return;
            }

            byte[] copy = bytes.ToArray();
            stream.Consume(copy.Length);
            _ = AnswerAsync(stream, copy);
        }

        private async Task AnswerAsync(QuicStream stream, byte[] bytes)
        {
            await Transport.Reactor.Delay(TimeSpan.FromMilliseconds(5));
            stream.Write(bytes);
            stream.Finish();
            Transport.ScheduleSend();
        }
    }

    private sealed class DeadlineHandler(QuicServerConnection connection, Action call) : EchoHandler(connection)
    {
        public override void OnHandshakeComplete(QuicConnection connection)
        {
            Transport.SetDeadline(Transport.Reactor.NowMs + 5_000_000);
            Transport.SetDeadline(TimeLimit.Never);
            Transport.SetDeadline(Transport.Reactor.NowMs + 20);
        }

        public override void OnDeadline() => call();
    }
}
