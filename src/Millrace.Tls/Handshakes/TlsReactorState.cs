using Millrace.Engine;
using Millrace.Tls.Records;

namespace Millrace.Tls.Handshakes;

/// <summary>State that the filters of one terminator on one reactor share. Reactor thread only.</summary>
internal sealed class TlsReactorState(Reactor reactor, TimeSpan handshakeBudget, int halfOpenMax)
{
    /// <summary>Twice what browsers send, with a post-quantum key share.</summary>
    public const int UsualHelloBytes = 4 * 1024;

    [ThreadStatic]
    private static RecordBuffers? ThreadScratch;

    public HandshakeScheduler Scheduler { get; } = new(reactor, handshakeBudget);

    /// <summary>One per thread, shared by all terminators.</summary>
    public RecordBuffers Scratch { get; } = ThreadScratch ??= new RecordBuffers();

    public RecordBufferCache BufferCache { get; } = new();

    public HalfOpenHandshakes HalfOpen { get; } = new(halfOpenMax);

    /// <summary>Bytes of unfinished hellos beyond <see cref="UsualHelloBytes"/> each; usual hellos add nothing.</summary>
    public int LargeHelloBytes { get; set; }
}

/// <summary>
/// Memory for one record in each direction, shared by the filters of a reactor, of which only one works at a time: the handler reads
/// decrypted data from one, and parts of one record are gathered in the other. Two, as a handler that reads may flush.
/// </summary>
internal sealed class RecordBuffers
{
    public byte[] Incoming { get; } = GC.AllocateUninitializedArray<byte>(RecordSizes.Most, pinned: true);

    public byte[] Outgoing { get; } = GC.AllocateUninitializedArray<byte>(RecordSizes.Most, pinned: true);
}
