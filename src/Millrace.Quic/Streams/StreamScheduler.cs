using System.Numerics;

namespace Millrace.Quic.Streams;

/// <summary>
/// The streams that have STREAM frames to send, in the order of RFC 9218: by urgency. Within one urgency streams that are not incremental
/// are sent whole in the order of their ids, incremental ones share round-robin, and frames of the two kinds alternate. Streams that
/// only the connection's window holds back wait apart. One thread.
/// </summary>
internal sealed class StreamScheduler
{
    private readonly Level?[] _levels = new Level?[QuicStream.UrgencyMax + 1];
    private readonly LinkedList<QuicStream> _blocked = new();
    private uint _occupied;

    public bool IsEmpty => _occupied == 0;

    /// <summary>Whether streams wait for the connection's window.</summary>
    public bool HasBlocked => _blocked.Count > 0;

    /// <summary>The stream to send from next. Afterwards it is rotated or removed.</summary>
    public QuicStream First
    {
        get
        {
            Level level = _levels[BitOperations.TrailingZeroCount(_occupied)]!;
            return ((level.IsSharedNext ? level.Shared.First : null) ?? level.Whole.First ?? level.Shared.First!).Value;
        }
    }

    /// <summary>Adds a stream that has something to send, unless it is there.</summary>
    public void Add(QuicStream stream)
    {
        if (stream.SendNode.List == _blocked)
        {
            _blocked.Remove(stream.SendNode);
        }

        if (stream.SendNode.List is not null)
        {
            return;
        }

        _occupied |= 1u << stream.Urgency;
        Level level = _levels[stream.Urgency] ??= new Level();
        if (stream.IsIncremental)
        {
            level.Shared.AddLast(stream.SendNode);
            return;
        }

        LinkedListNode<QuicStream>? before = level.Whole.Last;
        while (before?.Value.Id > stream.Id)
        {
            before = before.Previous;
        }

        if (before is null)
        {
            level.Whole.AddFirst(stream.SendNode);
        }
        else
        {
            level.Whole.AddAfter(before, stream.SendNode);
        }
    }

    /// <summary>Lets a stream wait until <see cref="ResumeBlocked"/>.</summary>
    public void Block(QuicStream stream)
    {
        if (stream.SendNode.List != _blocked)
        {
            Remove(stream);
            _blocked.AddLast(stream.SendNode);
        }
    }

    /// <summary>The connection's window has opened.</summary>
    public void ResumeBlocked()
    {
        while (_blocked.First is { } node)
        {
            Add(node.Value);
        }
    }

    /// <summary>Removes a stream whose priority is the one it was added with, if it is there.</summary>
    public void Remove(QuicStream stream)
    {
        LinkedList<QuicStream>? list = stream.SendNode.List;
        list?.Remove(stream.SendNode);
        if (list is not null && list != _blocked && _levels[stream.Urgency] is { Shared.Count: 0, Whole.Count: 0 })
        {
            _occupied &= ~(1u << stream.Urgency);
        }
    }

    /// <summary>Moves a stream that has sent a frame and has more to send after its peers, and lets the other kind send next.</summary>
    public void Rotate(QuicStream stream)
    {
        Level level = _levels[stream.Urgency]!;
        level.IsSharedNext = !stream.IsIncremental;
        if (stream.IsIncremental)
        {
            level.Shared.Remove(stream.SendNode);
            level.Shared.AddLast(stream.SendNode);
        }
    }

    public void SetPriority(QuicStream stream, int urgency, bool isIncremental)
    {
        bool isQueued = stream.SendNode.List is { } list && list != _blocked;
        if (isQueued)
        {
            Remove(stream);
        }

        stream.Urgency = urgency;
        stream.IsIncremental = isIncremental;
        if (isQueued)
        {
            Add(stream);
        }
    }

    private sealed class Level
    {
        public LinkedList<QuicStream> Whole { get; } = new();

        public LinkedList<QuicStream> Shared { get; } = new();

        public bool IsSharedNext { get; set; }
    }
}
