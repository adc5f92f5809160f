using Millrace.Quic.Connections;
using Millrace.Quic.Packets;
using Millrace.Quic.Recovery;
using Millrace.Quic.Streams;
using Millrace.Tests.Shared;

namespace Millrace.Quic.Tests.Connections;

/// <summary>What an observer of packets sees.</summary>
public sealed class TraceTests
{
    [Fact]
    public void Each_end_sees_what_the_other_has_sent_except_what_was_lost_which_the_sender_learns()
    {
        List<SeenPackets> ends = [];
        QuicSettings settings = QuicSettings.Default with
        {
            CreateTrace = connection =>
            {
                ends.Add(new SeenPackets(connection.IsServer));
                return ends[^1];
            },
        };
        using QuicPair pair = new(settings);
        pair.Connect();
        pair.Run(200);
        int large = 0;
        pair.Drops = (fromClient, bytes) => fromClient && bytes.Length > 1_000 && ++large == 3;
        Assert.True(pair.ClientConnection!.Streams.TryOpen(isBidirectional: true, out QuicStream? stream));
        stream!.Write(new byte[10_000]);
        stream.Finish();
        pair.Run(1_000);
        pair.ClientConnection.Close(7, "done", pair.Now);
        pair.Run(1_000);

        SeenPackets client = ends.Single(static end => !end.IsServer);
        SeenPackets server = ends.Single(static end => end.IsServer);
        Assert.Single(client.Lost);
        Assert.Equal(server.Sent, client.Received);
        Assert.Equal(client.Sent.Where(packet => !packet.StartsWith(client.Lost[0], StringComparison.Ordinal)), server.Received);
        Assert.Contains(client.Sent, static packet => packet.Contains("stream 0 at 0 ", StringComparison.Ordinal));
        Assert.True(client.Acknowledgments > 0);
        Assert.Equal(CloseSource.Peer, server.Reason!.Value.Source);
        Assert.Equal(7, server.Reason!.Value.Code);
    }

    private sealed class SeenPackets(bool isServer) : IConnectionTrace
    {
        public bool IsServer => isServer;

        public List<string> Sent { get; } = [];

        public List<string> Received { get; } = [];

        public List<string> Lost { get; } = [];

        public int Acknowledgments { get; private set; }

        public CloseReason? Reason { get; private set; }

        public void OnPacketSent(PacketKind kind, long number, int size, ReadOnlySpan<byte> frames, long now) =>
            Sent.Add($"{kind} {number}: {Text(frames, kind, isReadByServer: !isServer)}");

        public void OnPacketReceived(PacketKind kind, long number, int size, ReadOnlySpan<byte> frames, long now) =>
            Received.Add($"{kind} {number}: {Text(frames, kind, isReadByServer: isServer)}");

        public void OnPacketLost(PacketSpace space, long number, long now)
        {
            Assert.Equal(PacketSpace.Application, space);
            Lost.Add($"{PacketKind.OneRtt} {number}: ");
        }

        public void OnAcknowledged(LossDetection recovery) => Acknowledgments++;

        public void OnClosed(in CloseReason reason) => Reason = reason;

        /// <summary>The sender's view has no padding yet.</summary>
        private static string Text(ReadOnlySpan<byte> frames, PacketKind kind, bool isReadByServer) => string.Join(
            "; ",
            FrameText.Of(frames, kind, isReadByServer).Split("; ").Where(static frame => !frame.StartsWith("padding", StringComparison.Ordinal)));
    }
}
