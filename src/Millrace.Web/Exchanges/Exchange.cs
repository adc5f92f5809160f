using System.Diagnostics;
using System.Net;
using Millrace.Engine;
using Millrace.Http;
using Millrace.StaticFiles.Catalog;
using Millrace.StaticFiles.Planning;
using Millrace.Web.Heads;

namespace Millrace.Web.Exchanges;

/// <summary>
/// One request and what became of it. Filled by its session while it goes on, told to the reactor's <see cref="IExchangeObserver"/> when it
/// is over, and used again: it holds copies of what the request said, as the bytes it came in are gone by then. Owned by the
/// <see cref="ExchangeLedger"/> of its reactor; reactor thread only.
/// </summary>
internal sealed class Exchange
{
    /// <summary>What <see cref="Status"/> is where the client left, or took its request back, before an answer began.</summary>
    public const int Unanswered = 0;

    /// <summary>What is not over ends nowhere yet.</summary>
    private const long NoEnd = long.MaxValue;

    private ExchangeText _text;
    private long _startedTicks;
    private long _endedTicks;
    private long _bodyBeginsAt;
    private long _bodyEndsAt;
    private long _bodyBytes;
    private bool _isCut;

    /// <summary>The other end of the connection, or the unix socket it came by; null where it was gone before anybody asked.</summary>
    public EndPoint? Peer { get; private set; }

    public ExchangeProtocol Protocol { get; set; }

    /// <summary>As it was sent; empty where the request line could not be read.</summary>
    public ReadOnlySpan<byte> Method => _text.Of(ExchangePart.Method);

    /// <summary>As it was sent, its query included.</summary>
    public ReadOnlySpan<byte> Target => _text.Of(ExchangePart.Target);

    /// <summary>The first bytes of a request whose line could not be read, whatever they are; empty otherwise.</summary>
    public ReadOnlySpan<byte> MalformedLine => _text.Of(ExchangePart.MalformedLine);

    /// <summary>Whom the request was for: of its target or its Host.</summary>
    public ReadOnlySpan<byte> Host => _text.Of(ExchangePart.Host);

    public ReadOnlySpan<byte> Referer => _text.Of(ExchangePart.Referer);

    public ReadOnlySpan<byte> UserAgent => _text.Of(ExchangePart.UserAgent);

    /// <summary>The values of X-Forwarded-For as one list. Anybody may send it.</summary>
    public ReadOnlySpan<byte> ForwardedFor => _text.Of(ExchangePart.ForwardedFor);

    /// <summary>The same of Forwarded (RFC 7239).</summary>
    public ReadOnlySpan<byte> Forwarded => _text.Of(ExchangePart.Forwarded);

    /// <summary>What the client was told, or <see cref="Unanswered"/>.</summary>
    public int Status { get; private set; }

    /// <summary>What is behind the answer's head, as far as the kernel has taken it.</summary>
    public long BodyBytes { get; private set; }

    /// <summary>Whether all of the answer was handed over.</summary>
    public bool IsWhole { get; private set; }

    public ExchangeBody Body { get; private set; }

    /// <summary>What the representation was coded with.</summary>
    public ContentCoding Coding { get; private set; }

    /// <summary>When its first byte was seen, in UTC.</summary>
    public DateTime StartedAt { get; private set; }

    /// <summary>From its first byte to the last of its answer.</summary>
    public TimeSpan Elapsed => Stopwatch.GetElapsedTime(_startedTicks, _endedTicks);

    /// <summary>For the list it is in.</summary>
    internal Exchange? Next { get; set; }

    /// <summary>A request begins to come.</summary>
    internal void Begin(EndPoint? peer)
    {
        Peer = peer;
        Protocol = ExchangeProtocol.Http11;
        StartedAt = DateTime.UtcNow;
        _startedTicks = Stopwatch.GetTimestamp();
        _text.Clear();
        Status = Unanswered;
        Body = ExchangeBody.None;
        Coding = ContentCoding.Identity;
        IsWhole = _isCut = false;
        BodyBytes = _bodyBytes = _bodyBeginsAt = _bodyEndsAt = 0;
        EndsAt = NoEnd;
    }

    /// <summary>What the request says.</summary>
    internal void Take(RequestHead head, ReadOnlySpan<byte> bytes) => _text.Take(head, bytes);

    /// <summary>What is there of one that could not be read to its end.</summary>
    internal void TakeRefused(RequestHead head, ReadOnlySpan<byte> bytes) => _text.TakeRefused(head, bytes);

    /// <summary>The head of its answer is written, by a plan. The last that is said counts: what was written may be taken back.</summary>
    internal void Answer(scoped in Plan plan, AssetState state, bool includesBody)
    {
        Status = AnswerHead.StatusOf(plan.Status, state);
        (Body, Coding) = plan.Body switch
        {
            PlanBody.Asset or PlanBody.Ranges => (OfStrategy(plan.Asset!.Strategy), plan.Asset.Coding),
            PlanBody.None => (ExchangeBody.None, ContentCoding.Identity),
            _ => (ExchangeBody.Text, ContentCoding.Identity),
        };
        Body = includesBody ? Body : ExchangeBody.None;
    }

    /// <summary>The same without a plan.</summary>
    internal void Answer(int status, ExchangeBody body)
    {
        Status = status;
        Body = body;
        Coding = ContentCoding.Identity;
    }

    /// <summary>Where in the connection's output the body begins that follows without a gap.</summary>
    internal void BeginBody(long at) => _bodyBeginsAt = at;

    /// <summary>So many bytes of a body that is cut into frames were written, up to here in the connection's output.</summary>
    internal void AddBody(int bytes, long at)
    {
        _bodyBytes += bytes;
        _bodyEndsAt = at;
    }

    /// <summary>
    /// All is written that will be of an answer whose body, begun at <see cref="BeginBody"/>, is the last thing in the connection's output.
    /// </summary>
    internal void EndWhereItIs(Connection connection)
    {
        long at = connection.WrittenBytes;
        _bodyBytes = at - _bodyBeginsAt;
        _bodyEndsAt = at;
        End(at, connection.HasLostOutput ? AnswerEnd.Cut : AnswerEnd.Whole);
    }

    /// <summary>All is written that will be, up to here in the connection's output.</summary>
    internal void End(long at, AnswerEnd end)
    {
        EndsAt = at;
        _isCut = end == AnswerEnd.Cut;
    }

    /// <summary>How far the connection's output must be for it to be over.</summary>
    internal long EndsAt { get; private set; }

    /// <summary>No more of it will be handed over than this.</summary>
    internal void Settle(long handedBytes)
    {
        _endedTicks = Stopwatch.GetTimestamp();
        BodyBytes = Math.Max(0, _bodyBytes - Math.Max(0, _bodyEndsAt - handedBytes));
        IsWhole = !_isCut && handedBytes >= EndsAt && Status != Unanswered;
    }

    /// <summary>Large texts are not kept for the next request.</summary>
    internal void Trim() => _text.Trim();

    private static ExchangeBody OfStrategy(BodyStrategy strategy) => strategy switch
    {
        BodyStrategy.Baked => ExchangeBody.Baked,
        BodyStrategy.Ring => ExchangeBody.Ring,
        _ => ExchangeBody.Stream,
    };
}
