using System.Security.Cryptography;
using Millrace.Tls.Handshakes;
using Millrace.Tls.OpenSsl;

namespace Millrace.Tls.Certificates;

/// <summary>Makes contexts: the files of a certificate, and the settings that are the same for all.</summary>
internal sealed unsafe class ContextMaker(TlsOptions options, TlsLog log)
{
    /// <summary>A client's certificate with those that lead to its root.</summary>
    private const int ClientCertificateBytesMax = 64 * 1024;

    /// <summary>
    /// Forward secrecy and AEAD only: Mozilla's "intermediate" without its finite-field groups, which cost ten times as much and which no
    /// client needs that knows AEAD.
    /// </summary>
    private static ReadOnlySpan<byte> Tls12Ciphers =>
        "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:"u8
        + "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305\0"u8;

    /// <summary>AES with 128 bits first, as Mozilla has it and browsers do: as good as 256, and a fifth faster.</summary>
    private static ReadOnlySpan<byte> Tls13Suites => "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256\0"u8;

    private static ReadOnlySpan<byte> Groups => "X25519:P-256:P-384\0"u8;

    /// <summary>All certificates, or none. Those for the same hosts with keys of different kinds share a context.</summary>
    /// <exception cref="TlsException">A file is not what it must be; the message says which and what to do.</exception>
    public CertificateSet MakeAll()
    {
        var made = new List<ServerContext>();
        try
        {
            var facts = new List<CertificateFacts[]>();
            foreach (ServerCertificate certificate in options.Certificates)
            {
                CertificateFacts read = certificate.ReadFacts(log);
                int pair = facts.FindIndex(others => Array.TrueForAll(others, other => other.IsPairedWith(read)));
                if (pair >= 0)
                {
                    certificate.LoadInto(made[pair].Handle);
                    facts[pair] = [.. facts[pair], read];
                }
                else
                {
                    made.Add(Make(certificate, read));
                    facts.Add([read]);
                }
            }

            return new CertificateSet(made, (context, name) => log.NameTaken(context.Place, name));
        }
        catch
        {
            made.ForEach(static context => context.Dispose());
            throw;
        }
    }

    private ServerContext Make(ServerCertificate certificate, CertificateFacts facts)
    {
        nint context = LibSsl.SSL_CTX_new(LibSsl.TLS_server_method());
        if (context == 0)
        {
            throw new TlsException($"OpenSSL has no context for TLS: {OpenSslErrors.Drain()}.");
        }

        var made = new ServerContext(context, certificate.Place, facts.Names);
        try
        {
            Configure(context);
            AskForClientCertificates(context);
            certificate.LoadInto(context);
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
        _ = LibSsl.SSL_CTX_ctrl(context, SslConstants.ControlMinProtocol, least, null);
        _ = LibSsl.SSL_CTX_ctrl(context, SslConstants.ControlReadAhead, 1, null);
        fixed (byte* ciphers = Tls12Ciphers, suites = Tls13Suites, groups = Groups)
        {
            Require(LibSsl.SSL_CTX_set_cipher_list(context, ciphers), "ciphers");
            Require(LibSsl.SSL_CTX_set_ciphersuites(context, suites), "cipher suites");
            Require((int)LibSsl.SSL_CTX_ctrl(context, SslConstants.ControlGroupsList, 0, groups), "groups");
        }

        // Clients keep sessions, in tickets: no cache, and so no lock of OpenSSL's that reactors would share.
        _ = LibSsl.SSL_CTX_ctrl(context, SslConstants.ControlSessionCacheMode, 0, null);
        _ = LibSsl.SSL_CTX_set_timeout(context, (long)options.TicketKeyLifetime.TotalSeconds);
        _ = LibSsl.SSL_CTX_set_tlsext_ticket_key_evp_cb(context, &Callbacks.OnTicketKey);
        delegate* unmanaged<nint, int*, void*, int> onServerName = &Callbacks.OnServerName;
        _ = LibSsl.SSL_CTX_callback_ctrl(context, SslConstants.ControlServerNameCallback, onServerName);
        if (options.ApplicationProtocols.Count > 0)
        {
            LibSsl.SSL_CTX_set_alpn_select_cb(context, &Callbacks.OnProtocols, null);
        }

        if (options.KeyLogFile is not null)
        {
            LibSsl.SSL_CTX_set_keylog_callback(context, &Callbacks.OnKeyLogLine);
        }
    }

    /// <summary>
    /// A session is resumed only where the same is asked of clients, of the same authorities: a certificate is not looked at again.
    /// </summary>
    private void AskForClientCertificates(nint context)
    {
        byte[] authorities = [];
        if (options.ClientCertificates != ClientCertificates.None && options.ClientAuthoritiesFile is string path)
        {
            authorities = CertificateText.ReadFile(path, "file of authorities");
            OpenSslErrors.Clear();
            nint names = LibSsl.SSL_load_client_CA_file(path);
            if (names == 0 || LibSsl.SSL_CTX_load_verify_file(context, path) != 1)
            {
                throw new TlsException($"'{path}' holds no certificates of authorities in PEM: {OpenSslErrors.Drain()}.");
            }

            LibSsl.SSL_CTX_set_client_CA_list(context, names);
        }

        byte[] identity = SHA256.HashData([(byte)options.ClientCertificates, .. authorities]);
        fixed (byte* bytes = identity)
        {
            Require(LibSsl.SSL_CTX_set_session_id_context(context, bytes, (uint)identity.Length), "session context");
        }

        if (options.ClientCertificates == ClientCertificates.None)
        {
            return;
        }

        int mode = SslConstants.VerifyPeer
            | (options.ClientCertificates == ClientCertificates.Required ? SslConstants.VerifyFailIfNoPeerCertificate : 0);
        LibSsl.SSL_CTX_set_verify(context, mode, options.ClientAuthoritiesFile is null ? &Callbacks.OnVerifyLater : null);
        _ = LibSsl.SSL_CTX_ctrl(context, SslConstants.ControlMaxCertificateList, ClientCertificateBytesMax, null);
    }

    private static void Require(int result, string what)
    {
        if (result != 1)
        {
            throw new TlsException($"OpenSSL refuses the {what}: {OpenSslErrors.Drain()}.");
        }
    }
}
