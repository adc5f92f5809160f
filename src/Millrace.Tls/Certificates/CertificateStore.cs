using System.Security.Cryptography;

namespace Millrace.Tls.Certificates;

/// <summary>
/// The certificates in use. They are replaced as a whole; handshakes that have begun keep the earlier set. Any thread.
/// </summary>
internal sealed class CertificateStore : IDisposable
{
    private readonly Lock _replacing = new();
    private readonly ServerContextFactory _factory;
    private readonly TlsLog _log;

    /// <summary>The pairs of the current set, which this owns.</summary>
    private Dictionary<ServerCertificate, CertificateKeyPair> _pairs = [];
    private IReadOnlyList<ServerCertificate> _configured;
    private CertificateSet _current = null!;

    /// <param name="factory">Makes sets.</param>
    /// <param name="configured">The certificates to begin with.</param>
    /// <param name="log">Names those that are kept.</param>
    /// <exception cref="TlsException">One cannot be loaded.</exception>
    public CertificateStore(ServerContextFactory factory, IReadOnlyList<ServerCertificate> configured, TlsLog log)
    {
        _factory = factory;
        _log = log;
        _configured = configured;
        _current = Load(configured, mayKeep: false);
    }

    /// <summary>The current set, which the caller releases.</summary>
    public CertificateSet Acquire()
    {
        CertificateSet current;
        do
        {
            current = Volatile.Read(ref _current);
        }
        while (!current.TryHold());

        return current;
    }

    /// <summary>
    /// Loads a new set: of these certificates from now on, or of the same again. With other certificates, one of those in use that cannot
    /// be read now stays as it was loaded, so that it does not keep the others out.
    /// </summary>
    /// <exception cref="TlsException">The new set cannot be loaded; the one in use stays.</exception>
    public CertificateSet Replace(IReadOnlyList<ServerCertificate>? certificates = null)
    {
        lock (_replacing)
        {
            CertificateSet next = Load(certificates ?? _configured, mayKeep: certificates is not null);
            _configured = certificates ?? _configured;
            Interlocked.Exchange(ref _current, next).Release();
            return next;
        }
    }

    public void Dispose()
    {
        _current.Release();
        Free(_pairs.Values);
    }

    private static void Free(IEnumerable<CertificateKeyPair> pairs)
    {
        foreach (CertificateKeyPair pair in pairs)
        {
            pair.Dispose();
        }
    }

    private CertificateSet Load(IReadOnlyList<ServerCertificate> certificates, bool mayKeep)
    {
        var next = new Dictionary<ServerCertificate, CertificateKeyPair>();
        try
        {
            foreach (ServerCertificate certificate in certificates)
            {
                if (!next.ContainsKey(certificate))
                {
                    next[certificate] = Load(certificate, mayKeep);
                }
            }

            CertificateSet set = _factory.Make([.. certificates.Select(certificate => (certificate.Source, next[certificate]))]);
            Free(_pairs.Values.Except(next.Values));
            _pairs = next;
            return set;
        }
        catch
        {
            Free(next.Values.Except(_pairs.Values));
            throw;
        }
    }

    private CertificateKeyPair Load(ServerCertificate certificate, bool mayKeep)
    {
        try
        {
            return certificate.Load();
        }
        catch (Exception refusal) when (mayKeep && _pairs.ContainsKey(certificate)
            && refusal is TlsException or IOException or UnauthorizedAccessException or CryptographicException)
        {
            _log.CertificateKept(certificate.Source, refusal.Message);
            return _pairs[certificate];
        }
    }
}
