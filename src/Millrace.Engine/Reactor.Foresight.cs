using Millrace.Engine.Backends;
using Millrace.Engine.Connections;

namespace Millrace.Engine;

/// <content>
/// While one completion is worked on, the memory that the next ones touch is on its way. With 512 connections of Kestrel this takes a fifth
/// of the CPU time of a request away; with 64, which stay in the caches, it would add to it.
/// </content>
public sealed partial class Reactor
{
    /// <summary>So many connections a cache of 1 MiB holds, at 8 KiB each with Kestrel's objects, and those of the kernel.</summary>
    private const int CachedConnections = 128;

    /// <summary>Completions from here to that whose connection is asked for.</summary>
    private const int ConnectionsAhead = 4;

    /// <summary>And to that whose connection has come, and says what else it touches.</summary>
    private const int PartsAhead = 2;

    private void Foresee(ReadOnlySpan<Completion> completions, int at)
    {
        if (Connections.Count <= CachedConnections)
        {
            return;
        }

        if (ConnectionOf(completions, at + ConnectionsAhead) is { } far)
        {
            far.Foresee();
        }

        if (ConnectionOf(completions, at + PartsAhead) is { } near)
        {
            near.ForeseeParts(completions[at + PartsAhead].Token.Kind == OperationKind.Send ? Occasion.Sent : Occasion.Received);
        }
    }

    /// <summary>The connection in the slot, whosever it is by now; null for what is no send and no receive.</summary>
    private Connection? ConnectionOf(ReadOnlySpan<Completion> completions, int at) =>
        at < completions.Length && completions[at].Token is { Kind: OperationKind.Receive or OperationKind.Send } token
            ? Connections.At(token.Slot)
            : null;
}
