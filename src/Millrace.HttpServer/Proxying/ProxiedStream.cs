using Millrace.Engine.Connections;
using Millrace.Http;
using Millrace.HttpServer.Bodies;
using Millrace.HttpServer.Upstreams;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Rules;

namespace Millrace.HttpServer.Proxying;

/// <summary>
/// What a stream's request to an upstream needs: the exchange, and the request's head for the page of an error. Belongs to its stream, and
/// is reused with it. Reactor thread only.
/// </summary>
internal abstract class ProxiedStream
{
    /// <summary>A larger head is not kept for the next request.</summary>
    private const int KeptHeadBytes = 4 * 1024;

    private readonly TransferRateLimit _rate = new();
    private byte[] _head = [];
    private int _headBytes;
    private byte[] _trailers = [];
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

    /// <summary>When a request that is held (<see cref="UpstreamExchange.IsHeld"/>) is sent at the latest.</summary>
    public long HeldUntilMs { get; set; }

    public bool SendsVia { get; private set; }

    /// <summary>Fields, in lower case, that the upstream does not get from the client, not as trailers either.</summary>
    public IReadOnlyList<byte[]> ReplacedNames { get; private set; } = [];

    public FieldSet Fields { get; private set; } = FieldSet.Empty;

    public WebSocketKey Key { get; private set; }

    public ReadOnlySpan<byte> Head => _head.AsSpan(0, _headBytes);

    /// <summary>The memory of the head.</summary>
    public int HeadBytes => _head.Length;

    /// <summary>The trailers of the request, as lines.</summary>
    public ReadOnlySpan<byte> Trailers => _trailers;

    /// <summary>Whether a part of the request's body has arrived that the upstream has not taken.</summary>
    public abstract bool HoldsBody { get; }

    public void Begin(
        UpstreamExchange upstream, RequestHead head, ReadOnlySpan<byte> bytes, scoped in ResponsePlan plan, WebSocketKey key)
    {
        Upstream = upstream;
        AwaitsContinue = head.ExpectContinue;
        SendsVia = plan.Proxy!.SendsVia;
        ReplacedNames = plan.ReplacedNames;
        Fields = plan.Fields;
        Key = key;
        if (_head.Length < bytes.Length)
        {
            _head = new byte[Math.Max(1024, bytes.Length)];
        }

        bytes.CopyTo(_head);
        _headBytes = bytes.Length;
    }

    public void SetTrailers(byte[] lines) => _trailers = lines;

    /// <summary>
    /// Whether the client sends the body too slowly. The time in which it could not send, or the upstream did not take what it has sent, is
    /// not the client's.
    /// </summary>
    public bool IsLate(in IncomingBody body, long nowMs, HttpServerLimits limits)
    {
        if (body.IsComplete || HoldsBody)
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

    /// <summary>For another request.</summary>
    public virtual void Reset()
    {
        ReleaseUpstream();
        IsTunnel = HasHead = AwaitsContinue = IsBodyEnded = SendsVia = _isTimed = false;
        Fields = FieldSet.Empty;
        _trailers = [];
        _headBytes = 0;
        if (_head.Length > KeptHeadBytes)
        {
            _head = [];
        }
    }
}
