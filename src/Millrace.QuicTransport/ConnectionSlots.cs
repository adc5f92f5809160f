namespace Millrace.QuicTransport;

/// <summary>The connections of a reactor, each with a number that is free again when it is removed. Reactor thread.</summary>
internal sealed class ConnectionSlots
{
    private readonly List<QuicTransportConnection?> _connections = [];
    private readonly Stack<int> _free = new();

    /// <summary>Of slots, also of those that are free.</summary>
    public int Length => _connections.Count;

    public int Count => _connections.Count - _free.Count;

    /// <summary>Null: the slot is free.</summary>
    public QuicTransportConnection? this[int slot] => _connections[slot];

    public void Add(QuicTransportConnection connection)
    {
        if (!_free.TryPop(out int slot))
        {
            slot = _connections.Count;
            _connections.Add(null);
        }

        _connections[slot] = connection;
        connection.Slot = slot;
    }

    public void Remove(QuicTransportConnection connection)
    {
        _connections[connection.Slot] = null;
        _free.Push(connection.Slot);
        connection.Slot = -1;
    }
}
