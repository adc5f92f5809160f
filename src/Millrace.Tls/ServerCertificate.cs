using Millrace.Tls.Certificates;

namespace Millrace.Tls;

/// <summary>
/// A certificate with its private key, wherever they are: <see cref="CertificateFiles"/> or <see cref="LoadedCertificate"/>.
/// </summary>
public abstract record ServerCertificate
{
    private protected ServerCertificate()
    {
    }

    /// <summary>Where it is, for log lines.</summary>
    internal abstract string Place { get; }

    /// <summary>Looks at it. Says in the log where clients will not like its dates.</summary>
    /// <exception cref="TlsException">It cannot be read, or is none.</exception>
    internal abstract CertificateFacts ReadFacts(TlsLog log);

    /// <summary>Gives it to a context of OpenSSL's, with its key.</summary>
    /// <exception cref="TlsException">OpenSSL does not take it.</exception>
    internal abstract void LoadInto(nint context);
}
