using System.Buffers;
using Millrace.Engine;
using Millrace.Engine.Connections;
using Millrace.Http;
using Millrace.HttpServer.Proxying;
using Millrace.HttpServer.Upstreams;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Rules;

namespace Millrace.HttpServer.Http2;

/// <summary>
/// What one stream's request to an upstream needs: its head, for the page of an error, and the part of its body that the upstream has not
/// taken. Belongs to its stream, and is reused with it. Reactor thread only.
/// </summary>
internal sealed class ProxiedStream(Http2Stream stream) : IBodyDestination
{
    /// <summary>A larger head is not kept for the next request.</summary>
    private const int KeptHeadBytes = 4 * 1024;

    private readonly TransferRateLimit _rate = new();
    private byte[] _head = [];
    private int _headBytes;
    private byte[]? _data;
    private int _start;
    private int _end;
    private byte[] _trailers = [];
    private SendQueue? _queue;
    private bool _isTimed;
    private bool _isPatient;

    /// <summary>The exchange; null before it begins and after it was released.</summary>
    public UpstreamExchange? Upstream { get; private set; }

    /// <summary>Whether the upstream has switched to a tunnel.</summary>
    public bool IsTunnel { get; set; }

    public bool HasHead { get; set; }

    /// <summary>Whether the client waits for 100 before it sends.</summary>
    public bool AwaitsContinue { get; set; }

    /// <summary>Whether the upstream has the end of the body.</summary>
    public bool IsBodyEnded { get; set; }

    public bool SendsVia { get; private set; }

    /// <summary>Fields, in lower case, that the upstream does not get from the client, not as trailers either.</summary>
    public IReadOnlyList<byte[]> ReplacedNames { get; private set; } = [];

    public Method Method { get; private set; }

    public FieldSet Fields { get; private set; } = FieldSet.Empty;

    public WebSocketKey Key { get; private set; }

    public ReadOnlySpan<byte> Head => _head.AsSpan(0, _headBytes);

    /// <summary>The memory of the head.</summary>
    public int HeadBytes => _head.Length;

    /// <summary>What the client has sent and the upstream has not taken.</summary>
    public ReadOnlySpan<byte> Data => _data.AsSpan(_start, _end - _start);

    /// <summary>The memory that holds it.</summary>
    public int DataBytes => _data?.Length ?? 0;

    /// <summary>The trailers of the request, as lines.</summary>
    public ReadOnlySpan<byte> Trailers => _trailers;

    Connection IBodyDestination.Connection => _queue!.Connection;

    long IBodyDestination.RoomBytes => _queue!.RoomToMove(stream);

    public void Begin(
        UpstreamExchange upstream, RequestHead head, ReadOnlySpan<byte> bytes, scoped in ResponsePlan plan, WebSocketKey key)
    {
        Upstream = upstream;
        AwaitsContinue = head.ExpectContinue;
        SendsVia = plan.Proxy!.SendsVia;
        ReplacedNames = plan.ReplacedNames;
        Method = head.Method;
        Fields = plan.Fields;
        Key = key;
        if (_head.Length < bytes.Length)
        {
            _head = new byte[Math.Max(1024, bytes.Length)];
        }

        bytes.CopyTo(_head);
        _headBytes = bytes.Length;
    }

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

    public void SetTrailers(byte[] lines) => _trailers = lines;

    /// <summary>
    /// Whether the client sends the body too slowly. The time in which it could not send, or the upstream did not take what it has sent, is
    /// not the client's.
    /// </summary>
    public bool IsLate(in IncomingBody body, long nowMs, HttpServerLimits limits)
    {
        if (body.IsComplete || _end > _start)
        {
            _isTimed = false;
            return false;
        }

        if (!_isTimed || _isPatient != AwaitsContinue)
        {
            // A client that waits for 100 sends sooner or later anyway.
            _isTimed = true;
            _isPatient = AwaitsContinue;
            TimeSpan window = _isPatient ? limits.Body : limits.ReceiveStall;
            _rate.Begin(nowMs, (long)window.TotalMilliseconds, limits.ReceiveBytesPerSecond, body.Bytes);
            return false;
        }

        return _rate.IsTooSlow(nowMs, body.Bytes);
    }

    /// <summary>Ends the use of the upstream, before the response's end too.</summary>
    public void ReleaseUpstream()
    {
        UpstreamExchange? upstream = Upstream;
        Upstream = null;
        upstream?.Release();
    }

    public void Reset()
    {
        ReleaseUpstream();
        ReturnData();
        IsTunnel = HasHead = AwaitsContinue = IsBodyEnded = SendsVia = _isTimed = false;
        _queue = null;
        Fields = FieldSet.Empty;
        _trailers = [];
        _headBytes = 0;
        if (_head.Length > KeptHeadBytes)
        {
            _head = [];
        }
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
