using System.Diagnostics;
using Millrace.Engine.Backends;
using Millrace.Engine.Buffers;

namespace Millrace.Engine.Connections;

/// <summary>
/// A reactor's connections by slot. A connection object stays in its slot for good and serves one peer after the other; its
/// generation grows with each, so that a late completion for an earlier one is recognised. Last freed, first used.
/// </summary>
internal sealed class ConnectionTable(Reactor reactor)
{
    private readonly List<Connection> _slots = [];
    private readonly Stack<int> _free = new();
    private readonly LoanLedger _loans = new("connection slot");

    /// <summary>Slots in use.</summary>
    public int Count { get; private set; }

    /// <summary>A connection to open.</summary>
    public Connection Rent()
    {
        Connection connection;
        if (_free.TryPop(out int slot))
        {
            connection = _slots[slot];
        }
        else
        {
            connection = new Connection(reactor, _slots.Count);
            _slots.Add(connection);
        }

        Count++;
        _loans.Lend(connection.Slot);
        return connection;
    }

    public void Return(Connection connection)
    {
        Debug.Assert(connection.Phase == ConnectionPhase.Free);
        _loans.TakeBack(connection.Slot);
        _free.Push(connection.Slot);
        Count--;
    }

    /// <summary>The connection that a token means, unless that one is gone.</summary>
    public Connection? Find(OperationToken token)
    {
        Connection connection = _slots[token.Slot];
        return connection.Generation == token.Generation ? connection : null;
    }

    public Connection At(int slot) => _slots[slot];

    /// <summary>The connections in use now. They may end while being visited.</summary>
    public IEnumerable<Connection> InUse()
    {
        for (int slot = 0; slot < _slots.Count; slot++)
        {
            if (_slots[slot].Phase != ConnectionPhase.Free)
            {
                yield return _slots[slot];
            }
        }
    }

    public void ReportOutstanding() => _loans.ReportOutstanding();
}
