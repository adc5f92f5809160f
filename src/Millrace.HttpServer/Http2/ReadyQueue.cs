using System.Numerics;
using Millrace.Http;

namespace Millrace.HttpServer.Http2;

/// <summary>
/// The streams that are ready to send, in the order of RFC 9218: by urgency. Within one urgency non-incremental streams are sent whole in
/// the order of their ids, incremental ones share round-robin, and frames of the two kinds alternate.
/// </summary>
internal sealed class ReadyQueue
{
    private readonly Level?[] _levels = new Level?[StreamPriority.UrgencyMax + 1];
    private uint _occupied;

    public bool IsEmpty => _occupied == 0;

    /// <summary>The stream to send from next. Afterwards it is rotated or removed.</summary>
    public Http2Stream First
    {
        get
        {
            Level level = _levels[BitOperations.TrailingZeroCount(_occupied)]!;
            return ((level.IsSharedNext ? level.Shared.First : null) ?? level.Whole.First ?? level.Shared.First!).Value;
        }
    }

    public void Add(Http2Stream stream)
    {
        int urgency = stream.Priority.Urgency;
        _occupied |= 1u << urgency;
        Level level = _levels[urgency] ??= new Level();
        if (stream.WantsToShare)
        {
            level.Shared.AddLast(stream.Node);
            return;
        }

        LinkedListNode<Http2Stream>? before = level.Whole.Last;
        while (before?.Value.Id > stream.Id)
        {
            before = before.Previous;
        }

        if (before is null)
        {
            level.Whole.AddFirst(stream.Node);
        }
        else
        {
            level.Whole.AddAfter(before, stream.Node);
        }
    }

    /// <summary>Removes a stream whose priority is the one it was added with.</summary>
    public void Remove(Http2Stream stream)
    {
        Level level = LevelOf(stream);
        stream.Node.List!.Remove(stream.Node);
        if (level.Shared.Count == 0 && level.Whole.Count == 0)
        {
            _occupied &= ~(1u << stream.Priority.Urgency);
        }
    }

    /// <summary>Moves a stream that has sent a frame and has more to send after its peers, and lets the other kind send next.</summary>
    public void Rotate(Http2Stream stream)
    {
        Level level = LevelOf(stream);
        level.IsSharedNext = stream.Node.List != level.Shared;
        if (stream.WantsToShare)
        {
            Remove(stream);
            Add(stream);
        }
    }

    private Level LevelOf(Http2Stream stream) => _levels[stream.Priority.Urgency]!;

    private sealed class Level
    {
        public LinkedList<Http2Stream> Whole { get; } = new();

        public LinkedList<Http2Stream> Shared { get; } = new();

        public bool IsSharedNext { get; set; }
    }
}
