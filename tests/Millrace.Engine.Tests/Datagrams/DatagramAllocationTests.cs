#if !DEBUG
using System.Net;
using Millrace.Engine.Datagrams;
using Millrace.Engine.Tests.Datagrams.Kit;
using Millrace.Engine.Tests.Kit;

namespace Millrace.Engine.Tests.Datagrams;

/// <summary>Datagrams in the steady state allocate nothing. Release only: Debug builds record each lent block.</summary>
public class DatagramAllocationTests : DatagramTest
{
    [Theory]
    [InlineData(100, 100)]
    [InlineData(30_000, 1_200)]
    public async Task A_datagram_that_is_received_and_answered_allocates_nothing(int bytes, int segmentBytes)
    {
        await StartAsync();
        var rounds = new AllocationRounds(3_000);
        var players = new Player[] { new(rounds), new(null) };
        var sockets = new List<DatagramSocket>();
        foreach (Player player in players)
        {
            using DatagramSockets opened = DatagramSockets.Open(new IPEndPoint(IPAddress.Loopback, 0), 1);
            int descriptor = opened.Take(0);
            sockets.Add(await Reactor.AskAsync(() =>
            {
                var socket = new DatagramSocket(Reactor, descriptor, player);
                socket.Start();
                return socket;
            }));
        }

        Assert.True(await SendAsync(sockets[1], new byte[bytes], segmentBytes, sockets[0].LocalAddress));
        await players[0].Done.Task.Within();
        await Reactor.AskAsync(() =>
        {
            sockets.ForEach(static socket => socket.Close());
            return 0;
        });
        await Waiting.UntilAsync(() => Array.TrueForAll(players, static player => player.IsClosed), "both are closed");
        Assert.Equal(0, rounds.Least);
    }

    /// <summary>Sends back what it gets.</summary>
    private sealed class Player(AllocationRounds? rounds) : IDatagramHandler
    {
        private int _requests;

        public TaskCompletionSource Done { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);

        public volatile bool IsClosed;

        public void OnReceived(
            DatagramSocket socket, Span<byte> bytes, int segmentBytes, in DatagramAddress from, in DatagramAddress to, DatagramEcn ecn)
        {
            rounds?.NoteRequest();
            if (rounds is not null && ++_requests > rounds.Requests)
            {
                Done.TrySetResult();
                return;
            }

            Span<byte> buffer = socket.GetSendBuffer(bytes.Length);
            bytes.CopyTo(buffer);
            socket.Send(bytes.Length, segmentBytes, from, to, DatagramEcn.Ect0);
        }

        public void OnReceivedAll(DatagramSocket socket)
        {
        }

        public void OnRoom(DatagramSocket socket)
        {
        }

        public void OnClosed(DatagramSocket socket) => IsClosed = true;
    }
}
#endif
