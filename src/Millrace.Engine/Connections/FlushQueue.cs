using Millrace.Engine.Diagnostics;
using Millrace.Engine.Loop;

namespace Millrace.Engine.Connections;

/// <summary>
/// Connections that flushed output in this iteration, in order. Small sends all go out at the end of the iteration; large ones as far as
/// its byte budget goes, the others first in the next iteration. Reactor thread only.
/// </summary>
/// <param name="heartbeat">Counts each send as a callback.</param>
internal sealed class FlushQueue(LoopHeartbeat heartbeat)
{
    private readonly List<Connection> _connections = [];

    public int Count => _connections.Count;

    public void Add(Connection connection) => _connections.Add(connection);

    /// <summary>Sends, as far as the iteration's budget goes.</summary>
    public void Send(IterationBudget budget)
    {
        int kept = 0;
        budget.BeginSends();
        // By index: the completion of a flush may queue another.
        for (int i = 0; i < _connections.Count; i++)
        {
            Connection connection = _connections[i];
            if (budget.TrySend(connection.Writer.Bytes))
            {
                heartbeat.Beat();
                connection.Sender.SendFlushed();
            }
            else
            {
                _connections[kept++] = connection;
            }
        }

        _connections.RemoveRange(kept, _connections.Count - kept);
    }
}
