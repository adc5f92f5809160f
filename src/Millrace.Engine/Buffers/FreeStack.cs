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

    /// <summary>Removes what was not needed since the last call, or all, except for some that stay in any case.</summary>
    public IEnumerable<T> Trim(bool all, int kept = 0)
    {
        for (int count = (all ? _free.Count : _leastSinceTrim) - kept; count > 0; count--)
        {
            yield return _free.Pop();
        }

        _leastSinceTrim = _free.Count;
    }
}
