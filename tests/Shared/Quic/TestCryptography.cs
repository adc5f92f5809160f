using Millrace.Quic.Protection;

namespace Millrace.Tests.Shared;

/// <summary>
/// <see cref="QuicCryptography"/> for tests, with <see cref="PlainProtector"/>. Everything follows from the seed. Servers with the same
/// <paramref name="secret"/> take each other's tokens and have the same stateless reset tokens.
/// </summary>
internal sealed class TestCryptography(ulong seed, ulong secret = 1) : QuicCryptography
{
    private const int NonceLength = 12;

    private ulong _random = WordHash.Mix(seed);

    public ProtectorCounts Protectors { get; } = new();

    public override PacketProtector CreateInitialProtector(uint version, ReadOnlySpan<byte> destinationId, bool isServers)
        => new PlainProtector(WordHash.Of(((ulong)version << 1) | (isServers ? 1u : 0u), destinationId), Protectors);

    public override void GetRetryTag(uint version, ReadOnlySpan<byte> pseudoPacket, Span<byte> tag)
        => WordHash.Write(WordHash.Mix(version), pseudoPacket, tag);

    /// <summary>How often <see cref="GetStatelessResetToken"/> was called.</summary>
    public int KeyedHashes { get; private set; }

    public override void GetStatelessResetToken(ReadOnlySpan<byte> connectionId, Span<byte> token)
    {
        KeyedHashes++;
        WordHash.Write(WordHash.Mix(secret), connectionId, token);
    }

    public override int SealToken(ReadOnlySpan<byte> text, ReadOnlySpan<byte> associated, Span<byte> token)
    {
        int length = NonceLength + text.Length + PacketProtector.TagLength;
        FillRandom(token[..NonceLength]);
        text.CopyTo(token[NonceLength..]);
        using PlainProtector protector = ForToken(token[..NonceLength]);
        protector.Seal(0, associated, token[NonceLength..length]);
        return length;
    }

    public override bool TryOpenToken(ReadOnlySpan<byte> token, ReadOnlySpan<byte> associated, Span<byte> text, out int count)
    {
        count = token.Length - MaximumTokenOverhead;
        if (count < 0 || count > text.Length)
        {
            count = 0;
            return false;
        }

        byte[] opened = token[NonceLength..].ToArray();
        using PlainProtector protector = ForToken(token[..NonceLength]);
        if (!protector.TryOpen(0, associated, opened))
        {
            count = 0;
            return false;
        }

        opened.AsSpan(0, count).CopyTo(text);
        return true;
    }

    public override void FillRandom(Span<byte> bytes)
    {
        for (int i = 0; i < bytes.Length; i++)
        {
            _random = i % sizeof(ulong) == 0 ? WordHash.Mix(_random) : _random;
            bytes[i] = (byte)(_random >> (8 * (i % sizeof(ulong))));
        }
    }

    /// <summary>Tokens are no packets: they do not count among them.</summary>
    private PlainProtector ForToken(ReadOnlySpan<byte> nonce) => new(WordHash.Of(~secret, nonce));
}
