#pragma warning disable RS0030 // Reactors share it. The lock is held where they start and end, never while they serve.

namespace Millrace.Engine.Backends.IoUring;

/// <summary>
/// The kernel thread that takes the submissions of all rings of a group: started with the first ring, which leads, and joined by the others
/// while that ring is open (IORING_SETUP_ATTACH_WQ); it lives as long as one of them. Any thread: reactors create their rings concurrently.
/// </summary>
internal sealed class SharedSubmissionPoller
{
    private readonly Lock _lock = new();
    private int? _leader;

    /// <summary>Creates a ring owned by the calling thread.</summary>
    /// <exception cref="EngineException">The kernel refused.</exception>
    public Ring CreateRing(EngineOptions options)
    {
        using (_lock.EnterScope())
        {
            Ring ring = Ring.Create(options, this, _leader);
            _leader ??= ring.Descriptor;
            return ring;
        }
    }

    /// <summary>Must be called before a ring is closed: its descriptor number may then be reused.</summary>
    public void Leave(int descriptor)
    {
        using (_lock.EnterScope())
        {
            _leader = _leader == descriptor ? null : _leader;
        }
    }
}
