using System.Net;
using Millrace.Engine.Stages;

namespace Millrace.Engine.Listening;

/// <summary>What the connections of one listener have in common. Immutable; shared by all reactors.</summary>
internal sealed class ListenerCore(EndPoint endPoint, ConnectionHandler handler, Func<Connection, IReadOnlyList<ConnectionStage>>? stages)
{
    public EndPoint EndPoint { get; } = endPoint;

    public ConnectionHandler Handler { get; } = handler;

    /// <summary>Makes a connection's stages, the first next to the socket; null for none.</summary>
    public Func<Connection, IReadOnlyList<ConnectionStage>>? Stages { get; } = stages;
}
