using Millrace.Quic.Packets;
using Millrace.Quic.Protection;
using Millrace.Quic.Recovery;
using Millrace.Quic.Streams;

namespace Millrace.Quic.Connections;

/// <summary>
/// What a connection has for each packet number space: what was received, its CRYPTO stream, and the keys of Initial and Handshake packets
/// (those of 1-RTT packets are in <see cref="KeyPhases"/>). It owns these.
/// </summary>
internal sealed class NumberSpace(PacketSpace id, BlockPool blocks) : IDisposable
{
    public PacketSpace Id { get; } = id;

    public ReceivedPackets Received { get; } = new(id);

    public CryptoStream Crypto { get; } = new(id, blocks);

    public PacketProtector? Sending { get; set; }

    public PacketProtector? Receiving { get; set; }

    public bool IsDiscarded { get; private set; }

    public PacketKind Kind => Id switch
    {
        PacketSpace.Initial => PacketKind.Initial,
        PacketSpace.Handshake => PacketKind.Handshake,
        _ => PacketKind.OneRtt,
    };

    /// <summary>The keys change: another version, or a Retry.</summary>
    public void ReplaceKeys(PacketProtector sending, PacketProtector receiving)
    {
        Sending?.Dispose();
        Receiving?.Dispose();
        Sending = sending;
        Receiving = receiving;
    }

    /// <summary>The keys are discarded (RFC 9001, section 4.9), and all that waits to be sent with them.</summary>
    public void Discard()
    {
        IsDiscarded = true;
        Sending?.Dispose();
        Receiving?.Dispose();
        Sending = Receiving = null;
        Crypto.Dispose();
        Received.OnAckSent();
    }

    public void Dispose() => Discard();
}
