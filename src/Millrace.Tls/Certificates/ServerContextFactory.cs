using System.Security.Cryptography;
using Millrace.Tls.Handshakes;
using Millrace.Tls.OpenSsl;
using Millrace.Tls.Quic;

namespace Millrace.Tls.Certificates;

/// <summary>Makes the contexts: loads the certificates and applies the settings that all share.</summary>
internal sealed unsafe class ServerContextFactory(TlsOptions options, TlsLog log)
{
    /// <summary>The limit on a client's certificate with those that lead to its root.</summary>
    private const int ClientCertificateBytesMax = 64 * 1024;

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
        nint context = ContextSettings.New(LibSsl.TLS_server_method());
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
        ContextSettings.Apply(context, options.ServesQuic ? TlsVersion.Tls13 : options.MinimumVersion);
        _ = LibSsl.SSL_CTX_set_options(context, SslConstants.OptionCipherServerPreference | SslConstants.OptionPrioritizeChaCha);

        // Clients keep sessions, in tickets: without a cache there is no lock in OpenSSL that reactors share.
        _ = LibSsl.SSL_CTX_ctrl(context, SslConstants.ControlSessionCacheMode, 0, []);
        _ = LibSsl.SSL_CTX_set_timeout(context, (long)options.TicketKeyLifetime.TotalSeconds);
        ContextSettings.Require(LibSsl.SSL_CTX_set_tlsext_ticket_key_evp_cb(context, &HandshakeCallbacks.OnTicketKey), "keys of tickets");
        delegate* unmanaged<nint, int*, void*, int> onServerName = &HandshakeCallbacks.OnServerName;
        ContextSettings.Require(
            (int)LibSsl.SSL_CTX_callback_ctrl(context, SslConstants.ControlServerNameCallback, onServerName), "choice by host");
        LibSsl.SSL_CTX_set_client_hello_cb(context, &HandshakeCallbacks.OnClientHello, null);
        if (options.ApplicationProtocols.Count > 0 || options.ChallengeCertificates is not null)
        {
            LibSsl.SSL_CTX_set_alpn_select_cb(context, &HandshakeCallbacks.OnProtocols, null);
        }

        ContextSettings.ReportSecrets(context);

        if (options.ServesQuic)
        {
            QuicContexts.Configure(context);
        }
        else
        {
            QuicContexts.RecognizeParameters(context, isClient: false);
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
                ContextSettings.Trust(context, authority, path, LibSsl.SSL_CTX_add_client_CA);
            }

            authorities = [.. read.SelectMany(static authority => authority)];
        }

        byte[] identity = SHA256.HashData([(byte)options.ClientCertificates, .. authorities]);
        ContextSettings.Require(LibSsl.SSL_CTX_set_session_id_context(context, identity, (uint)identity.Length), "session context");

        if (options.ClientCertificates == ClientCertificates.None)
        {
            return;
        }

        int mode = SslConstants.VerifyPeer
            | (options.ClientCertificates == ClientCertificates.Required ? SslConstants.VerifyFailIfNoPeerCertificate : 0);
        LibSsl.SSL_CTX_set_verify(context, mode, options.ClientAuthoritiesFile is null ? &HandshakeCallbacks.OnVerifyLater : null);
        _ = LibSsl.SSL_CTX_ctrl(context, SslConstants.ControlMaxCertificateList, ClientCertificateBytesMax, []);
    }
}
