#if !DEBUG
using Millrace.Engine;
using Millrace.Engine.Tests.Kit;
using Millrace.Quic.Connections;
using Millrace.Quic.Streams;
using Millrace.QuicTransport.Tests.Kit;

namespace Millrace.QuicTransport.Tests;

/// <summary>A request in the steady state allocates nothing on the server's reactor. Release only: Debug builds record each lent block.</summary>
public class AllocationTests : QuicTransportTest
{
    [Fact]
    public async Task A_request_on_a_stream_of_its_own_allocates_nothing()
    {
        var rounds = new AllocationRounds(2_000);
        var allocated = new TaskCompletionSource<long>(TaskCreationOptions.RunContinuationsAsynchronously);
        QuicListener listener = await ListenAsync(createHandler: connection => new CountingHandler(connection, rounds, allocated));
        ReactorGroup clients = await StartAsync();
        TestClient client = await ConnectAsync(listener, clients.Reactors[0]);
        for (int i = 0; i <= rounds.Requests; i++)
        {
            await client.EchoAsync(100).Within();
        }

        Assert.Equal(0, await allocated.Task.Within());
    }

    private sealed class CountingHandler(QuicServerConnection connection, AllocationRounds rounds, TaskCompletionSource<long> allocated)
        : EchoHandler(connection)
    {
        private int _requests;

        public override void OnStream(QuicConnection connection, QuicStream stream, StreamEvents events)
        {
            if ((events & StreamEvents.Opened) != 0 && _requests <= rounds.Requests)
            {
                rounds.NoteRequest();
                if (_requests++ == rounds.Requests)
                {
                    allocated.TrySetResult(rounds.Least);
                }
            }

            base.OnStream(connection, stream, events);
        }
    }
}
#endif
