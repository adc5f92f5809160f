using System.Diagnostics;
using Millrace.Engine.Backends;
using Millrace.Engine.Loop;

namespace Millrace.Engine.Operations;

/// <summary>
/// A reactor's operations by slot, with timers that are finer than that of connections, whose deadlines are seconds. Operations due
/// in one iteration run in the order of their times, and of their start where these are equal. Reactor thread.
/// </summary>
internal sealed class OperationTable
{
    /// <summary>4 ms: the resolution of the kernel's coarse clock, which advances by ticks (CONFIG_HZ=250).</summary>
    private const int TickBits = 2;

    /// <summary>Finished operation objects kept for reuse; those of a larger peak go to the collector.</summary>
    private const int SparesKept = 1_024;

    private readonly Reactor _reactor;
    private readonly Stack<DelayOperation> _spareDelays = new();
    private readonly Stack<FileReadOperation> _spareReads = new();
    private readonly List<ReactorOperation?> _slots = [];
    private readonly List<uint> _generations = [];
    private readonly Stack<int> _free = new();
    private readonly TimerQueue _timers;
    private readonly List<int> _due = [];
    private readonly Comparison<int> _byTime;
    private long _lastNumber;
    private bool _isClosed;

    public OperationTable(Reactor reactor, long nowMs)
    {
        _reactor = reactor;
        _timers = new TimerQueue(nowMs, TickBits);
        _byTime = (one, other) => TimeOf(one).CompareTo(TimeOf(other));
    }

    public int Count { get; private set; }

    public DelayOperation RentDelay() => _spareDelays.TryPop(out DelayOperation? spare) ? spare : new DelayOperation(_reactor);

    public FileReadOperation RentRead() => _spareReads.TryPop(out FileReadOperation? spare) ? spare : new FileReadOperation(_reactor);

    /// <summary>Keeps a finished operation for reuse, unless its result was read on another thread.</summary>
    public void Return(DelayOperation delay) => Keep(_spareDelays, delay);

    /// <inheritdoc cref="Return(DelayOperation)"/>
    public void Return(FileReadOperation read) => Keep(_spareReads, read);

    /// <summary>False after <see cref="Close"/>.</summary>
    public bool TryAdd(ReactorOperation operation)
    {
        Debug.Assert(operation.Number == 0);
        if (_isClosed)
        {
            return false;
        }

        if (!_free.TryPop(out int slot))
        {
            slot = _slots.Count;
            _slots.Add(null);
            _generations.Add(0);
        }

        _slots[slot] = operation;
        operation.Slot = slot;
        operation.Generation = _generations[slot];
        operation.Number = ++_lastNumber;
        operation.DueMs = long.MaxValue;
        Count++;
        return true;
    }

    public void Remove(ReactorOperation operation)
    {
        Debug.Assert(_slots[operation.Slot] == operation);
        _timers.Cancel(operation.Slot);
        _slots[operation.Slot] = null;
        _generations[operation.Slot] = (operation.Generation + 1) & OperationToken.GenerationMask;
        _free.Push(operation.Slot);
        operation.Number = 0;
        Count--;
    }

    public ReactorOperation? Find(OperationToken token) =>
        _slots[token.Slot] is { } operation && operation.Generation == token.Generation ? operation : null;

    /// <summary>Sets or moves the time of an operation; <see cref="long.MaxValue"/> removes it.</summary>
    public void WakeAt(ReactorOperation operation, long dueMs)
    {
        operation.DueMs = dueMs;
        if (dueMs == long.MaxValue)
        {
            _timers.Cancel(operation.Slot);
        }
        else
        {
            _timers.Schedule(operation.Slot, dueMs);
        }
    }

    /// <summary>When <see cref="RunDue"/> may have something to do; <see cref="long.MaxValue"/> for never.</summary>
    public long NextDueMs => _timers.NextDueMs;

    public void RunDue(long nowMs)
    {
        _timers.Advance(nowMs, _due);
        if (_due.Count > 1)
        {
            _due.Sort(_byTime);
        }

        foreach (int slot in _due)
        {
            // An earlier call may have ended another operation, whose slot may have been reused.
            if (_slots[slot] is { } operation && operation.DueMs <= nowMs)
            {
                operation.OnDue();
            }
        }

        _due.Clear();
    }

    /// <summary>The reactor stops: operations end, and none begins any more.</summary>
    public void Close()
    {
        if (_isClosed)
        {
            return;
        }

        _isClosed = true;
        // By index, as one end may cause others; none is added any more.
        for (int slot = 0; slot < _slots.Count; slot++)
        {
            _slots[slot]?.End(OperationEnd.Stopped);
        }
    }

    public void Abandon()
    {
        for (int slot = 0; slot < _slots.Count; slot++)
        {
            _slots[slot]?.Abandon();
        }
    }

    private void Keep<T>(Stack<T> spares, T spare)
    {
        if (_reactor.IsReactorThread && spares.Count < SparesKept)
        {
            spares.Push(spare);
        }
    }

    private (long, long) TimeOf(int slot) => _slots[slot] is { } operation ? (operation.DueMs, operation.Number) : default;
}
