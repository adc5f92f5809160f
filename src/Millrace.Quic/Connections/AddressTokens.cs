using System.Buffers.Binary;
using Millrace.Quic.Packets;
using Millrace.Quic.Protection;

namespace Millrace.Quic.Connections;

/// <summary>What a token in an Initial packet says of the client's address.</summary>
internal enum TokenResult : byte
{
    /// <summary>None, or one of another kind, key or time: the address is not validated, and the token is ignored.</summary>
    Unknown,

    /// <summary>From a NEW_TOKEN frame of an earlier connection.</summary>
    Validated,

    /// <summary>From this server's Retry packet.</summary>
    Retried,

    /// <summary>From a Retry packet, but for another address, or too old: INVALID_TOKEN (RFC 9000, section 8.1.3).</summary>
    InvalidRetry,
}

/// <summary>
/// Tokens for address validation (RFC 9000, section 8.1): sealed, so that the server keeps nothing for them. Those of Retry packets
/// hold the connection ids that the handshake has to prove and live for seconds; those of NEW_TOKEN frames are bound to the address
/// without its port.
/// </summary>
internal sealed class AddressTokens(QuicCryptography cryptography)
{
    public const int MaximumLength = 1 + TextMaximum + QuicCryptography.MaximumTokenOverhead;

    private const long RetryLifetime = 15 * QuicClock.Second;
    private const long NewTokenLifetime = 24 * 3600 * QuicClock.Second;

    private const byte RetryKind = 0x52;
    private const byte NewTokenKind = 0x4E;
    private const int TimeLength = 8;
    private const int TextMaximum = TimeLength + 2 + (2 * ConnectionId.MaximumLength);
    private const int AssociatedLength = 1 + PathAddress.Length;
    private const int AddressLength = 16;

    public int WriteRetry(
        in PathAddress client, in ConnectionId original, in ConnectionId retrySource, long now, Span<byte> token)
    {
        Span<byte> text = stackalloc byte[TextMaximum];
        BinaryPrimitives.WriteInt64BigEndian(text, now);
        int length = TimeLength;
        length += WriteId(original, text[length..]);
        length += WriteId(retrySource, text[length..]);
        Span<byte> associated = stackalloc byte[AssociatedLength];
        WriteAssociated(RetryKind, client, associated);
        token[0] = RetryKind;
        return 1 + cryptography.SealToken(text[..length], associated, token[1..]);
    }

    public int WriteNewToken(in PathAddress client, long now, Span<byte> token)
    {
        Span<byte> text = stackalloc byte[TimeLength];
        BinaryPrimitives.WriteInt64BigEndian(text, now);
        Span<byte> associated = stackalloc byte[AssociatedLength];
        WriteAssociated(NewTokenKind, client, associated);
        token[0] = NewTokenKind;
        return 1 + cryptography.SealToken(text, associated[..(1 + AddressLength)], token[1..]);
    }

    public TokenResult Read(
        ReadOnlySpan<byte> token, in PathAddress client, long now, out ConnectionId original, out ConnectionId retrySource)
    {
        original = retrySource = default;
        if (token.Length is 0 or > MaximumLength)
        {
            return TokenResult.Unknown;
        }

        byte kind = token[0];
        Span<byte> text = stackalloc byte[TextMaximum];
        Span<byte> associated = stackalloc byte[AssociatedLength];
        WriteAssociated(kind, client, associated);
        if (kind == NewTokenKind)
        {
            return cryptography.TryOpenToken(token[1..], associated[..(1 + AddressLength)], text, out int count)
                && count == TimeLength && IsFresh(text, NewTokenLifetime, now)
                ? TokenResult.Validated
                : TokenResult.Unknown;
        }

        if (kind != RetryKind)
        {
            return TokenResult.Unknown;
        }

        return cryptography.TryOpenToken(token[1..], associated, text, out int retryCount) && IsFresh(text, RetryLifetime, now)
            && TryReadIds(text[TimeLength..retryCount], out original, out retrySource)
            ? TokenResult.Retried
            : TokenResult.InvalidRetry;
    }

    private static bool IsFresh(ReadOnlySpan<byte> text, long lifetime, long now)
    {
        long made = BinaryPrimitives.ReadInt64BigEndian(text);
        return now >= made && now - made <= lifetime;
    }

    private static bool TryReadIds(ReadOnlySpan<byte> text, out ConnectionId original, out ConnectionId retrySource)
    {
        original = retrySource = default;
        return TryReadId(ref text, out original) && TryReadId(ref text, out retrySource) && text.IsEmpty;
    }

    private static bool TryReadId(ref ReadOnlySpan<byte> text, out ConnectionId id)
    {
        id = default;
        if (text.IsEmpty || text[0] > ConnectionId.MaximumLength || text.Length <= text[0])
        {
            return false;
        }

        id = new ConnectionId(text.Slice(1, text[0]));
        text = text[(1 + id.Length)..];
        return true;
    }

    private static int WriteId(in ConnectionId id, Span<byte> destination)
    {
        destination[0] = (byte)id.Length;
        id.AsSpan.CopyTo(destination[1..]);
        return 1 + id.Length;
    }

    private static void WriteAssociated(byte kind, in PathAddress client, Span<byte> associated)
    {
        associated[0] = kind;
        client.Write(associated[1..]);
    }
}
