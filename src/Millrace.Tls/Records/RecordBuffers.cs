namespace Millrace.Tls.Records;

/// <summary>
/// Memory for one record in each direction, shared by the filters of a reactor, of which only one works at a time: the handler reads
/// decrypted data from one, and parts of one record are gathered in the other. Two, as a handler that reads may flush.
/// </summary>
internal sealed class RecordBuffers
{
    [ThreadStatic]
    private static RecordBuffers? Instance;

    /// <summary>One per thread, shared by all connections of its reactor, accepted and outbound.</summary>
    public static RecordBuffers OfThread => Instance ??= new RecordBuffers();

    public byte[] Incoming { get; } = GC.AllocateUninitializedArray<byte>(RecordSizes.Most, pinned: true);

    public byte[] Outgoing { get; } = GC.AllocateUninitializedArray<byte>(RecordSizes.Most, pinned: true);

    public RecordBufferCache Cache { get; } = new();
}
