using Millrace.Tls;

namespace Millrace.AspNetCore.Https;

/// <summary>The TLS terminator of one listener, held from before it is bound until it receives no more connections.</summary>
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
