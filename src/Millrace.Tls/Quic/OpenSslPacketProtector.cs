using System.Security.Cryptography;
using Millrace.Quic.Packets;
using Millrace.Quic.Protection;

namespace Millrace.Tls.Quic;

/// <summary>
/// Packet protection by OpenSSL (RFC 9001, section 5): the keys of one secret. It keeps the secret for the next generation of keys, and
/// clears all of them when it is disposed of. No allocation for a packet. One thread.
/// </summary>
internal sealed class OpenSslPacketProtector : PacketProtector
{
    private readonly QuicCipherSuite _suite;
    private readonly VersionKeys _version;
    private readonly byte[] _secret;
    private readonly AeadKey _key;
    private readonly HeaderKey _headerKey;

    public OpenSslPacketProtector(QuicCipherSuite suite, VersionKeys version, ReadOnlySpan<byte> secret)
        : this(suite, version, secret, HeaderKey.Derive(suite, secret, version.HeaderLabel))
    {
    }

    private OpenSslPacketProtector(QuicCipherSuite suite, VersionKeys version, ReadOnlySpan<byte> secret, HeaderKey headerKey)
    {
        _suite = suite;
        _version = version;
        _headerKey = headerKey;
        _secret = GC.AllocateUninitializedArray<byte>(secret.Length, pinned: true);
        secret.CopyTo(_secret);
        _key = AeadKey.Derive(suite, secret, version.KeyLabel, version.VectorLabel);
    }

    public override long ConfidentialityLimit => _suite.ConfidentialityLimit;

    public override long IntegrityLimit => _suite.IntegrityLimit;

    public override void Seal(long packetNumber, ReadOnlySpan<byte> header, Span<byte> payloadAndTag) =>
        _key.Seal((ulong)packetNumber, header, payloadAndTag);

    public override void Seal(long packetNumber, ReadOnlySpan<byte> header, Span<byte> payloadAndTag, PayloadPieces pieces) =>
        _key.Seal((ulong)packetNumber, header, payloadAndTag, pieces.AsSpan);

    public override bool TryOpen(long packetNumber, ReadOnlySpan<byte> header, Span<byte> payloadAndTag) =>
        _key.TryOpen((ulong)packetNumber, header, payloadAndTag);

    /// <summary>OpenSSL's context to open with exists.</summary>
    public bool IsPreparedToOpen => _key.IsPreparedToOpen;

    public override void PrepareToOpen() => _key.PrepareToOpen();

    public override void GetHeaderMask(ReadOnlySpan<byte> sample, Span<byte> mask) => _headerKey.GetMask(sample, mask);

    public override PacketProtector Update()
    {
        Span<byte> next = stackalloc byte[MacContext.Sha384Length];
        next = next[.._secret.Length];
        KeyDerivation.ExpandLabel(_suite.Mac, _secret, _version.UpdateLabel, next);
        var updated = new OpenSslPacketProtector(_suite, _version, next, _headerKey.Copy());
        CryptographicOperations.ZeroMemory(next);
        return updated;
    }

    public override void Dispose()
    {
        CryptographicOperations.ZeroMemory(_secret);
        _key.Dispose();
        _headerKey.Dispose();
    }
}
