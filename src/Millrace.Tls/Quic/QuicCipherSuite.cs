using System.Net.Security;
using Millrace.Tls.OpenSsl;

namespace Millrace.Tls.Quic;

/// <summary>A cipher suite of TLS 1.3 as QUIC uses it (RFC 9001, section 5). Immutable; any thread.</summary>
internal sealed class QuicCipherSuite
{
    private readonly bool _isSha384;

    private QuicCipherSuite(ReadOnlySpan<byte> cipher, ReadOnlySpan<byte> headerCipher, int keyLength, bool isSha384, bool isChaCha)
    {
        Cipher = LibCrypto.EVP_CIPHER_fetch(0, cipher, 0);
        HeaderCipher = LibCrypto.EVP_CIPHER_fetch(0, headerCipher, 0);
        OpenSslErrors.Clear();
        KeyLength = keyLength;
        IsChaCha = isChaCha;
        _isSha384 = isSha384;

        // RFC 9001, section 6.6. ChaCha20-Poly1305 has no limit that packet numbers could reach.
        ConfidentialityLimit = isChaCha ? 1L << 62 : 1L << 23;
        IntegrityLimit = isChaCha ? 1L << 36 : 1L << 52;
    }

    public static QuicCipherSuite Aes128 { get; } =
        new("AES-128-GCM\0"u8, "AES-128-ECB\0"u8, keyLength: 16, isSha384: false, isChaCha: false);

    public static QuicCipherSuite Aes256 { get; } =
        new("AES-256-GCM\0"u8, "AES-256-ECB\0"u8, keyLength: 32, isSha384: true, isChaCha: false);

    public static QuicCipherSuite ChaCha20 { get; } =
        new("ChaCha20-Poly1305\0"u8, "ChaCha20\0"u8, keyLength: 32, isSha384: false, isChaCha: true);

    /// <summary>An <c>EVP_CIPHER</c>; 0 if OpenSSL's configuration forbids it.</summary>
    public nint Cipher { get; }

    /// <summary>That of header protection.</summary>
    public nint HeaderCipher { get; }

    public int KeyLength { get; }

    public bool IsChaCha { get; }

    public long ConfidentialityLimit { get; }

    public long IntegrityLimit { get; }

    public int SecretLength => _isSha384 ? MacContext.Sha384Length : MacContext.Sha256Length;

    /// <summary>HMAC with the suite's hash, of this thread.</summary>
    public MacContext Mac => _isSha384 ? MacContext.Sha384 : MacContext.Sha256;

    /// <summary>That of a number in IANA's registry; null if QUIC does not use it here.</summary>
    public static QuicCipherSuite? Find(ushort id) => (TlsCipherSuite)id switch
    {
        TlsCipherSuite.TLS_AES_128_GCM_SHA256 => Aes128,
        TlsCipherSuite.TLS_AES_256_GCM_SHA384 => Aes256,
        TlsCipherSuite.TLS_CHACHA20_POLY1305_SHA256 => ChaCha20,
        _ => null,
    };
}
