using Millrace.Tls.Certificates;

namespace Millrace.Tls;

/// <summary>
/// A certificate with its private key: <see cref="CertificateFiles"/> or <see cref="LoadedCertificate"/>.
/// </summary>
public abstract record ServerCertificate
{
    private protected ServerCertificate()
    {
    }

    internal abstract string Source { get; }

    /// <summary>Loads it with its key. The caller disposes it.</summary>
    /// <exception cref="TlsException">It cannot be read, or the key does not match.</exception>
    internal abstract CertificateKeyPair Load();
}
