using Millrace.Engine.Backends;
using Millrace.Engine.Connections;

namespace Millrace.Engine;

/// <content>
/// Prefetches the memory that the next completions touch while one completion runs. With 512 connections of Kestrel this saves a fifth of
/// the CPU time per request; with 64, which stay in the caches, it would cost time.
/// </content>
public sealed partial class Reactor
{
    /// <summary>Connections that a cache of 1 MiB holds, at 8 KiB each with Kestrel's objects, and those of the kernel.</summary>
    private const int CachedConnections = 128;

    /// <summary>How many completions ahead the connection object is prefetched.</summary>
    private const int ConnectionsAhead = 4;

    /// <summary>How many completions ahead the objects that it references are prefetched.</summary>
    private const int PartsAhead = 2;

    private void Prefetch(ReadOnlySpan<Completion> completions, int at)
    {
        if (Connections.Count <= CachedConnections)
        {
            return;
        }

        if (ConnectionOf(completions, at + ConnectionsAhead) is { } far)
        {
            far.Prefetch();
        }

        if (ConnectionOf(completions, at + PartsAhead) is { } near)
        {
            near.PrefetchParts(completions[at + PartsAhead].Token.Kind == OperationKind.Send
                ? CompletionKinds.Sent
                : CompletionKinds.Received);
        }
    }

    /// <summary>The connection in the slot, of whatever generation; null for other operations than sends and receives.</summary>
    private Connection? ConnectionOf(ReadOnlySpan<Completion> completions, int at) =>
        at < completions.Length && completions[at].Token is { Kind: OperationKind.Receive or OperationKind.Send } token
            ? Connections.PeekAt(token.Slot)
            : null;
}
