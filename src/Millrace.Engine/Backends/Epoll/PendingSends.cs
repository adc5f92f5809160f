namespace Millrace.Engine.Backends.Epoll;

/// <summary>The sends that wait for full sockets, each at its own index until it ends. Most sends never wait.</summary>
internal sealed class PendingSends
{
    private PendingSend[] _sends = new PendingSend[16];
    private readonly Stack<int> _free = new();
    private int _used;

    /// <summary>Valid until the next <see cref="Add"/>.</summary>
    public ref PendingSend this[int index] => ref _sends[index];

    public int Add(in PendingSend send)
    {
        if (!_free.TryPop(out int index))
        {
            index = _used++;
            if (index == _sends.Length)
            {
                Array.Resize(ref _sends, 2 * index);
            }
        }

        _sends[index] = send;
        return index;
    }

    public void Remove(int index) => _free.Push(index);
}
