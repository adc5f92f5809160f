namespace Millrace.Tls.Records;

/// <summary>
/// The stages of a reactor whose buffers OpenSSL keeps: the last that worked. Its own way (SSL_MODE_RELEASE_BUFFERS) is to allocate two of
/// 17 KiB for every record and give them back behind it; kept by all, they would be 34 KiB for each idle connection. Reactor thread only.
/// </summary>
internal sealed class WarmBuffers
{
    /// <summary>4.3 MiB of buffers.</summary>
    public const int Most = 128;

    private readonly TlsStage?[] _holders = new TlsStage?[Most];
    private int _next;

    /// <summary>Returns the stage's place; who had it longest gives its buffers back.</summary>
    public int Take(TlsStage stage)
    {
        int place = _next;
        _next = (place + 1) % Most;
        _holders[place]?.GiveBuffersBack();
        _holders[place] = stage;
        return place;
    }

    /// <summary>Its SSL is freed, and the buffers with it.</summary>
    public void Leave(int place) => _holders[place] = null;
}
