using System.Diagnostics;
using Millrace.Engine.Connections;

namespace Millrace.Engine;

/// <content>The memory that a completion of this connection will touch, prefetched.</content>
public sealed partial class Connection
{
    private const int OwnBytes = 672;
    private const int SignalBytes = 56;

    private PrefetchSet _prefetch;

    /// <summary>Adds an object of the handler that these completions touch. It is held until the slot is free.</summary>
    internal void AddToPrefetch(object part, PrefetchRange range, CompletionKinds kinds)
    {
        Debug.Assert(_prefetch.Count < PrefetchSet.PartsMax);
        _prefetch.Add(part, range, kinds);
    }

    internal void Prefetch() => PrefetchSet.Prefetch(this, new PrefetchRange(OwnBytes));

    /// <summary>Prefetches the registered parts. Reads this object, which was prefetched before.</summary>
    internal void PrefetchParts(CompletionKinds kinds) => _prefetch.Prefetch(kinds);

    private void OpenPrefetch() => _prefetch.Add(_read, new PrefetchRange(SignalBytes), CompletionKinds.Received);
}
