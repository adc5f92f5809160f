namespace Millrace.Engine.Backends.Epoll;

/// <summary>The sends that wait for their sockets, each in a place of its own until it ends. Most sends never come here.</summary>
internal sealed class PendingSends
{
    private PendingSend[] _sends = new PendingSend[16];
    private readonly Stack<int> _free = new();
    private int _used;

    /// <summary>Holds until the next <see cref="Add"/>.</summary>
    public ref PendingSend this[int place] => ref _sends[place];

    public int Add(in PendingSend send)
    {
        if (!_free.TryPop(out int place))
        {
            place = _used++;
            if (place == _sends.Length)
            {
                Array.Resize(ref _sends, 2 * place);
            }
        }

        _sends[place] = send;
        return place;
    }

    public void Remove(int place) => _free.Push(place);
}
