using System.Buffers.Binary;
using System.Text;
using Millrace.Tls.Certificates;
using Millrace.Tls.OpenSsl;

namespace Millrace.Tls.Handshakes;

/// <summary>
/// Domain validation by TLS-ALPN-01 (RFC 8737): an authority that offers the protocol <c>acme-tls/1</c> alone is shown the certificate of
/// the challenge for the name in its SNI (of an address the name in <c>in-addr.arpa</c> or <c>ip6.arpa</c>: RFC 8738, section 6), and
/// nothing is served. Called within OpenSSL's callbacks, so nothing throws. Reactor thread only.
/// </summary>
internal static unsafe class DomainValidation
{
    private const int NameHeaderBytes = 5;

    public static ApplicationProtocol[] Protocols { get; } = [new("acme-tls/1")];

    /// <summary>The extension of a client that offers the protocol and no other.</summary>
    private static ReadOnlySpan<byte> OnlyOffer => "\0\u000B\u000Aacme-tls/1"u8;

    /// <summary>Whether the ClientHello at hand is an authority's.</summary>
    public static bool IsRequested(nint ssl) => ExtensionOf(ssl, SslConstants.ExtensionProtocols).SequenceEqual(OnlyOffer);

    /// <summary>
    /// Gives the connection the challenge's certificate instead of all others, without tickets and without a request for a certificate of
    /// the authority. Returns the result of the callback: that certificate may have to be waited for.
    /// </summary>
    public static int Accept(nint ssl, TlsServerFilter filter, Handshake handshake, out int alert)
    {
        TlsTerminator terminator = filter.Terminator;
        alert = SslConstants.AlertNoApplicationProtocol;
        try
        {
            if ((handshake.Challenge ??= Find(ssl, filter, handshake)) is not { IsCompleted: true } found)
            {
                return SslConstants.ClientHelloRetry;
            }

            if (found.GetAwaiter().GetResult() is not { } challenge)
            {
                return SslConstants.ClientHelloError;
            }

            using CertificateKeyPair certificate = challenge.Load();
            LibSsl.SSL_certs_clear(ssl);
            certificate.InstallIntoConnection(ssl, challenge.Source);
            LibSsl.SSL_set_verify(ssl, SslConstants.VerifyNone, null);
            _ = LibSsl.SSL_set_options(ssl, SslConstants.OptionNoTicket);
            _ = LibSsl.SSL_set_num_tickets(ssl, 0);
            handshake.IsDomainValidation = true;
            return SslConstants.ClientHelloSuccess;
        }
#pragma warning disable CA1031 // No exception may cross the library.
        catch (Exception failure)
#pragma warning restore CA1031
        {
            terminator.Log.ChallengeFailed(failure.Message);
            alert = SslConstants.AlertInternalError;
            return SslConstants.ClientHelloError;
        }
    }

    /// <summary>The host of a server_name extension (RFC 6066, section 3) in lower case; null if there is not exactly one.</summary>
    public static string? ReadName(ReadOnlySpan<byte> extension)
    {
        if (extension.Length <= NameHeaderBytes
            || BinaryPrimitives.ReadUInt16BigEndian(extension) != extension.Length - 2
            || extension[2] != SslConstants.NameTypeHost
            || BinaryPrimitives.ReadUInt16BigEndian(extension[3..]) != extension.Length - NameHeaderBytes)
        {
            return null;
        }

        return Encoding.Latin1.GetString(extension[NameHeaderBytes..]).ToLowerInvariant();
    }

    /// <summary>Seeks the certificate for the client's SNI. One that is found later continues the handshake.</summary>
    private static Task<LoadedCertificate?> Find(nint ssl, TlsServerFilter filter, Handshake handshake)
    {
        if (ReadName(ExtensionOf(ssl, SslConstants.ExtensionServerName)) is not { } name)
        {
            return Task.FromResult<LoadedCertificate?>(null);
        }

        Task<LoadedCertificate?> sought = filter.Terminator.ChallengeCertificates!(name).AsTask();
        if (!sought.IsCompleted)
        {
            handshake.ContinueAfter(sought);
        }

        return sought;
    }

    private static ReadOnlySpan<byte> ExtensionOf(nint ssl, uint type) =>
        LibSsl.SSL_client_hello_get0_ext(ssl, type, out byte* bytes, out nuint count) == 1
            ? new ReadOnlySpan<byte>(bytes, (int)count)
            : default;
}
