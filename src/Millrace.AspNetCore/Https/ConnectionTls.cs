using System.Net.Security;
using System.Security.Authentication;
using System.Security.Cryptography.X509Certificates;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.AspNetCore.Server.Kestrel.Core.Features;
using Millrace.Tls;

namespace Millrace.AspNetCore.Https;

/// <summary>
/// What client and server have agreed on, as Kestrel and applications ask for it. By the presence of <see cref="ITlsConnectionFeature"/>
/// Kestrel knows that requests are https, and that nothing is left for its own TLS to do. Any thread.
/// </summary>
internal sealed class ConnectionTls(TlsSession session) : ITlsConnectionFeature, ITlsHandshakeFeature, ITlsApplicationProtocolFeature
{
    private readonly CipherFacts _cipher = CipherFacts.Of(session.CipherSuite);
    private ReadOnlyMemory<byte> _shown = session.ClientCertificate;
    private X509Certificate2? _clientCertificate;

    public SslProtocols Protocol => session.Protocol;

    public TlsCipherSuite? NegotiatedCipherSuite => session.CipherSuite;

    /// <summary>Empty where the client named none, as Kestrel has it.</summary>
    public string HostName { get; } = session.ServerName ?? "";

    public ReadOnlyMemory<byte> ApplicationProtocol { get; } = NegotiatedProtocols.BytesOf(session.ApplicationProtocol);

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

    /// <summary>What the client sent along to lead to an authority.</summary>
    public X509Certificate2Collection GetClientChain() =>
        [.. session.ClientChain.Select(static one => X509CertificateLoader.LoadCertificate(one.Span))];

    /// <summary>The one from the handshake: nothing is negotiated later.</summary>
    public Task<X509Certificate2?> GetClientCertificateAsync(CancellationToken cancellationToken) => Task.FromResult(ClientCertificate);

#pragma warning disable SYSLIB0058 // The interface has them, and applications may ask.
    CipherAlgorithmType ITlsHandshakeFeature.CipherAlgorithm => _cipher.Algorithm;

    int ITlsHandshakeFeature.CipherStrength => _cipher.KeyBits;

    HashAlgorithmType ITlsHandshakeFeature.HashAlgorithm => HashAlgorithmType.None;

    int ITlsHandshakeFeature.HashStrength => 0;

    ExchangeAlgorithmType ITlsHandshakeFeature.KeyExchangeAlgorithm => _cipher.Exchange;

    int ITlsHandshakeFeature.KeyExchangeStrength => 0;
#pragma warning restore SYSLIB0058
}
