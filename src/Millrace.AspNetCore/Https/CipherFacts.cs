using System.Net.Security;
using System.Security.Authentication;

namespace Millrace.AspNetCore.Https;

#pragma warning disable SYSLIB0058 // ITlsHandshakeFeature has these types.
/// <summary>
/// The older description of a suite, in the words that an SslStream has for it: it knows no ChaCha20, no hash where the cipher
/// authenticates, and of TLS 1.3 no exchange. All that is negotiated is here.
/// </summary>
internal readonly record struct CipherFacts(CipherAlgorithmType Algorithm, int KeyBits, ExchangeAlgorithmType Exchange)
{
    public static CipherFacts Of(TlsCipherSuite suite) => suite switch
    {
        TlsCipherSuite.TLS_AES_128_GCM_SHA256 => new(CipherAlgorithmType.Aes128, 128, ExchangeAlgorithmType.None),
        TlsCipherSuite.TLS_AES_256_GCM_SHA384 => new(CipherAlgorithmType.Aes256, 256, ExchangeAlgorithmType.None),
        TlsCipherSuite.TLS_CHACHA20_POLY1305_SHA256 => new(CipherAlgorithmType.None, 256, ExchangeAlgorithmType.None),
        TlsCipherSuite.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 or TlsCipherSuite.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 =>
            new(CipherAlgorithmType.Aes128, 128, ExchangeAlgorithmType.DiffieHellman),
        TlsCipherSuite.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 or TlsCipherSuite.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 =>
            new(CipherAlgorithmType.Aes256, 256, ExchangeAlgorithmType.DiffieHellman),
        _ => new(CipherAlgorithmType.None, 256, ExchangeAlgorithmType.DiffieHellman),
    };
}
#pragma warning restore SYSLIB0058
