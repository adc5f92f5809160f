using Microsoft.Extensions.Logging;
using Millrace.Engine;
using Millrace.Tls;
using Millrace.Tls.Certificates;
using Millrace.Web;

namespace Millrace.Server.Https;

/// <summary>TLS in front of the sites: certificates, and which session serves what a client has agreed on.</summary>
internal sealed class HttpsFront : IDisposable
{
    /// <summary>
    /// What is offered by ALPN, the most wanted first, and what serves it. The last one also serves clients that offer nothing.
    /// </summary>
    private static readonly (string Name, Func<StaticSites, Connection, Task> Serve)[] Protocols =
    [
        ("h2", static (sites, connection) => sites.ServeHttp2Async(connection)),
        ("http/1.1", static (sites, connection) => sites.ServeAsync(connection)),
    ];

    private readonly IReadOnlyList<CertificateFiles> _certificates;

    private HttpsFront(TlsTerminator terminator, IReadOnlyList<CertificateFiles> certificates, LocalCertificate? local)
    {
        _certificates = certificates;
        Terminator = terminator;
        Local = local;
    }

    public TlsTerminator Terminator { get; }

    /// <summary>The certificate that was made for lack of another.</summary>
    public LocalCertificate? Local { get; }

    /// <summary>The hosts that the certificates in use are for.</summary>
    public IReadOnlyList<string> Names
    {
        get
        {
            CertificateSet certificates = Terminator.Certificates.Acquire();
            try
            {
                return [.. certificates.Names];
            }
            finally
            {
                certificates.Release();
            }
        }
    }

    /// <summary>Reads the certificates; null where no HTTPS was asked for.</summary>
    /// <exception cref="TlsException">They cannot be served with; the message says why.</exception>
    public static HttpsFront? Open(HttpsOptions options, ILoggerFactory logging)
    {
        if (options.Addresses.Count == 0)
        {
            return null;
        }

        LocalCertificate? local = options.Certificates.Count == 0 ? LocalCertificate.FindOrMake() : null;
        IReadOnlyList<CertificateFiles> certificates = local is null ? options.ReadCertificates() : [local.Files];
        var tls = new TlsOptions
        {
            Certificates = certificates,
            ApplicationProtocols = [.. Protocols.Select(static protocol => protocol.Name)],
            ClientCertificates = options.ClientAuthorities is null ? ClientCertificates.None : ClientCertificates.Required,
            ClientAuthoritiesFile = options.ClientAuthorities,
            KeyLogFile = options.KeyLog,
        };
        return new HttpsFront(TlsTerminator.Create(tls, logging), certificates, local);
    }

    /// <summary>
    /// Whether its keys' passwords are those that the files have now. Where those cannot be read, what is in use stays: a user who may not
    /// read them is no reason to refuse all else that a reload brings.
    /// </summary>
    public bool HasPasswordsOf(HttpsOptions told)
    {
        try
        {
            return told.Certificates.Count == 0 || told.ReadCertificates().SequenceEqual(_certificates);
        }
        catch (TlsException)
        {
            return true;
        }
    }

    /// <summary>Reads the certificates anew; where that fails, those in use stay.</summary>
    public void Reload() => _ = Terminator.TryReload();

    public void Dispose() => Terminator.Dispose();

    /// <summary>Serves a connection whose handshake is done, in the protocol that was agreed on.</summary>
    public static Task ServeAsync(Connection connection, StaticSites sites)
    {
        string? agreed = connection.GetApplicationProtocol();
        foreach ((string name, Func<StaticSites, Connection, Task> serve) in Protocols)
        {
            if (name == agreed)
            {
                return serve(sites, connection);
            }
        }

        return Protocols[^1].Serve(sites, connection);
    }
}
