using System.Buffers;
using Millrace.Engine;
using Millrace.HttpServer.Proxying;
using Millrace.HttpServer.Upstreams;

namespace Millrace.HttpServer.Http2;

/// <summary>
/// A stream's request to an upstream over HTTP/2: keeps the part of its body that the upstream has not taken, and lets the kernel move the
/// response's. Reactor thread only.
/// </summary>
internal sealed class Http2ProxiedStream(Http2Stream stream) : ProxiedStream, IBodyDestination
{
    private byte[]? _data;
    private int _start;
    private int _end;
    private SendQueue? _queue;

    /// <summary>What the client has sent and the upstream has not taken.</summary>
    public ReadOnlySpan<byte> Data => _data.AsSpan(_start, _end - _start);

    /// <summary>The memory that holds it.</summary>
    public int DataBytes => _data?.Length ?? 0;

    public override bool HoldsBody => _end > _start;

    Connection IBodyDestination.Connection => _queue!.Connection;

    long IBodyDestination.RoomBytes => _queue!.RoomToMove(stream);

    /// <summary>From now on the kernel may move bytes of the response.</summary>
    public void BeginResponse(SendQueue queue)
    {
        _queue = queue;
        Upstream!.Destination = this;
    }

    int IBodyDestination.Frame(Span<byte> header, long remaining, ref int bytes)
    {
        bytes = Math.Min(bytes, SendQueue.DataBytesMax);
        return SendQueue.WriteHeader(header, stream, bytes, isLast: bytes == remaining);
    }

    void IBodyDestination.OnMoved(int bytes, bool isLast)
    {
        _queue!.EndFrame(stream, bytes);
        stream.HasEnded = isLast;
    }

    public void Append(ReadOnlySpan<byte> data)
    {
        int count = _end - _start;
        if (_data is null || _data.Length - _end < data.Length)
        {
            byte[] larger = _data is not null && _data.Length >= count + data.Length
                ? _data
                : ArrayPool<byte>.Shared.Rent(count + data.Length);
            Data.CopyTo(larger);
            if (_data is not null && _data != larger)
            {
                ArrayPool<byte>.Shared.Return(_data);
            }

            _data = larger;
            (_start, _end) = (0, count);
        }

        data.CopyTo(_data.AsSpan(_end));
        _end += data.Length;
    }

    public void ConsumeData(int count)
    {
        _start += count;
        if (_start == _end)
        {
            ReturnData();
        }
    }

    public override void Reset()
    {
        base.Reset();
        ReturnData();
        _queue = null;
    }

    private void ReturnData()
    {
        if (_data is not null)
        {
            ArrayPool<byte>.Shared.Return(_data);
            _data = null;
        }

        _start = _end = 0;
    }
}
