using Millrace.Tls;

namespace Millrace.AspNetCore.Https;

/// <summary>What terminates the TLS of one listener, from before it is bound until no connection comes there any more.</summary>
internal sealed class ListenersTls(TlsTerminator terminator, Action giveBack) : IDisposable
{
    private bool _isGivenBack;

    public TlsTerminator Terminator { get; } = terminator;

    public void Dispose()
    {
        if (!Interlocked.Exchange(ref _isGivenBack, true))
        {
            giveBack();
        }
    }
}
