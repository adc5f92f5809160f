using Millrace.Tls.OpenSsl;

namespace Millrace.Tls.Certificates;

/// <summary>
/// An <c>SSL_CTX</c>: a certificate with its key, or one for each kind of key, and the settings that all share. Connections that were made
/// from it keep it; ours is one reference among theirs.
/// </summary>
internal sealed class ServerContext : IDisposable
{
    private static int LiveCount;

    public ServerContext(nint handle, string place, IReadOnlyList<string> names)
    {
        Handle = handle;
        Place = place;
        Names = names;
        Interlocked.Increment(ref LiveCount);
    }

    /// <summary>Those of the process that were not disposed.</summary>
    public static int Live => Volatile.Read(ref LiveCount);

    public nint Handle { get; private set; }

    /// <summary>Where its certificate is, for log lines.</summary>
    public string Place { get; }

    /// <summary>The hosts that the certificate is for, perhaps <c>*.example.org</c>.</summary>
    public IReadOnlyList<string> Names { get; }

    public void Dispose()
    {
        LibSsl.SSL_CTX_free(Handle);
        Handle = 0;
        Interlocked.Decrement(ref LiveCount);
    }
}
