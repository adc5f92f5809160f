using Millrace.Quic.Connections;
using Millrace.Quic.Packets;
using Millrace.Quic.Recovery;
using Millrace.Tests.Shared;

namespace Millrace.Quic.Tests.Connections;

/// <summary>What one end has sent and received, in words: kind, number, and frames but for padding.</summary>
internal sealed class PacketLog(QuicConnection connection) : IConnectionTrace
{
    public bool IsServer => connection.IsServer;

    public List<(PacketKind Kind, long Number, string Frames)> Sent { get; } = [];

    public List<(PacketKind Kind, long Number, string Frames)> Received { get; } = [];

    /// <summary>Both ends of a pair write into a list.</summary>
    public static QuicSettings Into(List<PacketLog> ends, QuicSettings? settings = null) => (settings ?? QuicSettings.Default) with
    {
        CreateTrace = connection =>
        {
            ends.Add(new PacketLog(connection));
            return ends[^1];
        },
    };

    public void OnPacketSent(PacketKind kind, long number, int size, ReadOnlySpan<byte> frames, long now) =>
        Sent.Add((kind, number, Text(frames, kind, isReadByServer: !IsServer)));

    public void OnPacketReceived(PacketKind kind, long number, int size, ReadOnlySpan<byte> frames, long now) =>
        Received.Add((kind, number, Text(frames, kind, isReadByServer: IsServer)));

    public void OnPacketLost(PacketSpace space, long number, long now)
    {
    }

    public void OnAcknowledged(LossDetection recovery)
    {
    }

    public void OnClosed(in CloseReason reason)
    {
    }

    private static string Text(ReadOnlySpan<byte> frames, PacketKind kind, bool isReadByServer) => string.Join(
        "; ",
        FrameText.Of(frames, kind, isReadByServer).Split("; ").Where(static frame => !frame.StartsWith("padding", StringComparison.Ordinal)));
}
