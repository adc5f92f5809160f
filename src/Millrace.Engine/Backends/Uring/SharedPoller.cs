namespace Millrace.Engine.Backends.Uring;

/// <summary>
/// The one kernel thread that takes the submissions of all rings of a group: started with the first of them, which leads, and joined by the
/// others while that one is open (IORING_SETUP_ATTACH_WQ); it lives as long as one of them. Any thread: reactors make their rings at once.
/// </summary>
internal sealed class SharedPoller
{
    /// <summary>Held where reactors start and end, never while they serve.</summary>
    private readonly Lock _gate = new();
    private int? _leader;

    /// <summary>A ring of the calling thread's.</summary>
    /// <exception cref="EngineException">The kernel refused.</exception>
    public Ring CreateRing(EngineOptions options)
    {
        using (_gate.EnterScope())
        {
            Ring ring = Ring.Create(options, this, _leader);
            _leader ??= ring.Descriptor;
            return ring;
        }
    }

    /// <summary>A ring is about to be closed, after which its number may be anything's.</summary>
    public void Leave(int descriptor)
    {
        using (_gate.EnterScope())
        {
            _leader = _leader == descriptor ? null : _leader;
        }
    }
}
