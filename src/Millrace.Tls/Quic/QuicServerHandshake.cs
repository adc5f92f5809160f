using Millrace.Tls.Certificates;
using Millrace.Tls.Handshakes;
using Millrace.Tls.OpenSsl;

namespace Millrace.Tls.Quic;

/// <summary>
/// The server's end of a handshake, with the certificates, tickets and options of a <see cref="TlsTerminator"/> for QUIC. OpenSSL's part is
/// made at the client's first bytes, and freed when the handshake is complete. One thread.
/// </summary>
internal sealed unsafe class QuicServerHandshake : OpenSslQuicHandshake, IServerHandshake
{
    private readonly TlsTerminator _terminator;
    private CertificateSet? _certificates;
    private byte[]? _clientParameters;

    public QuicServerHandshake(TlsTerminator terminator)
        : base(terminator.Counters, terminator.Log)
    {
        terminator.Hold();
        _terminator = terminator;
    }

    TlsTerminator IServerHandshake.Terminator => _terminator;

    CertificateSet? IServerHandshake.Certificates => _certificates;

    IReadOnlyList<ApplicationProtocol> IServerHandshake.Protocols => _terminator.Protocols;

    /// <summary>The hosts of the certificate that the client was given; null before the client's ClientHello.</summary>
    public CertificateNames? CertificateNames { get; set; }

    string? IServerHandshake.ApplicationProtocol
    {
        // Completion asks OpenSSL.
        set => _ = value;
    }

    protected override bool KeepsSession => false;

    /// <summary>
    /// Takes the transport parameters, and has OpenSSL ask again, after the connection has had them: it may choose another version of QUIC,
    /// and say so in its own. Refuses a hello that is not one of QUIC's.
    /// </summary>
    int IServerHandshake.InspectHello(nint ssl, out int alert)
    {
        if (LibSsl.SSL_client_hello_get0_session_id(ssl, out _) > 0)
        {
            // RFC 9001, section 8.4.
            Refusal = (SslConstants.AlertIllegalParameter, "the ClientHello asks for middlebox compatibility");
        }
        else if (LibSsl.SSL_client_hello_get0_ext(ssl, SslConstants.ExtensionQuicParameters, out byte* bytes, out nuint count) != 1)
        {
            Refusal = (SslConstants.AlertMissingExtension, "the ClientHello has no transport parameters");
        }
        else if (_terminator.Protocols.Count > 0
            && LibSsl.SSL_client_hello_get0_ext(ssl, SslConstants.ExtensionProtocols, out _, out _) != 1)
        {
            Refusal = (SslConstants.AlertNoApplicationProtocol, "the client offers no protocol");
        }
        else if (_clientParameters is null)
        {
            alert = 0;
            _clientParameters = new ReadOnlySpan<byte>(bytes, (int)count).ToArray();
            (SslOwner.Current as QuicSsl)?.TakeParameters(_clientParameters);
            return SslConstants.ClientHelloRetry;
        }
        else if (!_clientParameters.AsSpan().SequenceEqual(new ReadOnlySpan<byte>(bytes, (int)count)))
        {
            // RFC 8446, section 4.1.2: a second hello differs in nothing but what the HelloRetryRequest names.
            Refusal = (SslConstants.AlertIllegalParameter, "the second ClientHello has other transport parameters");
        }

        alert = Refusal?.Alert ?? 0;
        return Refusal is null ? SslConstants.ClientHelloSuccess : SslConstants.ClientHelloError;
    }

    public override void Dispose()
    {
        if (!IsDisposed)
        {
            base.Dispose();
            _terminator.Release();
        }
    }

    protected override int Confirm(ReadOnlySpan<byte> protocol) => _terminator.Protocols.Count == 0 ? 0 : base.Confirm(protocol);

    protected override QuicSsl Create()
    {
        _certificates = _terminator.Certificates.Acquire();
        CertificateNames = _certificates.Default.Covered;
        return QuicSsl.Create(this, _certificates.Default.Handle, isClient: false);
    }

    protected override void Release()
    {
        _certificates?.Release();
        _certificates = null;
    }
}
