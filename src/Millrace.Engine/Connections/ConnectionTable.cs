using System.Diagnostics;
using Millrace.Engine.Backends;
using Millrace.Engine.Buffers;

namespace Millrace.Engine.Connections;

/// <summary>
/// A reactor's connections by slot. A connection object serves one peer after another and is dropped when its slot has been free for long;
/// the slot's generation increases with each peer, so that a late completion for an earlier one is recognised. Last in, first out.
/// </summary>
internal sealed class ConnectionTable : ITrimmable
{
    /// <summary>Free objects that <see cref="Trim"/> keeps.</summary>
    private const int ObjectsKept = 16;

    private readonly Reactor _reactor;
    private readonly List<Connection?> _slots = [];

    /// <summary>Of slots whose object was dropped.</summary>
    private readonly List<uint> _generations = [];

    /// <summary>Free slots; those without an object come first and are used last.</summary>
    private readonly List<int> _free = [];
    private readonly BlockLeakDetector _leakDetector = new("connection slot");
    private int _withoutObject;
    private int _idleLeast;

    public ConnectionTable(Reactor reactor)
    {
        _reactor = reactor;
        reactor.MemoryTrimmer.Add(this);
    }

    /// <summary>Slots in use.</summary>
    public int Count { get; private set; }

    /// <summary>Connection objects, of used and free slots.</summary>
    public int Objects => _slots.Count - _withoutObject;

    /// <summary>All slots, used or not.</summary>
    public int Slots => _slots.Count;

    /// <summary>A connection to open.</summary>
    public Connection Rent()
    {
        Connection connection = TakeFree() ?? AddSlot();
        Count++;
        _leakDetector.Lend(connection.Slot);
        return connection;
    }

    public void Return(Connection connection)
    {
        Debug.Assert(connection.Phase == ConnectionPhase.Free);
        _leakDetector.TakeBack(connection.Slot);
        _free.Add(connection.Slot);
        Count--;
        _reactor.MemoryTrimmer.Arm(_reactor.NowMs);
    }

    /// <summary>The connection that a token refers to; null when that generation is gone.</summary>
    public Connection? Find(OperationToken token)
    {
        Connection? connection = _slots[token.Slot];
        return connection?.Generation == token.Generation ? connection : null;
    }

    /// <summary>The connection of a slot in use.</summary>
    public Connection At(int slot) => _slots[slot]!;

    /// <summary>The object of a slot, used or not; null if it was dropped.</summary>
    public Connection? PeekAt(int slot) => _slots[slot];

    /// <summary>The connections in use. They may end during the enumeration.</summary>
    public IEnumerable<Connection> InUse()
    {
        for (int slot = 0; slot < _slots.Count; slot++)
        {
            if (_slots[slot] is { } connection && connection.Phase != ConnectionPhase.Free)
            {
                yield return connection;
            }
        }
    }

    public void ReportOutstanding() => _leakDetector.ReportOutstanding();

    /// <summary>Drops unused objects: scattered over the heap they would keep much more of it alive than their size.</summary>
    public void Trim(bool all)
    {
        int idle = _free.Count - _withoutObject;
        int gone = Math.Max(0, (all ? idle : _idleLeast) - ObjectsKept);
        for (int i = 0; i < gone; i++)
        {
            int slot = _free[_withoutObject + i];
            _generations[slot] = _slots[slot]!.Generation;
            _slots[slot] = null;
        }

        _withoutObject += gone;
        _idleLeast = idle - gone;
    }

    private Connection? TakeFree()
    {
        if (_free.Count == 0)
        {
            return null;
        }

        int slot = _free[^1];
        _free.RemoveAt(_free.Count - 1);
        _withoutObject = Math.Min(_withoutObject, _free.Count);
        _idleLeast = Math.Min(_idleLeast, _free.Count - _withoutObject);
        return _slots[slot] ??= new Connection(_reactor, slot, _generations[slot]);
    }

    private Connection AddSlot()
    {
        var connection = new Connection(_reactor, _slots.Count, generation: 0);
        _slots.Add(connection);
        _generations.Add(0);
        return connection;
    }
}
