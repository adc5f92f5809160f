using Millrace.Tls.OpenSsl;

namespace Millrace.Tls.Records;

/// <summary>
/// The connections of a reactor whose OpenSSL buffers are kept: those that worked last. OpenSSL's own alternatives are to allocate two
/// buffers of 17 KiB for every record and free them after it (SSL_MODE_RELEASE_BUFFERS), or to keep 34 KiB for each idle connection.
/// Reactor thread only.
/// </summary>
internal sealed class RecordBufferCache
{
    /// <summary>Those of a connection that sends several records at a time; more would not fit the L2 cache.</summary>
    public const int Most = 8;

    private readonly SslConnection?[] _holders = new SslConnection?[Most];
    private int _next;

    /// <summary>Returns the connection's index; the one that had it before frees its buffers.</summary>
    public int Take(SslConnection connection)
    {
        int index = _next;
        _next = (index + 1) % Most;
        _holders[index]?.FreeBuffers();
        _holders[index] = connection;
        return index;
    }

    public void Leave(int index) => _holders[index] = null;
}
