namespace Millrace.Tls.Certificates;

/// <summary>
/// The certificates in use. They are replaced as a whole, and connections that have begun keep those they know. Any thread.
/// </summary>
internal sealed class CertificateStore(Func<CertificateSet> load) : IDisposable
{
    private readonly Lock _replacing = new();
    private CertificateSet _current = load();

    /// <summary>The present ones, to be released.</summary>
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

    /// <summary>Loads them anew.</summary>
    /// <exception cref="TlsException">The new ones cannot be had; those in use stay.</exception>
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
