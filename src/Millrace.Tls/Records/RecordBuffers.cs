namespace Millrace.Tls.Records;

/// <summary>
/// Memory for one record in each direction, shared by the filters of a reactor, of which only one works at a time: the handler reads
/// decrypted data from one, and parts of one record are gathered in the other. Two, as a handler that reads may flush.
/// </summary>
internal sealed class RecordBuffers
{
    private readonly byte[] _incoming = GC.AllocateUninitializedArray<byte>(RecordSizes.Most, pinned: true);
    private readonly byte[] _outgoing = GC.AllocateUninitializedArray<byte>(RecordSizes.Most, pinned: true);

    public Span<byte> Incoming => _incoming;

    public Span<byte> Outgoing => _outgoing;
}
