using System.Diagnostics;
using Millrace.Engine;
using Millrace.Engine.Connections;
using Millrace.Http;
using Millrace.HttpServer.Exchanges;
using Millrace.HttpServer.Heads;
using Millrace.HttpServer.Proxying;
using Millrace.HttpServer.Sessions;
using Millrace.HttpServer.Upstreams;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Rules;

namespace Millrace.HttpServer.Http1;

/// <summary>
/// Passes one request of an HTTP/1.1 connection to an upstream, and its response back: both bodies at once, each as far as the other end
/// takes it, or bytes in both directions after a switch to WebSocket. It waits for the client's input and for room in its output, and is
/// called by the upstream. One per session, used by one request after the other; reactor thread only.
/// </summary>
internal sealed class ProxiedRequest : IBodyDestination
{
    private readonly Connection _connection;
    private readonly SessionReactorState _reactorState;
    private readonly SessionEvent _event = new();
    private readonly PendingWait<ReadOutcome> _input;
    private readonly PendingWait<FlushOutcome> _room;
    private readonly Action _progressed;
    private readonly Action _inputEnded;
    private ForwardedClient? _client;
    private UpstreamExchange? _upstream;
    private HttpExchange? _exchange;
    private RequestBody _body;
    private StreamedBody _response;
    private FieldSet _fields = FieldSet.Empty;
    private HttpVersion _version;
    private bool _sendsVia;
    private IReadOnlyList<byte[]> _replacedNames = [];
    private bool _awaitsContinue;
    private bool _isBodyEnded;
    private ReadLimit _limit;
    private bool _isTunnel;
    private bool _hasHead;
    private bool _hasInputEnded;
    private bool _hasShutDown;
    private StreamProgress _progress;
    private ClientFault _fault;
    private byte[] _head = [];
    private int _headBytes;
    private LineBuffer? _trailers;

    public ProxiedRequest(Connection connection, SessionReactorState reactorState)
    {
        _connection = connection;
        _reactorState = reactorState;
        _input = new PendingWait<ReadOutcome>(OnInput);
        _room = new PendingWait<FlushOutcome>(OnRoom);
        _progressed = _event.Set;
        _inputEnded = OnInputEnd;
    }

    /// <inheritdoc cref="Http1Session.Alternative"/>
    public AlternativeService? Alternative { private get; init; }

    /// <summary>Whether the connection stays open after the response.</summary>
    public bool KeepAlive { get; private set; }

    /// <summary>A copy of the request's head, for the page of an error; valid until the next request.</summary>
    public ReadOnlySpan<byte> Head => _head.AsSpan(0, _headBytes);

    Connection IBodyDestination.Connection => _connection;

    long IBodyDestination.RoomBytes => long.MaxValue;

    /// <summary>Begins a request, before its head is consumed. False if it cannot be passed on, which is answered with 400.</summary>
    public bool TryBegin(RequestHead head, ReadOnlySpan<byte> bytes, scoped in ResponsePlan plan, bool keepAlive, HttpExchange? exchange)
    {
        ProxyRule rule = plan.Proxy!;
        _client = _reactorState.ForwardedClientOf(_connection, _client);
        bool hasBody = head.Body != BodyFraming.None;
        if (!_reactorState.ProxyHead.TryMake(
            head, bytes, plan, _client, head.Version, default, hasBody, isHeld: false, out UpstreamRequest request))
        {
            return false;
        }

        KeepAlive = keepAlive;
        _exchange = exchange;
        _body = RequestBody.Of(head);
        _fields = plan.Fields;
        _version = head.Version;
        _sendsVia = rule.SendsVia;
        _replacedNames = plan.ReplacedNames;
        _awaitsContinue = head.ExpectContinue;
        _isBodyEnded = !hasBody;
        _limit = ReadLimit.None;
        _isTunnel = _hasHead = _hasShutDown = false;
        _progress = StreamProgress.WaitsForProducer;
        _fault = ClientFault.None;
        _connection.SetReadDeadline(long.MaxValue);
        KeepHead(bytes);
        _connection.Reader.EndObserved = _inputEnded;
        exchange?.BeginUpstream();
        _upstream = _reactorState.Upstreams.PoolFor(rule).Begin(request, _progressed);
        return true;
    }

    /// <summary>Passes both bodies as far as the ends take them. To be called until the outcome is not pending.</summary>
    /// <returns>
    /// <see cref="ProxyOutcome.Pending"/>; the status of an error to answer with, if nothing was sent; <see cref="ProxyOutcome.Sent"/>, or
    /// <see cref="ProxyOutcome.Closed"/> if the connection must end.
    /// </returns>
    public ProxyOutcome Pass()
    {
        ProxyOutcome outcome = ProxyOutcome.Closed;
        try
        {
            PassBody();
            ProxyOutcome passed = PassResponse();
            if (passed.IsPending)
            {
                _connection.Flush();
                WaitForRoom();
                WaitForInput();
            }

            outcome = passed;
            return outcome;
        }
        finally
        {
            if (!outcome.IsPending)
            {
                Release();
            }
        }
    }

    /// <summary>Waits until one of the two ends has made progress.</summary>
    public ValueTask<bool> WaitAsync() => _event.WaitAsync();

    int IBodyDestination.Frame(Span<byte> header, long remaining, ref int bytes) => 0;

    void IBodyDestination.OnMoved(int bytes, bool isLast)
    {
        // The output counts them.
    }

    private void KeepHead(ReadOnlySpan<byte> head)
    {
        if (_head.Length < head.Length)
        {
            _head = new byte[Math.Max(1024, head.Length)];
        }

        head.CopyTo(_head);
        _headBytes = head.Length;
        _connection.ChargeManaged(_head.Length);
    }

    /// <summary>Passes the request's body, or what the client sends through a tunnel, as far as the upstream takes it.</summary>
    private void PassBody()
    {
        while (!_isBodyEnded && _fault == ClientFault.None && _upstream!.BodyRoom is > 0 and int room)
        {
            ReadOnlySpan<byte> input = _connection.Input;
            input = input[..Math.Min(room, input.Length)];
            if (!(_isTunnel ? TryPassTunnel(input) : TryPassPiece(input)))
            {
                break;
            }
        }

        if (_hasInputEnded && !_isBodyEnded && !_isTunnel && _connection.Input.IsEmpty)
        {
            _fault = ClientFault.Gone;
        }
    }

    private bool TryPassPiece(ReadOnlySpan<byte> input)
    {
        ChunkedStatus status = _body.Read(input, out int consumed, out TextRange data);
        if (!data.IsEmpty)
        {
            _upstream!.WriteBody(data.In(input));
        }

        if (!_body.Trailers.IsEmpty)
        {
            _trailers ??= new LineBuffer();
            _trailers.Write(_body.Trailers.In(input));
        }

        _connection.Consume(consumed);
        _awaitsContinue &= consumed == 0;
        switch (status)
        {
            case ChunkedStatus.Done:
                _isBodyEnded = true;
                _upstream!.EndBody(_trailers is null ? default : _reactorState.ProxyHead.Trailers(_trailers.Bytes, _replacedNames));
                return false;
            case ChunkedStatus.Refused:
                _fault = ClientFault.Malformed;
                return false;
            default:
                return consumed > 0;
        }
    }

    private bool TryPassTunnel(ReadOnlySpan<byte> input)
    {
        if (!input.IsEmpty)
        {
            _upstream!.WriteBody(input);
            _connection.Consume(input.Length);
            return true;
        }

        if (_hasInputEnded)
        {
            _isBodyEnded = true;
            _upstream!.EndBody(default);
        }

        return false;
    }

    private ProxyOutcome PassResponse()
    {
        if (_connection.Writer.IsLost)
        {
            return ProxyOutcome.Closed;
        }

        if (_fault != ClientFault.None)
        {
            return EndForFault();
        }

        while (!_hasHead)
        {
            switch (_upstream!.Phase)
            {
                case UpstreamPhase.Waiting:
                    return ProxyOutcome.Pending;
                case UpstreamPhase.Informational:
                    if (_connection.UnsentBytes >= StreamedBody.UnsentBytesMax)
                    {
                        _progress = StreamProgress.WaitsForClient;
                        return ProxyOutcome.Pending;
                    }

                    _progress = StreamProgress.WaitsForProducer;
                    WriteInformational();
                    _upstream.TakeHead();
                    break;
                case UpstreamPhase.Failed:
                    return Fail(_upstream.Failure.Status);
                default:
                    if (!TryWriteHead())
                    {
                        return Fail(502);
                    }

                    _upstream.TakeHead();
                    break;
            }
        }

        _progress = _response.Write(_connection);
        return _progress switch
        {
            StreamProgress.Lost => Abort(),
            StreamProgress.Ended => _isTunnel ? EndTunnel() : ProxyOutcome.Sent,
            _ => ProxyOutcome.Pending,
        };
    }

    private ProxyOutcome Fail(int status)
    {
        KeepAlive &= _isBodyEnded;
        _exchange?.SetUpstream(_upstream!.Peer?.Text);
        return ProxyOutcome.Error(status);
    }

    /// <summary>The client's fault: an error if nothing was sent yet, otherwise a reset: the response must not look whole.</summary>
    private ProxyOutcome EndForFault()
    {
        KeepAlive = false;
        return _fault == ClientFault.Gone && !_hasHead ? ProxyOutcome.Closed
            : _hasHead ? Abort()
            : ProxyOutcome.Error(_fault == ClientFault.TooSlow ? 408 : 400);
    }

    private ProxyOutcome Abort()
    {
        _connection.Abort();
        return ProxyOutcome.Closed;
    }

    /// <summary>
    /// The upstream has ended its direction of a tunnel. The client's is kept open until it ends, too; through a filter, which has no end
    /// of one direction, the connection ends.
    /// </summary>
    private ProxyOutcome EndTunnel()
    {
        if (_isBodyEnded || !_connection.Filters.IsEmpty || _upstream!.Phase is UpstreamPhase.Complete or UpstreamPhase.Failed)
        {
            return ProxyOutcome.Closed;
        }

        if (!_hasShutDown && _connection.UnsentBytes == 0)
        {
            _hasShutDown = true;
            _connection.Backend.ShutdownSend(_connection.Descriptor);
        }

        return ProxyOutcome.Pending;
    }

    /// <summary>A client of HTTP/1.0 knows no such responses (RFC 9110, section 15.2).</summary>
    private void WriteInformational()
    {
        ResponseHead head = _upstream!.Head;
        _awaitsContinue &= head.Status != 100;
        var response = new ProxyResponseHead(head, _upstream.HeadBytes, FieldSet.Empty);
        if (_version != HttpVersion.Http11 || !response.IsValid)
        {
            return;
        }

        var writer = new ResponseHeadWriter(_connection.GetSpan(response.BytesMax<ResponseHeadWriter>()));
        response.Write(ref writer, ProxyHeadKind.Informational, _sendsVia);
        _connection.Advance(writer.Finish());
    }

    private bool TryWriteHead()
    {
        ResponseHead head = _upstream!.Head;
        var response = new ProxyResponseHead(head, _upstream.HeadBytes, _fields);
        if (!response.IsValid)
        {
            return false;
        }

        _hasHead = true;
        _isTunnel = head.Status == 101;
        bool hasBody = head.Body != ResponseBodyFraming.None;
        bool isUnknown = head.Body is ResponseBodyFraming.Chunked or ResponseBodyFraming.UntilClose;
        bool isChunked = isUnknown && _version == HttpVersion.Http11;

        // What is still to come of the body is not read after the response; and without a length only the end of the connection ends it.
        KeepAlive &= _isBodyEnded && !_isTunnel && isUnknown == isChunked && !_reactorState.IsDraining;
        var writer = new ResponseHeadWriter(_connection.GetSpan(response.BytesMax<ResponseHeadWriter>()));
        if (!response.Write(ref writer, _isTunnel ? ProxyHeadKind.Upgrade : ProxyHeadKind.Final, _sendsVia))
        {
            writer.Lines(_reactorState.Date.LineAt(_reactorState.NowMs));
        }

        writer.Lines(isChunked ? "Transfer-Encoding: chunked\r\n"u8 : default);
        writer.Lines(_isTunnel ? default : ResponseWriter.ConnectionLine(_version, KeepAlive, Alternative));
        _connection.Advance(writer.Finish());
        _exchange?.SetUpstream(_upstream.Peer?.Text);
        _exchange?.SetResponse(head.Status, hasBody || _isTunnel ? ResponseBodySource.Upstream : ResponseBodySource.None);
        _exchange?.BeginBody(_connection.WrittenBytes);
        _upstream.Destination = this;
        _response = new StreamedBody(_upstream, isChunked ? StreamFraming.Chunked : StreamFraming.None);
        if (_isTunnel)
        {
            // What the client has sent already follows.
            _isBodyEnded = false;
            _event.Set();
        }

        return true;
    }

    private void WaitForRoom()
    {
        // Without input that could say so, only the output tells that the client is gone; and a tunnel's end follows its last byte.
        long most = _progress == StreamProgress.WaitsForClient ? StreamedBody.UnsentBytesMax / 2
            : _hasInputEnded || _progress == StreamProgress.Ended ? 0
            : long.MaxValue;
        if (!_room.IsOpen && _connection.UnsentBytes > most)
        {
            _room.Begin(_connection.FlushAsync(most));
        }
    }

    private void OnRoom()
    {
        _ = _room.Take();
        _event.Set();
    }

    private void WaitForInput()
    {
        bool mayRead = !_isBodyEnded && _connection.Input.IsEmpty;
        ReadLimit limit = !mayRead || _isTunnel ? ReadLimit.None
            : _awaitsContinue ? ReadLimit.Patient
            : ReadLimit.Rate;
        if (limit != _limit)
        {
            _limit = limit;
            SetReadLimit(limit);
        }

        if (mayRead && !_hasInputEnded && !_input.IsOpen)
        {
            _input.Begin(_connection.ReadAsync());
        }
        else if (_isBodyEnded && !_hasInputEnded && _connection.Reader.End != ReceiveEnd.None)
        {
            OnInputEnd();
        }
    }

    /// <summary>
    /// The time in which the upstream did not take the body is not the client's. A client that waits for 100 sends sooner or later anyway.
    /// </summary>
    private void SetReadLimit(ReadLimit limit)
    {
        HttpServerLimits limits = _reactorState.Limits;
        if (limit == ReadLimit.Rate)
        {
            _connection.SetReadRate(limits.ReceiveBytesPerSecond, limits.ReceiveStall, Timeout.InfiniteTimeSpan);
        }
        else
        {
            _connection.SetReadDeadline(limit == ReadLimit.None ? long.MaxValue : _reactorState.DueMs(limits.Body));
        }
    }

    private void OnInput()
    {
        switch (_input.Take())
        {
            case ReadOutcome.End or ReadOutcome.Reset:
                OnInputEnd();
                return;
            case ReadOutcome.TimedOut:
                _fault = ClientFault.TooSlow;
                break;
        }

        _event.Set();
    }

    private void OnInputEnd()
    {
        _hasInputEnded = true;
        _fault = _connection.Reader.End == ReceiveEnd.Reset ? ClientFault.Gone : _fault;
        _event.Set();
    }

    private void Release()
    {
        _upstream!.Release();
        _upstream = null;
        _trailers = null;
        _exchange = null;
        _response = default;
        _fields = FieldSet.Empty;
        _connection.ChargeManaged(-_head.Length);
        _connection.Reader.EndObserved = null;
        if (_input.IsOpen)
        {
            // The session itself waits for the next request.
            _connection.Reader.TryEndWait(ReadOutcome.Data);
        }

        if (_room.IsOpen)
        {
            _connection.Writer.TryEndFlush();
        }

        Debug.Assert(!_input.IsOpen && !_room.IsOpen);
        _event.Reset();
    }

    /// <summary>How fast the client must send.</summary>
    private enum ReadLimit : byte
    {
        None,

        /// <summary>As any body.</summary>
        Rate,

        /// <summary>Within the time of a body.</summary>
        Patient,
    }

    /// <summary>Why the client's part of a request cannot go on.</summary>
    private enum ClientFault : byte
    {
        None,
        Malformed,
        TooSlow,
        Gone,
    }
}
