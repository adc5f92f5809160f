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

    /// <summary>All connections; those that are removed meanwhile are left out.</summary>
    public IEnumerable<QuicTransportConnection> All
    {
        get
        {
            for (int i = 0; i < _connections.Count; i++)
            {
                if (_connections[i] is { } connection)
                {
                    yield return connection;
                }
            }
        }
    }

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

    /// <summary>Gives back memory that idle connections keep of what they have sent.</summary>
    public void Trim()
    {
        foreach (QuicTransportConnection? connection in _connections)
        {
            connection?.Trim();
        }
    }

    /// <summary>Closes the connections that a listener's stop, or one before it, has asked to end.</summary>
    public void CloseDraining(int stop, long code)
    {
        foreach (QuicTransportConnection connection in All)
        {
            if (connection is QuicServerConnection { DrainedBy: > 0 and int by } && by <= stop)
            {
                connection.Close(code, "");
            }
        }
    }
}
