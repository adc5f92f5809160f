using System.Runtime.CompilerServices;

namespace Millrace.Quic.Recovery;

/// <summary>
/// The frames of a connection's sent packets: lists of records in one array, by index. It grows to the most that were in flight, and
/// allocates nothing after that, but for <see cref="TryTrim"/>. One thread.
/// </summary>
internal sealed class SentFramePool
{
    /// <summary>The index of an empty list.</summary>
    public const int None = -1;

    /// <summary>Records that a connection has room for at any time.</summary>
    private const int LengthKept = 64;

    private Node[] _nodes = [];
    private int _free = None;

    /// <summary>Records in use.</summary>
    public int Count { get; private set; }

    /// <summary>Memory of records beyond the few that each connection has.</summary>
    public long HeldBytes => (long)Math.Max(0, _nodes.Length - LengthKept) * Unsafe.SizeOf<Node>();

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

    /// <summary>Gives back its memory if there is no list. False: it has not more than it keeps, or it is in use.</summary>
    public bool TryTrim()
    {
        bool isUnused = Count == 0 && _nodes.Length > LengthKept;
        if (isUnused)
        {
            _nodes = [];
            _free = None;
        }

        return isUnused;
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
