using System.Buffers.Binary;
using System.Security.Cryptography;
using Millrace.Quic.Packets;
using Millrace.Quic.Protection;
using Millrace.Tls.OpenSsl;

namespace Millrace.Tls.Quic;

/// <summary>
/// QUIC's cryptography by OpenSSL. One for each reactor, whose thread only uses it; the server's keys for tokens are shared. Without a
/// failure of OpenSSL itself nothing throws.
/// </summary>
internal sealed unsafe class OpenSslQuicCryptography : QuicCryptography, IDisposable
{
    /// <summary>Longer tokens are not this server's.</summary>
    private const int TokenLengthMax = 512;

    private static readonly byte[] NoVector = new byte[AeadKey.NonceLength];

    private readonly QuicTokenKeys _keys;
    private readonly AeadKey _tokenKey;
    private readonly AeadKey _retry1 = RetryKey(VersionKeys.Version1);
    private readonly AeadKey _retry2 = RetryKey(VersionKeys.Version2);

    /// <summary>The nonce of the next token: random at first, then counted, so that the reactors' nonces do not meet.</summary>
    private readonly byte[] _nonce = new byte[AeadKey.NonceLength];

    public OpenSslQuicCryptography(QuicTokenKeys keys)
    {
        _keys = keys;
        _tokenKey = AeadKey.Of(QuicCipherSuite.Aes256, keys.TokenKey, NoVector);
        FillRandom(_nonce);
    }

    public override PacketProtector CreateInitialProtector(uint version, ReadOnlySpan<byte> destinationId, bool isServers)
    {
        var keys = VersionKeys.Of(version);
        Span<byte> initial = stackalloc byte[MacContext.Sha256Length];
        Span<byte> secret = stackalloc byte[MacContext.Sha256Length];
        KeyDerivation.Extract(keys.InitialSalt, destinationId, initial);
        KeyDerivation.ExpandLabel(MacContext.Sha256, initial, isServers ? "server in"u8 : "client in"u8, secret);
        return new OpenSslPacketProtector(QuicCipherSuite.Aes128, keys, secret);
    }

    public override void GetRetryTag(uint version, ReadOnlySpan<byte> pseudoPacket, Span<byte> tag)
    {
        AeadKey key = version == QuicVersion.Version2 ? _retry2 : _retry1;
        key.Seal(key.Vector, pseudoPacket, tag[..AeadKey.TagLength]);
    }

    public override void GetStatelessResetToken(ReadOnlySpan<byte> connectionId, Span<byte> token)
    {
        Span<byte> code = stackalloc byte[MacContext.Sha256Length];
        MacContext.Sha256.Compute(_keys.ResetKey, connectionId, [], code);
        code[..AeadKey.TagLength].CopyTo(token);
    }

    public override int SealToken(ReadOnlySpan<byte> text, ReadOnlySpan<byte> associated, Span<byte> token)
    {
        Span<byte> low = _nonce.AsSpan(AeadKey.NonceLength - sizeof(ulong));
        BinaryPrimitives.WriteUInt64BigEndian(low, BinaryPrimitives.ReadUInt64BigEndian(low) + 1);
        int length = AeadKey.NonceLength + text.Length + AeadKey.TagLength;
        _nonce.CopyTo(token);
        text.CopyTo(token[AeadKey.NonceLength..]);
        _tokenKey.Seal(_nonce, associated, token[AeadKey.NonceLength..length]);
        return length;
    }

    public override bool TryOpenToken(ReadOnlySpan<byte> token, ReadOnlySpan<byte> associated, Span<byte> text, out int count)
    {
        count = token.Length - MaximumTokenOverhead;
        if (count < 0 || count > text.Length || token.Length > TokenLengthMax)
        {
            count = 0;
            return false;
        }

        Span<byte> copy = stackalloc byte[TokenLengthMax];
        copy = copy[..(token.Length - AeadKey.NonceLength)];
        token[AeadKey.NonceLength..].CopyTo(copy);
        if (!_tokenKey.TryOpen(token[..AeadKey.NonceLength], associated, copy))
        {
            count = 0;
            return false;
        }

        copy[..count].CopyTo(text);
        return true;
    }

    public override void FillRandom(Span<byte> bytes)
    {
        fixed (byte* first = bytes)
        {
            if (LibCrypto.RAND_bytes(first, bytes.Length) != 1)
            {
                throw new CryptographicException($"OpenSSL has no randomness: {OpenSslErrors.Drain()}.");
            }
        }
    }

    public void Dispose()
    {
        _tokenKey.Dispose();
        _retry1.Dispose();
        _retry2.Dispose();
    }

    private static AeadKey RetryKey(VersionKeys version) => AeadKey.Of(QuicCipherSuite.Aes128, version.RetryKey, version.RetryNonce);
}
