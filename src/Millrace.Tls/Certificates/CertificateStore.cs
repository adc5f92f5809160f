namespace Millrace.Tls.Certificates;

/// <summary>
/// The certificates in use. They are replaced as a whole; handshakes that have begun keep the earlier set. Any thread.
/// </summary>
internal sealed class CertificateStore(Func<CertificateSet> load) : IDisposable
{
    private readonly Lock _replacing = new();
    private CertificateSet _current = load();

    /// <summary>The current set, which the caller releases.</summary>
    public CertificateSet Acquire()
    {
        CertificateSet certificates;
        do
        {
            certificates = Volatile.Read(ref _current);
        }
        while (!certificates.TryHold());

        return certificates;
    }

    /// <summary>Loads a new set.</summary>
    /// <exception cref="TlsException">The new set cannot be loaded; the one in use stays.</exception>
    public CertificateSet Replace()
    {
        lock (_replacing)
        {
            CertificateSet next = load();
            Interlocked.Exchange(ref _current, next).Release();
            return next;
        }
    }

    public void Dispose() => _current.Release();
}
