using System.Diagnostics;
using System.Numerics;
using Millrace.Http;

namespace Millrace.HttpServer.Http2;

/// <summary>
/// The streams that are ready to send, in the order of RFC 9218: by urgency. Within one urgency non-incremental streams are sent whole in
/// the order of their ids, incremental ones share round-robin, and frames of the two kinds alternate.
/// </summary>
internal sealed class ReadyQueue
{
    private readonly Level[] _levels = new Level[StreamPriority.UrgencyMax + 1];
    private uint _occupied;

    public bool IsEmpty => _occupied == 0;

    /// <summary>The stream to send from next. Afterwards it is rotated or removed.</summary>
    public Http2Stream First
    {
        get
        {
            ref Level level = ref _levels[BitOperations.TrailingZeroCount(_occupied)];
            return (level.IsSharedNext && level.Shared is not null) || level.Whole is null ? level.Shared! : level.Whole;
        }
    }

    public void Add(Http2Stream stream)
    {
        Debug.Assert(stream.Next is null && !stream.IsQueued);
        stream.IsQueued = true;
        stream.IsSharing = stream.WantsToShare;
        stream.Urgency = stream.Priority.Urgency;
        _occupied |= 1u << stream.Urgency;
        ref Level level = ref _levels[stream.Urgency];
        ref Http2Stream? list = ref stream.IsSharing ? ref level.Shared : ref level.Whole;
        Insert(ref list, stream);
    }

    public void Remove(Http2Stream stream)
    {
        Debug.Assert(stream.IsQueued);
        ref Level level = ref _levels[stream.Urgency];
        ref Http2Stream? list = ref stream.IsSharing ? ref level.Shared : ref level.Whole;
        stream.Previous!.Next = stream.Next;
        stream.Next!.Previous = stream.Previous;
        if (list == stream)
        {
            list = stream.Next == stream ? null : stream.Next;
        }

        stream.Next = stream.Previous = null;
        stream.IsQueued = false;
        if (level.Shared is null && level.Whole is null)
        {
            _occupied &= ~(1u << stream.Urgency);
        }
    }

    /// <summary>Moves a stream that has sent a frame and has more to send after its peers, and lets the other kind send next.</summary>
    public void Rotate(Http2Stream stream)
    {
        ref Level level = ref _levels[stream.Urgency];
        level.IsSharedNext = !stream.IsSharing;
        if (stream.IsSharing)
        {
            level.Shared = stream.Next;
        }
        else if (stream.WantsToShare)
        {
            Remove(stream);
            Add(stream);
        }
    }

    /// <summary>Inserts into a circular list: shared streams at its end, others by their ids.</summary>
    private static void Insert(ref Http2Stream? list, Http2Stream stream)
    {
        if (list is null)
        {
            list = stream.Next = stream.Previous = stream;
            return;
        }

        Http2Stream before = list.Previous!;
        bool isFirst = false;
        while (!stream.IsSharing && before.Id > stream.Id && !isFirst)
        {
            isFirst = before == list;
            before = before.Previous!;
        }

        stream.Previous = before;
        stream.Next = before.Next;
        before.Next!.Previous = stream;
        before.Next = stream;
        if (isFirst)
        {
            list = stream;
        }
    }

    private struct Level
    {
        public Http2Stream? Whole;
        public Http2Stream? Shared;

        /// <summary>Whether a shared stream sends next.</summary>
        public bool IsSharedNext;
    }
}
