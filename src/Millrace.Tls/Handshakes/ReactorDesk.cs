using Millrace.Engine;
using Millrace.Tls.Records;

namespace Millrace.Tls.Handshakes;

/// <summary>What the stages of one terminator on one reactor share. Reactor thread only.</summary>
internal sealed class ReactorDesk(Reactor reactor, TimeSpan handshakeBudget)
{
    [ThreadStatic]
    private static RecordScratch? ThreadScratch;

    public HandshakeTurns Turns { get; } = new(reactor, handshakeBudget);

    /// <summary>The thread's, whosever stage it is.</summary>
    public RecordScratch Scratch { get; } = ThreadScratch ??= new RecordScratch();

    public WarmBuffers Warm { get; } = new();
}
