using Millrace.Interop.IoUring;
using Millrace.Interop.Memory;
using Millrace.Interop.Sockets;

namespace Millrace.Interop.Tests.Kit;

/// <summary>The least ring that works: one entry at a time, straight through the offsets the kernel gave. Owns it all.</summary>
internal sealed unsafe class RawRing : IDisposable
{
    private const uint Entries = 8;

    private readonly RingParameters _parameters;
    private readonly byte* _rings;
    private readonly nuint _ringBytes;
    private readonly Sqe* _entries;

    public RawRing()
    {
        RingParameters parameters = default;
        Fd = TcpPair.Require(IoUringCalls.Setup(Entries, &parameters));
        _parameters = parameters;
        _ringBytes = Math.Max(
            parameters.Submission.Array + (parameters.SubmissionEntries * sizeof(uint)),
            parameters.Completion.Entries + (parameters.CompletionEntries * (uint)sizeof(Cqe)));
        _rings = (byte*)Map(_ringBytes, IoUringCalls.MapSubmissionRing);
        _entries = (Sqe*)Map(EntriesBytes, IoUringCalls.MapSubmissionEntries);
    }

    public int Fd { get; }

    public ref readonly RingParameters Parameters => ref _parameters;

    public uint SubmissionRingEntries => *(uint*)(_rings + _parameters.Submission.RingEntries);

    public uint CompletionRingEntries => *(uint*)(_rings + _parameters.Completion.RingEntries);

    private nuint EntriesBytes => _parameters.SubmissionEntries * (nuint)sizeof(Sqe);

    /// <summary>Submits one operation and waits for a completion: its own, for these tests do one thing at a time.</summary>
    public Cqe Run(Sqe entry)
    {
        uint mask = *(uint*)(_rings + _parameters.Submission.RingMask);
        uint* tail = (uint*)(_rings + _parameters.Submission.Tail);
        uint index = *tail & mask;
        _entries[index] = entry;
        ((uint*)(_rings + _parameters.Submission.Array))[index] = index;
        Volatile.Write(ref *tail, *tail + 1);
        Assert.Equal(1, IoUringCalls.Enter(Fd, 1, 1, EnterFlags.GetEvents, null, 0));
        return Take();
    }

    public Cqe Take()
    {
        uint* head = (uint*)(_rings + _parameters.Completion.Head);
        Assert.NotEqual(Volatile.Read(ref *(uint*)(_rings + _parameters.Completion.Tail)), *head);
        uint mask = *(uint*)(_rings + _parameters.Completion.RingMask);
        Cqe completion = ((Cqe*)(_rings + _parameters.Completion.Entries))[*head & mask];
        Volatile.Write(ref *head, *head + 1);
        return completion;
    }

    public void Dispose()
    {
        Assert.Equal(0, MemoryCalls.Unmap((nint)_entries, EntriesBytes));
        Assert.Equal(0, MemoryCalls.Unmap((nint)_rings, _ringBytes));
        Assert.Equal(0, SocketCalls.Close(Fd));
    }

    private nint Map(nuint bytes, long offset)
    {
        nint address = MemoryCalls.MapRing(Fd, bytes, offset);
        Assert.False(MemoryCalls.Failed(address));
        return address;
    }
}
