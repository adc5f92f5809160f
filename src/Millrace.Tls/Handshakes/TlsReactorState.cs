using Millrace.Engine;

namespace Millrace.Tls.Handshakes;

/// <summary>State that the filters of one terminator on one reactor share. Reactor thread only.</summary>
internal sealed class TlsReactorState(Reactor reactor, TimeSpan handshakeBudget, int halfOpenMax)
{
    /// <summary>Twice what browsers send, with a post-quantum key share.</summary>
    public const int UsualHelloBytes = 4 * 1024;

    public HandshakeScheduler Scheduler { get; } = new(reactor, handshakeBudget);

    public HalfOpenHandshakes HalfOpen { get; } = new(halfOpenMax);

    /// <summary>Bytes of unfinished hellos beyond <see cref="UsualHelloBytes"/> each; usual hellos add nothing.</summary>
    public int LargeHelloBytes { get; set; }
}
