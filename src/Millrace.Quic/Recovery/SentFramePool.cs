namespace Millrace.Quic.Recovery;

/// <summary>
/// The frames of a connection's sent packets: lists of records in one array, by index. It grows to the most that were in flight, and
/// allocates nothing after that. One thread.
/// </summary>
internal sealed class SentFramePool
{
    /// <summary>The index of an empty list.</summary>
    public const int None = -1;

    private Node[] _nodes = [];
    private int _free = None;

    /// <summary>Records in use.</summary>
    public int Count { get; private set; }

    /// <summary>A list of these frames, in their order; <see cref="None"/> if there are none.</summary>
    public int Add(ReadOnlySpan<SentFrame> frames)
    {
        int first = None;
        for (int i = frames.Length - 1; i >= 0; i--)
        {
            if (_free == None)
            {
                Grow();
            }

            int index = _free;
            ref Node node = ref _nodes[index];
            _free = node.Next;
            node.Frame = frames[i];
            node.Next = first;
            first = index;
        }

        Count += frames.Length;
        return first;
    }

    /// <summary>The frame at an index, valid until the next <see cref="Add"/>, and the index of the next one.</summary>
    public ref readonly SentFrame Get(int index, out int next)
    {
        ref readonly Node node = ref _nodes[index];
        next = node.Next;
        return ref node.Frame;
    }

    /// <summary>Gives a list back.</summary>
    public void Release(int first)
    {
        while (first != None)
        {
            ref Node node = ref _nodes[first];
            int next = node.Next;
            node.Next = _free;
            _free = first;
            first = next;
            Count--;
        }
    }

    private void Grow()
    {
        int old = _nodes.Length;
        Array.Resize(ref _nodes, Math.Max(16, old * 2));
        for (int i = _nodes.Length - 1; i >= old; i--)
        {
            _nodes[i].Next = _free;
            _free = i;
        }
    }

    /// <summary>32 bytes.</summary>
    private struct Node
    {
        public SentFrame Frame;
        public int Next;
    }
}
