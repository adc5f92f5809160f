using System.Buffers.Binary;
using Millrace.Quic.Frames;
using Millrace.Quic.Packets;
using Millrace.Quic.Protection;

namespace Millrace.Quic.Connections;

/// <summary>
/// Writes responses to datagrams of no connection, without any state: Version Negotiation, Retry, refusals and stateless resets. Each is
/// smaller than what it answers, and all together are limited in a second.
/// </summary>
internal sealed class EndpointReplies(
    QuicCryptography cryptography, AddressTokens tokens, ReplyBucket bucket, ConnectionIdRule idRule)
{
    /// <summary>The length of no reply exceeds this.</summary>
    public const int MaximumLength = 1200;

    private const int StackMaximum = 2048;

    /// <summary>The versions of this endpoint, for a client that has another one (RFC 9000, section 6.1).</summary>
    public int WriteVersionNegotiation(in PacketHeader header, Span<byte> reply, long now) => bucket.TryTake(now)
        ? VersionNegotiationPacket.Write(reply, header.SourceId, header.DestinationId, QuicVersion.Supported, RandomWord())
        : 0;

    /// <summary>Has a client prove its address (section 8.1.2). Not limited: it is what limits the rest.</summary>
    public int WriteRetry(in PacketHeader header, in PathAddress client, Span<byte> reply, long now)
    {
        ConnectionId original = new(header.DestinationId);
        ConnectionId source = EndpointTable.CreateRandom(cryptography, idRule);
        Span<byte> token = stackalloc byte[AddressTokens.MaximumLength];
        int length = tokens.WriteRetry(client, original, source, now, token);
        return RetryPacket.Write(
            reply, cryptography, header.Version, header.SourceId, source.AsSpan, original.AsSpan, token[..length]);
    }

    /// <summary>
    /// CONNECTION_CLOSE for a client whose connection is not accepted, if its <paramref name="packet"/> is not a damaged one.
    /// </summary>
    public int WriteRefusal(
        Span<byte> packet, in PacketHeader header, TransportErrorCode code, string reason, Span<byte> reply, long now)
    {
        if (!IsAuthentic(packet, header) || !bucket.TryTake(now))
        {
            return 0;
        }

        ConnectionId destination = new(header.SourceId);
        ConnectionId source = new(header.DestinationId);
        using PacketProtector protector = cryptography.CreateInitialProtector(header.Version, header.DestinationId, isServers: true);
        if (!PacketWriter.TryBeginLong(
            reply, PacketKind.Initial, header.Version, destination, source, default, 0, 1, out PacketWriter writer))
        {
            return 0;
        }

        var frames = new FrameWriter(writer.Frames);
        return frames.TryWriteConnectionClose(new QuicError(code, reason), PacketKind.Initial)
            ? writer.Finish(protector, frames.Length)
            : 0;
    }

    /// <summary>For a packet of a connection that this endpoint does not know any more (section 10.3).</summary>
    public int WriteStatelessReset(in PacketHeader header, int causeLength, Span<byte> reply, long now)
    {
        if (causeLength <= StatelessReset.MinimumLength || !bucket.TryTake(now))
        {
            return 0;
        }

        Span<byte> token = stackalloc byte[StatelessReset.TokenLength];
        cryptography.GetStatelessResetToken(header.DestinationId, token);
        return StatelessReset.Write(reply, causeLength, token, cryptography);
    }

    /// <summary>Whether an Initial packet is authentic; it is not changed.</summary>
    public bool IsAuthenticCopy(ReadOnlySpan<byte> packet, in PacketHeader header)
    {
        Span<byte> copy = header.PacketLength <= StackMaximum ? stackalloc byte[StackMaximum] : new byte[header.PacketLength];
        packet[..header.PacketLength].CopyTo(copy);
        return IsAuthentic(copy[..header.PacketLength], header);
    }

    private bool IsAuthentic(Span<byte> packet, in PacketHeader header)
    {
        using PacketProtector protector = cryptography.CreateInitialProtector(header.Version, header.DestinationId, isServers: false);
        return PacketOpener.TryUnprotect(packet, header, protector, PacketNumbers.None, out PacketOpener opener)
            && opener.TryOpen(protector, out _);
    }

    private uint RandomWord()
    {
        Span<byte> bytes = stackalloc byte[sizeof(uint)];
        cryptography.FillRandom(bytes);
        return BinaryPrimitives.ReadUInt32LittleEndian(bytes);
    }
}
