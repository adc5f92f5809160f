using System.Diagnostics.CodeAnalysis;

namespace Millrace.Engine.Buffers;

/// <summary>
/// What a pool keeps for reuse. Last returned, first lent: that is still in the processor's cache, and how many were never lent since the
/// last trim shows how many are not needed.
/// </summary>
internal sealed class FreeStack<T>
{
    private readonly Stack<T> _free = new();
    private int _leastSinceTrim;

    public int Count => _free.Count;

    public void Push(T item) => _free.Push(item);

    public bool TryPeek([MaybeNullWhen(false)] out T item) => _free.TryPeek(out item);

    public bool TryPop([MaybeNullWhen(false)] out T item)
    {
        if (!_free.TryPop(out item))
        {
            return false;
        }

        _leastSinceTrim = Math.Min(_leastSinceTrim, _free.Count);
        return true;
    }

    /// <summary>
    /// Removes what was not needed since the last call, or all, except for some that stay in any case. The result must be enumerated.
    /// </summary>
    public Removal Trim(bool all, int kept = 0)
    {
        int count = Math.Max(0, (all ? _free.Count : _leastSinceTrim) - kept);
        _leastSinceTrim = _free.Count - count;
        return new Removal(_free, count);
    }

    /// <summary>Removes one item after another while it is enumerated; a struct, as trimming must not allocate.</summary>
    public struct Removal
    {
        private readonly Stack<T> _free;
        private int _left;

        public Removal(Stack<T> free, int count)
        {
            _free = free;
            _left = count;
            Current = default!;
        }

        public T Current { get; private set; }

        public readonly Removal GetEnumerator() => this;

        public bool MoveNext()
        {
            if (_left == 0)
            {
                return false;
            }

            _left--;
            Current = _free.Pop();
            return true;
        }
    }
}
