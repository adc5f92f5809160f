namespace Millrace.Tls.Certificates;

/// <summary>
/// The certificates in use. They are replaced as a whole; handshakes that have begun keep the earlier set. Any thread.
/// </summary>
/// <param name="load">Loads certificates as a set.</param>
/// <param name="configured">Those to begin with.</param>
internal sealed class CertificateStore(
    Func<IReadOnlyList<ServerCertificate>, CertificateSet> load, IReadOnlyList<ServerCertificate> configured) : IDisposable
{
    private readonly Lock _replacing = new();
    private IReadOnlyList<ServerCertificate> _configured = configured;
    private CertificateSet _current = load(configured);

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

    /// <summary>Loads a new set: of these certificates from now on, or of the same again.</summary>
    /// <exception cref="TlsException">The new set cannot be loaded; the one in use stays.</exception>
    public CertificateSet Replace(IReadOnlyList<ServerCertificate>? certificates = null)
    {
        lock (_replacing)
        {
            certificates ??= _configured;
            CertificateSet next = load(certificates);
            _configured = certificates;
            Interlocked.Exchange(ref _current, next).Release();
            return next;
        }
    }

    public void Dispose() => _current.Release();
}
