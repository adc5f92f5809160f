using System.Net.Security;
using System.Runtime.InteropServices;
using System.Security.Authentication;
using Millrace.Tls.OpenSsl;

namespace Millrace.Tls;

/// <summary>The negotiated parameters of a TLS connection.</summary>
public sealed record TlsSession
{
    /// <summary>The version.</summary>
    public required SslProtocols Protocol { get; init; }

    /// <summary>The cipher suite.</summary>
    public required TlsCipherSuite CipherSuite { get; init; }

    /// <summary>
    /// The key exchange group by its name in IANA's registry: <c>X25519MLKEM768</c>, <c>x25519</c>, <c>secp256r1</c> or <c>secp384r1</c>.
    /// Null if the library does not know that of a resumed session.
    /// </summary>
    public string? KeyExchangeGroup { get; init; }

    /// <summary>The protocol negotiated by ALPN; null for a client without ALPN.</summary>
    public required string? ApplicationProtocol { get; init; }

    /// <summary>The host that the client named by SNI; null for none.</summary>
    public required string? ServerName { get; init; }

    /// <summary>Whether an earlier session was resumed.</summary>
    public required bool IsResumed { get; init; }

    /// <summary>The client's certificate in DER; empty for none.</summary>
    public required ReadOnlyMemory<byte> ClientCertificate { get; init; }

    /// <summary>
    /// The certificates, in DER, that the client sent to link its own to an authority; none in a resumed session, which keeps only the
    /// first.
    /// </summary>
    public IReadOnlyList<ReadOnlyMemory<byte>> ClientChain { get; init; } = [];

    internal static unsafe TlsSession Of(nint ssl, TlsParameters agreed, string? applicationProtocol) => new()
    {
        Protocol = agreed.Protocol,
        CipherSuite = agreed.CipherSuite,
        KeyExchangeGroup = agreed.Group,
        ApplicationProtocol = applicationProtocol,
        ServerName = Marshal.PtrToStringUTF8((nint)LibSsl.SSL_get_servername(ssl, SslConstants.NameTypeHost)),
        IsResumed = LibSsl.SSL_session_reused(ssl) == 1,
        ClientCertificate = ClientCertificateOf(ssl),
        ClientChain = ClientChainOf(ssl),
    };

    private static unsafe byte[] ClientCertificateOf(nint ssl)
    {
        nint certificate = LibSsl.SSL_get1_peer_certificate(ssl);
        if (certificate == 0)
        {
            return [];
        }

        try
        {
            return BytesOf(certificate);
        }
        finally
        {
            LibCrypto.X509_free(certificate);
        }
    }

    /// <summary>A server's list excludes the client's own certificate; the library keeps ownership.</summary>
    private static ReadOnlyMemory<byte>[] ClientChainOf(nint ssl)
    {
        nint chain = LibSsl.SSL_get_peer_cert_chain(ssl);
        int count = chain == 0 ? 0 : Math.Max(0, LibCrypto.OPENSSL_sk_num(chain));
        var bytes = new ReadOnlyMemory<byte>[count];
        for (int i = 0; i < count; i++)
        {
            bytes[i] = BytesOf(LibCrypto.OPENSSL_sk_value(chain, i));
        }

        return bytes;
    }

    /// <summary>A certificate of OpenSSL's in DER.</summary>
    internal static unsafe byte[] BytesOf(nint certificate)
    {
        byte[] bytes = new byte[Math.Max(0, LibCrypto.i2d_X509(certificate, null))];
        fixed (byte* first = bytes)
        {
            byte* next = first;
            _ = LibCrypto.i2d_X509(certificate, &next);
        }

        return bytes;
    }
}
