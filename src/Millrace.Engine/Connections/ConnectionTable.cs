using System.Diagnostics;
using Millrace.Engine.Backends;
using Millrace.Engine.Buffers;

namespace Millrace.Engine.Connections;

/// <summary>
/// A reactor's connections by slot. A connection object serves one peer after another and is dropped when its slot has been free for long;
/// the slot's generation increases with each peer, so that a late completion for an earlier one is recognised.
/// </summary>
internal sealed class ConnectionTable : ITrimmable
{
    /// <summary>Connections that a cache of 1 MiB holds, at 8 KiB each with Kestrel's objects, and those of the kernel.</summary>
    private const int CachedConnections = 128;

    private const int ConnectionsAhead = 4;

    private const int PartsAhead = 2;

    private const int ObjectsKept = 16;

    private readonly Reactor _reactor;
    private readonly List<Connection?> _slots = [];

    /// <summary>Of slots whose object was dropped.</summary>
    private readonly List<uint> _generations = [];

    private readonly FreeStack<Connection> _free = new();

    /// <summary>Free slots whose object was dropped; used last.</summary>
    private readonly Stack<int> _emptySlots = new();
    private readonly BlockLeakDetector _leakDetector = new("connection slot");

    public ConnectionTable(Reactor reactor)
    {
        _reactor = reactor;
        reactor.MemoryTrimmer.Add(this);
    }

    public int Count { get; private set; }

    public int Objects => _slots.Count - _emptySlots.Count;

    public int Slots => _slots.Count;

    public Connection Rent()
    {
        Connection connection = _free.TryPop(out Connection? free) ? free : Create();
        Count++;
        _leakDetector.Lend(connection.Slot);
        return connection;
    }

    public void Return(Connection connection)
    {
        Debug.Assert(connection.Phase == ConnectionPhase.Free);
        _leakDetector.TakeBack(connection.Slot);
        _free.Push(connection);
        Count--;
        _reactor.MemoryTrimmer.Arm(_reactor.NowMs);
    }

    /// <summary>The connection that a token refers to; null when that generation is gone.</summary>
    public Connection? Find(OperationToken token)
    {
        Connection? connection = _slots[token.Slot];
        return connection?.Generation == token.Generation ? connection : null;
    }

    public Connection At(int slot) => _slots[slot]!;

    /// <summary>The object of a slot, used or not; null if it was dropped.</summary>
    public Connection? PeekAt(int slot) => _slots[slot];

    /// <summary>
    /// Prefetches the memory that the next completions touch while one completion runs. With 512 connections of Kestrel this saves a fifth
    /// of the CPU time per request; with 64, which stay in the caches, it would cost time.
    /// </summary>
    public void Prefetch(ReadOnlySpan<Completion> completions, int at)
    {
        if (Count <= CachedConnections)
        {
            return;
        }

        if (ConnectionOf(completions, at + ConnectionsAhead) is { } far)
        {
            far.Prefetch();
        }

        if (ConnectionOf(completions, at + PartsAhead) is { } near)
        {
            bool isSend = completions[at + PartsAhead].Token.Kind == OperationKind.Send;
            near.PrefetchParts(isSend ? CompletionKinds.Sent : CompletionKinds.Received);
        }
    }

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
        foreach (Connection connection in _free.Trim(all, ObjectsKept))
        {
            _generations[connection.Slot] = connection.Generation;
            _slots[connection.Slot] = null;
            _emptySlots.Push(connection.Slot);
        }
    }

    /// <summary>The connection in the slot, of whatever generation; null for other operations than sends and receives.</summary>
    private Connection? ConnectionOf(ReadOnlySpan<Completion> completions, int at) =>
        at < completions.Length && completions[at].Token is { Kind: OperationKind.Receive or OperationKind.Send } token
            ? _slots[token.Slot]
            : null;

    private Connection Create()
    {
        if (!_emptySlots.TryPop(out int slot))
        {
            slot = _slots.Count;
            _slots.Add(null);
            _generations.Add(0);
        }

        var connection = new Connection(_reactor, slot, _generations[slot]);
        _slots[slot] = connection;
        return connection;
    }
}
