namespace Millrace.Tls.Records;

/// <summary>
/// A record's worth of memory in either direction, shared by the stages of a reactor, of which only one works at a time: what was
/// decrypted is read there by its handler, and pieces that make one record are gathered. Two, as a handler that reads may flush.
/// </summary>
internal sealed class RecordScratch
{
    private readonly byte[] _incoming = GC.AllocateUninitializedArray<byte>(RecordSizes.Most, pinned: true);
    private readonly byte[] _outgoing = GC.AllocateUninitializedArray<byte>(RecordSizes.Most, pinned: true);

    public Span<byte> Incoming => _incoming;

    public Span<byte> Outgoing => _outgoing;
}
