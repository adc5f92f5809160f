namespace Millrace.Quic.Protection;

/// <summary>
/// What QUIC needs of a cryptographic library, so that this project has none. One for each reactor; its thread only. The keys for tokens
/// are the server's, the same on all reactors, so that a token of one is valid at another.
/// </summary>
internal abstract class QuicCryptography
{
    /// <summary>Longest sealed token, in bytes.</summary>
    public const int MaximumTokenOverhead = 28;

    /// <summary>The keys of Initial packets, which follow from the client's first destination connection id.</summary>
    public abstract PacketProtector CreateInitialProtector(uint version, ReadOnlySpan<byte> destinationId, bool isServers);

    /// <summary>The integrity tag of a Retry packet, 16 bytes, over its pseudo-packet (RFC 9001, section 5.8).</summary>
    public abstract void GetRetryTag(uint version, ReadOnlySpan<byte> pseudoPacket, Span<byte> tag);

    /// <summary>The 16 bytes of the stateless reset token of a connection id: a keyed hash of it.</summary>
    public abstract void GetStatelessResetToken(ReadOnlySpan<byte> connectionId, Span<byte> token);

    /// <summary>
    /// Encrypts a token for address validation; returns its length, that of the text and <see cref="MaximumTokenOverhead"/> at most.
    /// </summary>
    public abstract int SealToken(ReadOnlySpan<byte> text, ReadOnlySpan<byte> associated, Span<byte> token);

    /// <summary>False: the token is not one of this server's, or belongs to other associated bytes.</summary>
    public abstract bool TryOpenToken(ReadOnlySpan<byte> token, ReadOnlySpan<byte> associated, Span<byte> text, out int count);

    public abstract void FillRandom(Span<byte> bytes);
}
