using System.Diagnostics;

namespace Millrace.HttpServer.Http2;

/// <summary>The open streams of one connection, by id. There are so few that a linear search is the fastest.</summary>
internal sealed class StreamTable
{
    private int[] _ids = [];
    private Http2Stream[] _streams = [];

    public int Count { get; private set; }

    public ReadOnlySpan<Http2Stream> All => _streams.AsSpan(0, Count);

    public Http2Stream? Find(int id)
    {
        int at = _ids.AsSpan(0, Count).IndexOf(id);
        return at < 0 ? null : _streams[at];
    }

    public void Add(Http2Stream stream)
    {
        Debug.Assert(Find(stream.Id) is null);
        if (Count == _ids.Length)
        {
            Array.Resize(ref _ids, Math.Max(8, Count * 2));
            Array.Resize(ref _streams, _ids.Length);
        }

        _ids[Count] = stream.Id;
        _streams[Count++] = stream;
    }

    public void Remove(Http2Stream stream)
    {
        int at = _ids.AsSpan(0, Count).IndexOf(stream.Id);
        Debug.Assert(at >= 0 && _streams[at] == stream);
        Count--;
        _ids[at] = _ids[Count];
        _streams[at] = _streams[Count];
        _streams[Count] = null!;
    }
}
