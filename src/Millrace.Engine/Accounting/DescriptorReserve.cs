namespace Millrace.Engine.Accounting;

/// <summary>
/// Judges by a new descriptor's number how scarce descriptors are (RLIMIT_NOFILE): the kernel gives the lowest free number, so all below
/// are in use. The last ones available to accepts (<see cref="AcceptLimit"/>) are reserved for connections, and for files of clients that
/// have few, while connections of other clients are ended for them. Pure.
/// </summary>
internal sealed class DescriptorReserve
{
    /// <summary>A client with at most so many connections is served even if no other client's connection can be ended.</summary>
    private const int FewConnections = 2;

    private readonly int _limit;
    private readonly int _first;
    private readonly int _lastHalf;

    public DescriptorReserve(int limit)
    {
        _limit = limit;
        Count = Math.Clamp(limit / 16, 4, 256);
        _first = limit - Count;
        _lastHalf = limit - (Count / 2);
    }

    public int Count { get; }

    /// <summary>Whether the descriptor is reserved: to keep it, another client's connection must end.</summary>
    public bool IsReserved(int descriptor) => descriptor >= _first;

    /// <summary>
    /// Whether a client with so many connections may keep a reserved descriptor although no other connection ends. The second half is only
    /// for clients with few connections, which may come after a crowd.
    /// </summary>
    public bool MayKeep(int descriptor, int connections) => descriptor < _lastHalf || connections <= FewConnections;

    /// <summary>
    /// Whether a client with so many open files may open one more: beyond a sixteenth of the limit only while half are free.
    /// </summary>
    public bool MayOpen(int descriptor, int openFiles) => !IsReserved(descriptor) && (AreFewFiles(openFiles) || descriptor < _limit / 2);

    public bool AreFewFiles(int openFiles) => openFiles < _limit / 16;
}
