using Millrace.Tls.Handshakes;
using Millrace.Tls.OpenSsl;

namespace Millrace.Tls.Certificates;

/// <summary>The settings that all contexts share, those of servers and that of the client. Any thread.</summary>
internal static unsafe class ContextSettings
{
    /// <summary>
    /// Forward secrecy and AEAD only: Mozilla's "intermediate" without its finite-field groups, which cost ten times as much and which no
    /// client with AEAD support needs.
    /// </summary>
    private static ReadOnlySpan<byte> Tls12Ciphers =>
        "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:"u8
        + "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305\0"u8;

    /// <summary>AES-128 first, as Mozilla recommends and browsers prefer: as secure as AES-256 in practice, and a fifth faster.</summary>
    private static ReadOnlySpan<byte> Tls13Suites => "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256\0"u8;

    /// <summary>
    /// Post-quantum first, since OpenSSL 3.5: the slash begins a second choice, so that a client which supports the first but guessed
    /// another is asked for it. An OpenSSL without the group refuses the list.
    /// </summary>
    private static ReadOnlySpan<byte> HybridGroups => "X25519MLKEM768/X25519:P-256:P-384\0"u8;

    private static ReadOnlySpan<byte> Groups => "X25519:P-256:P-384\0"u8;

    /// <summary>A new <c>SSL_CTX</c>, which the caller frees.</summary>
    /// <exception cref="TlsException">OpenSSL cannot make one.</exception>
    public static nint New(nint method)
    {
        nint context = LibSsl.SSL_CTX_new(method);
        return context != 0 ? context : throw new TlsException($"OpenSSL cannot make a context for TLS: {OpenSslErrors.Drain()}.");
    }

    /// <exception cref="TlsException">OpenSSL's own configuration forbids one of them.</exception>
    public static void Apply(nint context, TlsVersion minimum)
    {
        _ = LibSsl.SSL_CTX_set_options(context, SslConstants.OptionNoCompression | SslConstants.OptionNoRenegotiation);
        int least = minimum == TlsVersion.Tls13 ? SslConstants.Tls13Version : SslConstants.Tls12Version;
        Require((int)LibSsl.SSL_CTX_ctrl(context, SslConstants.ControlMinProtocol, least, []), "lowest version");

        // OpenSSL accepts a minimum above the maximum, which its own configuration may have set, and then refuses every peer.
        long highest = LibSsl.SSL_CTX_ctrl(context, SslConstants.ControlGetMaxProtocol, 0, []);
        if (highest != 0 && highest < least)
        {
            throw new TlsException("The minimum version is above the maximum that OpenSSL's own configuration allows: change "
                + "MaxProtocol in openssl.cnf, or the minimum version.");
        }

        _ = LibSsl.SSL_CTX_ctrl(context, SslConstants.ControlReadAhead, 1, []);
        Require(LibSsl.SSL_CTX_set_cipher_list(context, Tls12Ciphers), "ciphers");
        Require(LibSsl.SSL_CTX_set_ciphersuites(context, Tls13Suites), "cipher suites");
        if (LibSsl.SSL_CTX_ctrl(context, SslConstants.ControlGroupsList, 0, HybridGroups) != 1)
        {
            OpenSslErrors.Clear();
            Require((int)LibSsl.SSL_CTX_ctrl(context, SslConstants.ControlGroupsList, 0, Groups), "groups");
        }
    }

    /// <summary>Has OpenSSL tell the secrets and the alerts of its connections: what makes records in its place needs them.</summary>
    public static void ReportSecrets(nint context)
    {
        LibSsl.SSL_CTX_set_keylog_callback(context, &HandshakeCallbacks.OnKeyLogLine);
        LibSsl.SSL_CTX_set_info_callback(context, &HandshakeCallbacks.OnInformation);
    }

    /// <summary>Has a context accept certificates of an authority.</summary>
    /// <exception cref="TlsException">OpenSSL does not take it.</exception>
    public static void Trust(nint context, byte[] authority, string path, Func<nint, nint, int>? alsoAdd = null)
    {
        nint certificate = CertificateKeyPair.Parse(authority, path);
        OpenSslErrors.Clear();
        bool isTaken = LibCrypto.X509_STORE_add_cert(LibSsl.SSL_CTX_get_cert_store(context), certificate) == 1
            && alsoAdd?.Invoke(context, certificate) is null or 1;
        LibCrypto.X509_free(certificate);
        if (!isTaken)
        {
            throw new TlsException($"OpenSSL does not take an authority in '{path}': {OpenSslErrors.Drain()}.");
        }
    }

    /// <exception cref="TlsException">The result is not 1.</exception>
    public static void Require(int result, string what)
    {
        if (result != 1)
        {
            throw new TlsException($"OpenSSL refuses the {what}: {OpenSslErrors.Drain()}.");
        }
    }
}
