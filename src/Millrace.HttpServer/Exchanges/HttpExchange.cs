using System.Diagnostics;
using System.Net;
using Millrace.Engine;
using Millrace.Engine.Connections;
using Millrace.Http;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Snapshots;
using HttpVersion = Millrace.Http.HttpVersion;

namespace Millrace.HttpServer.Exchanges;

/// <summary>
/// The record of one request and its response. Its session fills it; the reactor's observer gets it at the end; then it is reused. It holds
/// copies of the request's parts, because the input is no longer there at the end. Owned by the <see cref="ExchangeRecorder"/> of its
/// reactor; reactor thread only.
/// </summary>
internal sealed class HttpExchange
{
    /// <summary>The <see cref="Status"/> if the client closed the connection, or reset the stream, before a response began.</summary>
    public const int NoResponse = 0;

    /// <summary>The value of <see cref="EndsAt"/> until the response is written.</summary>
    private const long NoEnd = long.MaxValue;

    /// <summary>The size of this object.</summary>
    private const int OwnBytes = 256;

    private ExchangeStrings _text;

    /// <summary>The connection that the memory is accounted to until the exchange ends, and how much.</summary>
    private IClientConnection? _holder;
    private int _heldBytes;
    private long _startedTicks;
    private long _endedTicks;
    private long _upstreamBeganTicks;
    private long _upstreamTicks;
    private long _bodyBeginsAt;
    private long _bodyEndsAt;
    private long _bodyBytes;
    private bool _isCut;

    /// <summary>The connection of the request; null once the exchange has been reported.</summary>
    public IClientConnection? Connection => _holder;

    /// <summary>
    /// The remote end of the connection, or the unix socket that accepted it; null if it closed before the address was read.
    /// </summary>
    public EndPoint? Peer { get; private set; }

    public HttpVersion Protocol { get; set; }

    /// <summary>As it was sent; empty if the request line is malformed.</summary>
    public ReadOnlySpan<byte> Method => _text.Of(ExchangePart.Method);

    /// <summary>As it was sent, including its query.</summary>
    public ReadOnlySpan<byte> Target => _text.Of(ExchangePart.Target);

    /// <summary>The first bytes of a malformed request line; empty otherwise.</summary>
    public ReadOnlySpan<byte> MalformedLine => _text.Of(ExchangePart.MalformedLine);

    /// <summary>The authority of the request: from its target or its Host.</summary>
    public ReadOnlySpan<byte> Host => _text.Of(ExchangePart.Host);

    public ReadOnlySpan<byte> Referer => _text.Of(ExchangePart.Referer);

    public ReadOnlySpan<byte> UserAgent => _text.Of(ExchangePart.UserAgent);

    /// <summary>The values of X-Forwarded-For as one list. Any client may send it.</summary>
    public ReadOnlySpan<byte> ForwardedFor => _text.Of(ExchangePart.ForwardedFor);

    public ReadOnlySpan<byte> Forwarded => _text.Of(ExchangePart.Forwarded);

    /// <summary>The status that was sent, or <see cref="NoResponse"/>.</summary>
    public int Status { get; private set; }

    /// <summary>The bytes after the response's head that the kernel has taken.</summary>
    public long BodyBytes { get; private set; }

    /// <summary>Whether the kernel has taken the whole response.</summary>
    public bool IsWhole { get; private set; }

    public ResponseBodySource Body { get; private set; }

    public ContentCoding Coding { get; private set; }

    /// <summary>The upstream that was asked, as its address; null if none was.</summary>
    public string? Upstream { get; private set; }

    /// <summary>From the beginning of the exchange with the upstream to its response's head, or to its failure.</summary>
    public TimeSpan UpstreamElapsed => Stopwatch.GetElapsedTime(_upstreamBeganTicks, _upstreamTicks);

    /// <summary>When the request's first byte was seen, in UTC.</summary>
    public DateTime StartedAt { get; private set; }

    /// <summary>From the request's first byte to the last byte of its response.</summary>
    public TimeSpan Elapsed => Stopwatch.GetElapsedTime(_startedTicks, _endedTicks);

    /// <summary>Begins a record when a request begins to arrive.</summary>
    internal void Begin(EndPoint? peer, IClientConnection? holder = null)
    {
        Peer = peer;
        _holder = holder;
        _heldBytes = 0;
        CountHeld();
        Protocol = HttpVersion.Http11;
        StartedAt = DateTime.UtcNow;
        _startedTicks = Stopwatch.GetTimestamp();
        _text.Clear();
        Status = NoResponse;
        Upstream = null;
        Body = ResponseBodySource.None;
        Coding = ContentCoding.Identity;
        IsWhole = _isCut = false;
        BodyBytes = _bodyBytes = _bodyBeginsAt = _bodyEndsAt = 0;
        EndsAt = NoEnd;
    }

    /// <summary>Copies the parts of a request, or what is there of one that is refused or incomplete.</summary>
    internal void Take(RequestHead head, ReadOnlySpan<byte> bytes, bool isRefused)
    {
        _text.Take(head, bytes, isRefused);
        CountHeld();
    }

    /// <summary>Ends the memory accounting, and drops a large buffer instead of keeping it for the next request.</summary>
    internal void Release()
    {
        _holder?.Holdings.ChargeManaged(-_heldBytes);
        _holder = null;
        _heldBytes = 0;
        _text.Trim();
    }

    private void CountHeld()
    {
        int bytes = OwnBytes + _text.HeldBytes;
        _holder?.Holdings.ChargeManaged(bytes - _heldBytes);
        _heldBytes = bytes;
    }

    /// <summary>Sets the planned response when its head is written. The last call counts: a head may be retracted.</summary>
    internal void SetResponse(scoped in ResponsePlan plan, AssetState state, bool includesBody)
    {
        Status = PlannedHead.StatusOf(plan.Status, state);
        Coding = PlannedHead.CodingOf(plan);
        Body = plan.Body switch
        {
            PlanBody.Asset or PlanBody.Ranges => OfStrategy(plan.Asset!.Strategy),
            PlanBody.None => ResponseBodySource.None,
            PlanBody.Archive => ResponseBodySource.Stream,
            _ => ResponseBodySource.Text,
        };
        Body = includesBody ? Body : ResponseBodySource.None;
    }

    internal void SetResponse(int status, ResponseBodySource body)
    {
        Status = status;
        Body = body;
        Coding = ContentCoding.Identity;
    }

    internal void BeginUpstream() => _upstreamBeganTicks = Stopwatch.GetTimestamp();

    /// <summary>Sets which upstream has answered, or has failed to.</summary>
    internal void SetUpstream(string? address)
    {
        Upstream = address;
        _upstreamTicks = Stopwatch.GetTimestamp();
    }

    /// <summary>Sets where in the connection's output the body begins, which then follows without a gap.</summary>
    internal void BeginBody(long at) => _bodyBeginsAt = at;

    /// <summary>Adds the bytes of one DATA frame, which ends at this position of the connection's output.</summary>
    internal void AddBody(int bytes, long at)
    {
        _bodyBytes += bytes;
        _bodyEndsAt = at;
    }

    /// <summary>
    /// Ends the response at the end of the connection's output: its body, begun at <see cref="BeginBody"/>, is the last thing there.
    /// </summary>
    internal void EndAtWrittenBytes(Connection connection)
    {
        long at = connection.WrittenBytes;
        _bodyBytes = at - _bodyBeginsAt;
        _bodyEndsAt = at;
        End(at, connection.Writer.IsLost ? ResponseEnd.Cut : ResponseEnd.Whole);
    }

    /// <summary>Ends the response at this position of the connection's output.</summary>
    internal void End(long at, ResponseEnd end)
    {
        EndsAt = at;
        _isCut = end == ResponseEnd.Cut;
    }

    /// <summary>The position in the connection's output at which the exchange is over.</summary>
    internal long EndsAt { get; private set; }

    /// <summary>Computes the result when no more of the output will be taken by the kernel.</summary>
    internal void Complete(long transferredBytes)
    {
        _endedTicks = Stopwatch.GetTimestamp();
        BodyBytes = Math.Max(0, _bodyBytes - Math.Max(0, _bodyEndsAt - transferredBytes));
        IsWhole = !_isCut && transferredBytes >= EndsAt && Status != NoResponse;
    }

    private static ResponseBodySource OfStrategy(BodyStrategy strategy) => strategy switch
    {
        BodyStrategy.InMemory => ResponseBodySource.InMemory,
        BodyStrategy.SingleRead => ResponseBodySource.SingleRead,
        _ => ResponseBodySource.Stream,
    };
}

/// <summary>The source of a response's body.</summary>
internal enum ResponseBodySource : byte
{
    /// <summary>No body: HEAD, 304, redirects.</summary>
    None,

    /// <summary>Text that the server generated: errors, listings.</summary>
    Text,

    /// <summary>Memory that holds the file.</summary>
    InMemory,

    /// <summary>One read of the file.</summary>
    SingleRead,

    /// <summary>The file, chunk by chunk, or the files of an archive.</summary>
    Stream,

    /// <summary>The response of an upstream.</summary>
    Upstream,
}

/// <summary>How a response ended.</summary>
internal enum ResponseEnd
{
    /// <summary>All of it was written.</summary>
    Whole,

    /// <summary>It was cut off: the client no longer takes it, or its file is not what the head promised.</summary>
    Cut,
}
