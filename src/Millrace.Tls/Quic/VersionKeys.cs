using Millrace.Quic.Packets;

namespace Millrace.Tls.Quic;

/// <summary>
/// What a version of QUIC derives its keys with: RFC 9001 (sections 5.2 and 5.8) for version 1, RFC 9369 (section 3.3) for version 2.
/// Immutable; any thread.
/// </summary>
internal sealed class VersionKeys
{
    private readonly byte[] _initialSalt;
    private readonly byte[] _retryKey;
    private readonly byte[] _retryNonce;
    private readonly bool _isVersion2;

    private VersionKeys(bool isVersion2, byte[] initialSalt, byte[] retryKey, byte[] retryNonce)
    {
        _isVersion2 = isVersion2;
        _initialSalt = initialSalt;
        _retryKey = retryKey;
        _retryNonce = retryNonce;
    }

    public static VersionKeys Version1 { get; } = new(
        false,
        Convert.FromHexString("38762cf7f55934b34d179ae6a4c80cadccbb7f0a"),
        Convert.FromHexString("be0c690b9f66575a1d766b54e368c84e"),
        Convert.FromHexString("461599d35d632bf2239825bb"));

    public static VersionKeys Version2 { get; } = new(
        true,
        Convert.FromHexString("0dede3def700a6db819381be6e269dcbf9bd2ed9"),
        Convert.FromHexString("8fb4b01b56ac48e260fbcbcead7ccc92"),
        Convert.FromHexString("d86969bc2d7c6d9990efb04a"));

    public ReadOnlySpan<byte> InitialSalt => _initialSalt;

    public ReadOnlySpan<byte> RetryKey => _retryKey;

    public ReadOnlySpan<byte> RetryNonce => _retryNonce;

    public ReadOnlySpan<byte> KeyLabel => _isVersion2 ? "quicv2 key"u8 : "quic key"u8;

    public ReadOnlySpan<byte> VectorLabel => _isVersion2 ? "quicv2 iv"u8 : "quic iv"u8;

    public ReadOnlySpan<byte> HeaderLabel => _isVersion2 ? "quicv2 hp"u8 : "quic hp"u8;

    public ReadOnlySpan<byte> UpdateLabel => _isVersion2 ? "quicv2 ku"u8 : "quic ku"u8;

    /// <summary>Versions other than 2 are as version 1: the caller speaks no others.</summary>
    public static VersionKeys Of(uint version) => version == QuicVersion.Version2 ? Version2 : Version1;
}
