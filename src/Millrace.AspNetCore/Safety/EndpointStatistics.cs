using Microsoft.AspNetCore.Http;

namespace Millrace.AspNetCore.Safety;

/// <summary>
/// Blocking statistics of one endpoint. Its first slow call is assumed to be JIT compilation, and so are slow calls soon after it:
/// continuations and concurrent calls run code that is being compiled. Any thread.
/// </summary>
internal sealed class EndpointStatistics
{
    /// <summary>How long after the first slow call other slow calls are assumed to be compilation too.</summary>
    public const int NewMs = 5000;

    private long _firstStallMs = long.MaxValue;
    private Endpoint? _offReactorVariant;

    /// <summary>Decides whether the endpoint's requests leave the reactors.</summary>
    public BlockingPolicy Policy { get; } = new();

    /// <summary>The endpoint's variant that leaves its reactor first; created once, when needed.</summary>
    public Endpoint? OffReactorVariant => Volatile.Read(ref _offReactorVariant);

    /// <summary>Notes that a call stalled its reactor. True if it may be compilation.</summary>
    public bool BeginStall(long nowMs)
    {
        long firstMs = Interlocked.CompareExchange(ref _firstStallMs, nowMs, long.MaxValue);
        return firstMs == long.MaxValue || nowMs - firstMs < NewMs;
    }

    /// <summary>Stores the variant and returns it, or the earlier one if two threads created it.</summary>
    public Endpoint StoreVariant(Endpoint created) => Interlocked.CompareExchange(ref _offReactorVariant, created, null) ?? created;
}
