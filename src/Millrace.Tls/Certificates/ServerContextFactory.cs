using System.Security.Cryptography;
using Millrace.Tls.Handshakes;
using Millrace.Tls.OpenSsl;

namespace Millrace.Tls.Certificates;

/// <summary>Makes the contexts: loads the certificates and applies the settings that all share.</summary>
internal sealed unsafe class ServerContextFactory(TlsOptions options, TlsLog log)
{
    /// <summary>The limit on a client's certificate with those that lead to its root.</summary>
    private const int ClientCertificateBytesMax = 64 * 1024;

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

    /// <summary>Makes all contexts, or none. Certificates for the same hosts with different kinds of keys share a context.</summary>
    /// <param name="certificates">With their sources. The caller owns them.</param>
    /// <exception cref="TlsException">One is refused; the message names it and the remedy.</exception>
    public CertificateSet Make(IReadOnlyList<(string Source, CertificateKeyPair Pair)> certificates)
    {
        if (certificates.Count == 0)
        {
            throw new TlsException("TLS needs a certificate: specify one, with its key.");
        }

        var made = new List<ServerContext>();
        try
        {
            var facts = new List<CertificateFacts[]>();
            var all = new List<(string Source, CertificateFacts Facts)>();
            foreach ((string source, CertificateKeyPair loaded) in certificates)
            {
                CertificateFacts read = loaded.Facts;
                all.Add((source, read));
                Report(loaded, source);
                int pair = facts.FindIndex(others => Array.TrueForAll(others, other => other.IsPairedWith(read)));
                if (pair >= 0)
                {
                    loaded.InstallInto(made[pair].Handle, source);
                    facts[pair] = [.. facts[pair], read];
                }
                else
                {
                    made.Add(Make(loaded, source));
                    facts.Add([read]);
                }
            }

            return new CertificateSet(made, all, (context, name) => log.NameTaken(context.Source, name));
        }
        catch
        {
            made.ForEach(static context => context.Dispose());
            throw;
        }
    }

    private void Report(CertificateKeyPair certificate, string source)
    {
        if (certificate.IsReordered)
        {
            log.ChainReordered(source);
        }

        foreach (string subject in certificate.Unrelated)
        {
            log.CertificateUnrelated(source, subject);
        }

        DateTime now = DateTime.Now;
        if (now > certificate.Facts.NotAfter)
        {
            log.CertificateExpired(source, certificate.Facts.NotAfter.ToUniversalTime());
        }
        else if (now < certificate.Facts.NotBefore)
        {
            log.CertificateNotYetValid(source, certificate.Facts.NotBefore.ToUniversalTime());
        }
    }

    private ServerContext Make(CertificateKeyPair certificate, string source)
    {
        nint context = LibSsl.SSL_CTX_new(LibSsl.TLS_server_method());
        if (context == 0)
        {
            throw new TlsException($"OpenSSL cannot make a context for TLS: {OpenSslErrors.Drain()}.");
        }

        var made = new ServerContext(context, source, certificate.Facts);
        try
        {
            Configure(context);
            AskForClientCertificates(context);
            certificate.InstallInto(context, source);
            return made;
        }
        catch
        {
            made.Dispose();
            throw;
        }
    }

    private void Configure(nint context)
    {
        ulong set = SslConstants.OptionNoCompression | SslConstants.OptionNoRenegotiation
            | SslConstants.OptionCipherServerPreference | SslConstants.OptionPrioritizeChaCha;
        _ = LibSsl.SSL_CTX_set_options(context, set);
        int least = options.MinimumVersion == TlsVersion.Tls13 ? SslConstants.Tls13Version : SslConstants.Tls12Version;
        Require((int)LibSsl.SSL_CTX_ctrl(context, SslConstants.ControlMinProtocol, least, []), "lowest version");

        // OpenSSL accepts a minimum above the maximum, which its own configuration may have set, and then refuses every client.
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

        // Clients keep sessions, in tickets: without a cache there is no lock in OpenSSL that reactors share.
        _ = LibSsl.SSL_CTX_ctrl(context, SslConstants.ControlSessionCacheMode, 0, []);
        _ = LibSsl.SSL_CTX_set_timeout(context, (long)options.TicketKeyLifetime.TotalSeconds);
        Require(LibSsl.SSL_CTX_set_tlsext_ticket_key_evp_cb(context, &HandshakeCallbacks.OnTicketKey), "keys of tickets");
        delegate* unmanaged<nint, int*, void*, int> onServerName = &HandshakeCallbacks.OnServerName;
        Require((int)LibSsl.SSL_CTX_callback_ctrl(context, SslConstants.ControlServerNameCallback, onServerName), "choice by host");
        if (options.ChallengeCertificates is not null)
        {
            LibSsl.SSL_CTX_set_client_hello_cb(context, &HandshakeCallbacks.OnClientHello, null);
        }

        if (options.ApplicationProtocols.Count > 0 || options.ChallengeCertificates is not null)
        {
            LibSsl.SSL_CTX_set_alpn_select_cb(context, &HandshakeCallbacks.OnProtocols, null);
        }

        if (options.KeyLogFile is not null)
        {
            LibSsl.SSL_CTX_set_keylog_callback(context, &HandshakeCallbacks.OnKeyLogLine);
        }
    }

    /// <summary>
    /// Configures client certificates. A session is resumed only under the same requirement and the same authorities, as its certificate is
    /// not verified again.
    /// </summary>
    private void AskForClientCertificates(nint context)
    {
        byte[] authorities = [];
        if (options.ClientCertificates != ClientCertificates.None && options.ClientAuthoritiesFile is string path)
        {
            IReadOnlyList<byte[]> read = CertificateReader.ReadAuthorities(path);
            foreach (byte[] authority in read)
            {
                TrustClientsOf(context, authority, path);
            }

            authorities = [.. read.SelectMany(static authority => authority)];
        }

        byte[] identity = SHA256.HashData([(byte)options.ClientCertificates, .. authorities]);
        Require(LibSsl.SSL_CTX_set_session_id_context(context, identity, (uint)identity.Length), "session context");

        if (options.ClientCertificates == ClientCertificates.None)
        {
            return;
        }

        int mode = SslConstants.VerifyPeer
            | (options.ClientCertificates == ClientCertificates.Required ? SslConstants.VerifyFailIfNoPeerCertificate : 0);
        LibSsl.SSL_CTX_set_verify(context, mode, options.ClientAuthoritiesFile is null ? &HandshakeCallbacks.OnVerifyLater : null);
        _ = LibSsl.SSL_CTX_ctrl(context, SslConstants.ControlMaxCertificateList, ClientCertificateBytesMax, []);
    }

    /// <summary>Adds an authority for verification and to the list by which clients choose their certificate.</summary>
    private static void TrustClientsOf(nint context, byte[] authority, string path)
    {
        nint certificate = CertificateKeyPair.Parse(authority, path);
        OpenSslErrors.Clear();
        bool isTaken = LibCrypto.X509_STORE_add_cert(LibSsl.SSL_CTX_get_cert_store(context), certificate) == 1
            && LibSsl.SSL_CTX_add_client_CA(context, certificate) == 1;
        LibCrypto.X509_free(certificate);
        if (!isTaken)
        {
            throw new TlsException($"OpenSSL does not take an authority in '{path}': {OpenSslErrors.Drain()}.");
        }
    }

    private static void Require(int result, string what)
    {
        if (result != 1)
        {
            throw new TlsException($"OpenSSL refuses the {what}: {OpenSslErrors.Drain()}.");
        }
    }
}
