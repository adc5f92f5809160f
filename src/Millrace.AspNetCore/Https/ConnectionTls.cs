using System.Net.Security;
using System.Security.Authentication;
using System.Security.Cryptography.X509Certificates;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.AspNetCore.Server.Kestrel.Core.Features;
using Millrace.Tls;

namespace Millrace.AspNetCore.Https;

/// <summary>
/// The negotiated TLS parameters of a connection, as features for Kestrel and applications. The presence of
/// <see cref="ITlsConnectionFeature"/> tells Kestrel that requests are https and that its own TLS has nothing to do. Any thread.
/// </summary>
internal sealed class ConnectionTls(TlsSession session)
    : ITlsConnectionFeature, ITlsHandshakeFeature, ITlsApplicationProtocolFeature, ITlsKeyExchangeFeature
{
    private readonly CipherFacts _cipher = CipherFacts.Of(session.CipherSuite);
    private ReadOnlyMemory<byte> _shown = session.ClientCertificate;
    private X509Certificate2? _clientCertificate;

    public SslProtocols Protocol => session.Protocol;

    public TlsCipherSuite? NegotiatedCipherSuite => session.CipherSuite;

    public string? Group => session.KeyExchangeGroup;

    /// <summary>Empty if the client sent no name, as with Kestrel.</summary>
    public string HostName { get; } = session.ServerName ?? "";

    /// <summary>Empty if none was selected.</summary>
    public ReadOnlyMemory<byte> ApplicationProtocol { get; } = session.ApplicationProtocol switch
    {
        null => default,
        "h2" => SslApplicationProtocol.Http2.Protocol,
        "http/1.1" => SslApplicationProtocol.Http11.Protocol,
        var protocol => new SslApplicationProtocol(protocol).Protocol,
    };

    public X509Certificate2? ClientCertificate
    {
        get
        {
            if (_clientCertificate is null && _shown.Length > 0)
            {
                Interlocked.CompareExchange(ref _clientCertificate, X509CertificateLoader.LoadCertificate(_shown.Span), null);
            }

            return _clientCertificate;
        }

        set
        {
            _shown = default;
            _clientCertificate = value;
        }
    }

    /// <summary>The intermediate certificates that the client sent.</summary>
    public X509Certificate2Collection GetClientChain() =>
        [.. session.ClientChain.Select(static one => X509CertificateLoader.LoadCertificate(one.Span))];

    /// <summary>The certificate from the handshake: there is no renegotiation.</summary>
    public Task<X509Certificate2?> GetClientCertificateAsync(CancellationToken cancellationToken) => Task.FromResult(ClientCertificate);

#pragma warning disable SYSLIB0058 // Members of the interface, which applications may read.
    CipherAlgorithmType ITlsHandshakeFeature.CipherAlgorithm => _cipher.Algorithm;

    int ITlsHandshakeFeature.CipherStrength => _cipher.KeyBits;

    HashAlgorithmType ITlsHandshakeFeature.HashAlgorithm => HashAlgorithmType.None;

    int ITlsHandshakeFeature.HashStrength => 0;

    ExchangeAlgorithmType ITlsHandshakeFeature.KeyExchangeAlgorithm => _cipher.Exchange;

    int ITlsHandshakeFeature.KeyExchangeStrength => 0;
#pragma warning restore SYSLIB0058
}

#pragma warning disable SYSLIB0058 // ITlsHandshakeFeature has these types.
/// <summary>
/// A cipher suite in SslStream's older terms, which have no ChaCha20, no hash for authenticated ciphers, and no key exchange for TLS 1.3.
/// Covers all suites that are negotiated.
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
