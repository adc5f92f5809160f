using System.Diagnostics.CodeAnalysis;

namespace Millrace.Engine.Buffers;

/// <summary>
/// What a pool keeps for reuse. Last returned, first lent: that is still in the processor's cache, and how many were never lent since the
/// last trim shows how many are not needed.
/// </summary>
internal sealed class FreeStack<T>
{
    private readonly List<T> _free = [];
    private int _leastSinceTrim;

    public int Count => _free.Count;

    public void Push(T item) => _free.Add(item);

    public bool TryPeek([MaybeNullWhen(false)] out T item)
    {
        item = _free.Count > 0 ? _free[^1] : default;
        return _free.Count > 0;
    }

    public bool TryPop([MaybeNullWhen(false)] out T item)
    {
        if (!TryPeek(out item))
        {
            return false;
        }

        _free.RemoveAt(_free.Count - 1);
        _leastSinceTrim = Math.Min(_leastSinceTrim, _free.Count);
        return true;
    }

    /// <summary>
    /// Removes what was not needed since the last call, or all, except for some that stay in any case. The result must be enumerated to its
    /// end.
    /// </summary>
    public Removal Trim(bool all, int kept = 0)
    {
        int count = Math.Max(0, (all ? _free.Count : _leastSinceTrim) - kept);
        _leastSinceTrim = _free.Count - count;
        return new Removal(_free, count);
    }

    /// <summary>Yields the items that were unused for longest, and removes them at its end; a struct: trimming must not allocate.</summary>
    public struct Removal
    {
        private readonly List<T> _free;
        private readonly int _count;
        private int _next;

        public Removal(List<T> free, int count)
        {
            _free = free;
            _count = count;
            Current = default!;
        }

        public T Current { get; private set; }

        public readonly Removal GetEnumerator() => this;

        public bool MoveNext()
        {
            if (_next == _count)
            {
                _free.RemoveRange(0, _count);
                return false;
            }

            Current = _free[_next++];
            return true;
        }
    }
}
