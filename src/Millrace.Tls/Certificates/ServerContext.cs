using Millrace.Tls.OpenSsl;

namespace Millrace.Tls.Certificates;

/// <summary>
/// An <c>SSL_CTX</c>: a certificate with its key, or one for each kind of key, and the shared settings. Reference-counted by OpenSSL:
/// connections made from it keep it alive after Dispose.
/// </summary>
internal sealed class ServerContext : IDisposable
{
    private static int LiveCount;

    public ServerContext(nint handle, string source, CertificateFacts facts)
    {
        Handle = handle;
        Source = source;
        Names = facts.Names;
        Covered = new CertificateNames(facts.Names, facts.Addresses);
        Interlocked.Increment(ref LiveCount);
    }

    public static int Live => Volatile.Read(ref LiveCount);

    public nint Handle { get; private set; }

    public string Source { get; }

    /// <summary>The hosts of its certificate, possibly <c>*.example.org</c>.</summary>
    public IReadOnlyList<string> Names { get; }

    /// <summary>The hosts and addresses, to compare with those of requests. It outlives the context.</summary>
    public CertificateNames Covered { get; }

    public void Dispose()
    {
        LibSsl.SSL_CTX_free(Handle);
        Handle = 0;
        Interlocked.Decrement(ref LiveCount);
    }
}
