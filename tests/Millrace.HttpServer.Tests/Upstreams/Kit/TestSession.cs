using System.Text;
using Millrace.Engine;
using Millrace.Http;
using Millrace.HttpServer.Bodies;
using Millrace.HttpServer.Upstreams;

namespace Millrace.HttpServer.Tests.Upstreams.Kit;

/// <summary>
/// One exchange as a session drives it, on its reactor; the test's thread waits for what it collects. It takes all that comes unless it is
/// told to hold, and checks that it is not called within its own calls.
/// </summary>
internal sealed class TestSession
{
    private static readonly TimeSpan Deadline = TimeSpan.FromSeconds(60);

    private readonly Reactor _reactor;
    private readonly TaskCompletionSource _ended = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly TaskCompletionSource _hasHead = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly List<(Func<bool> IsMet, TaskCompletionSource Source)> _waits = [];
    private readonly StringBuilder _body = new();
    private UpstreamExchange? _exchange;
    private byte[] _toWrite = [];
    private string? _trailersToWrite;
    private bool _endsBody;
    private bool _isInCall;

    public TestSession(Reactor reactor) => _reactor = reactor;

    /// <summary>Heads of informational responses, then the final one, without the empty line.</summary>
    public List<string> Heads { get; } = [];

    public string Body => _body.ToString();

    public long BodyBytes { get; private set; }

    public string Trailers { get; private set; } = "";

    public UpstreamFailure Failure { get; private set; }

    public UpstreamPhase Phase { get; private set; }

    /// <summary>Bytes of the body that are taken at most; then it holds.</summary>
    public long TakesBytesMax { get; set; } = long.MaxValue;

    public bool KeepsBody { get; set; } = true;

    public bool TakesHeads { get; set; } = true;

    /// <summary>Whether the exchange is released as soon as it has ended.</summary>
    public bool ReleasesAtEnd { get; set; } = true;

    public int Notifications { get; private set; }

    public BodyStreamState State { get; private set; }

    public UpstreamExchange Exchange => _exchange!;

    /// <summary>Called on the reactor when the exchange has ended, after its release.</summary>
    public Action? Ended { get; set; }

    public Task BeginAsync(UpstreamPool pool, TestRequest request) => _reactor.PostAsync(() => Begin(pool, request));

    public void Begin(UpstreamPool pool, TestRequest request)
    {
        byte[] line = Encoding.Latin1.GetBytes(request.Line);
        byte[] host = Encoding.Latin1.GetBytes(request.Host);
        byte[] fields = Encoding.Latin1.GetBytes(request.Fields);
        _isInCall = true;
        _exchange = pool.Begin(
            new UpstreamRequest
            {
                Line = line,
                Host = host,
                Fields = fields,
                Method = Methods.Of(Encoding.Latin1.GetBytes(request.Line.Split(' ')[0])),
                Body = request.Body,
                BodyBytes = request.BodyBytes,
                IsUpgrade = request.IsUpgrade,
            },
            OnProgressed);
        // It has its own copy.
        Array.Clear(line);
        Array.Clear(host);
        Array.Clear(fields);
        _isInCall = false;
        OnProgress();
    }

    /// <summary>Writes bytes of the request's body as there is room.</summary>
    public Task WriteAsync(string text, bool ends = false, string trailers = "") =>
        WriteAsync(Encoding.Latin1.GetBytes(text), ends, trailers);

    public async Task WriteAsync(byte[] bytes, bool ends = false, string trailers = "")
    {
        await _reactor.PostAsync(() =>
        {
            _toWrite = [.. _toWrite, .. bytes];
            _endsBody |= ends;
            _trailersToWrite = trailers;
            OnProgress();
        });
        await WhenAsync(() => _toWrite.Length == 0 || Phase is UpstreamPhase.Failed or UpstreamPhase.Complete);
    }

    /// <summary>Takes more of the body.</summary>
    public Task TakeAsync(long bytes) => _reactor.PostAsync(() =>
    {
        TakesBytesMax = bytes;
        TakesHeads = true;
        OnProgress();
    });

    public Task ReleaseAsync() => _reactor.PostAsync(Release);

    public Task EndedAsync() => _ended.Task.WaitAsync(Deadline);

    public Task HeadAsync() => _hasHead.Task.WaitAsync(Deadline);

    /// <summary>Waits until a condition, which is checked on the reactor after each event, is met.</summary>
    public async Task WhenAsync(Func<bool> isMet)
    {
        var source = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        await _reactor.PostAsync(() =>
        {
            _waits.Add((isMet, source));
            CheckWaits();
        });
        await source.Task.WaitAsync(Deadline);
    }

    public Task BodyAsync(string text) => WhenAsync(() => Body == text);

    private void OnProgressed()
    {
        Assert.False(_isInCall, "The session was called within its own call.");
        Assert.True(_reactor.IsReactorThread);
        Notifications++;
        OnProgress();
    }

    private void OnProgress()
    {
        if (_exchange is { } exchange)
        {
            _isInCall = true;
            Drive(exchange);
            _isInCall = false;
            Phase = exchange.Phase;
            State = exchange.State;
            if (Phase is UpstreamPhase.Failed or UpstreamPhase.Complete)
            {
                Failure = exchange.Failure;
                Trailers = Encoding.Latin1.GetString(exchange.TrailerLines);
                if (ReleasesAtEnd)
                {
                    Release();
                }

                _ended.TrySetResult();
                Ended?.Invoke();
            }
        }

        CheckWaits();
    }

    private void Drive(UpstreamExchange exchange)
    {
        Write(exchange);
        while (TakesHeads && exchange.Phase is UpstreamPhase.Informational or UpstreamPhase.Head)
        {
            if (!TakesHeads)
            {
                return;
            }

            bool isFinal = exchange.Phase == UpstreamPhase.Head;
            Heads.Add(Encoding.Latin1.GetString(exchange.HeadBytes)[..^2]);
            exchange.TakeHead();
            if (isFinal)
            {
                _hasHead.TrySetResult();
            }
        }

        while (exchange.Available.Length > 0 && BodyBytes < TakesBytesMax)
        {
            int count = (int)Math.Min(exchange.Available.Length, TakesBytesMax - BodyBytes);
            if (KeepsBody)
            {
                _body.Append(Encoding.Latin1.GetString(exchange.Available[..count]));
            }

            BodyBytes += count;
            exchange.Consume(count);
        }

        Write(exchange);
    }

    private void Write(UpstreamExchange exchange)
    {
        while (_toWrite.Length > 0 && exchange.BodyRoom > 0)
        {
            int count = Math.Min(_toWrite.Length, exchange.BodyRoom);
            exchange.WriteBody(_toWrite.AsSpan(0, count));
            _toWrite = _toWrite[count..];
        }

        if (_endsBody && _toWrite.Length == 0 && exchange.BodyRoom > 0)
        {
            _endsBody = false;
            exchange.EndBody(Encoding.Latin1.GetBytes(_trailersToWrite ?? ""));
        }
    }

    private void Release()
    {
        UpstreamExchange? exchange = _exchange;
        _exchange = null;
        exchange?.Release();
    }

    private void CheckWaits()
    {
        foreach ((Func<bool> isMet, TaskCompletionSource source) in _waits.ToArray())
        {
            if (isMet())
            {
                source.TrySetResult();
            }
        }
    }
}

/// <summary>A request of a test.</summary>
internal sealed record TestRequest(string Line, string Fields = "", BodyFraming Body = BodyFraming.None)
{
    public string Host { get; init; } = "a";

    public bool IsUpgrade { get; init; }

    public long BodyBytes { get; init; }

    public static TestRequest Get(string target = "/") => new($"GET {target} HTTP/1.1\r\n");

    public static TestRequest Head(string target = "/") => new($"HEAD {target} HTTP/1.1\r\n");

    public static TestRequest Post(int length) =>
        new("POST / HTTP/1.1\r\n", $"Content-Length: {length}\r\n", length > 0 ? BodyFraming.Length : BodyFraming.None)
        {
            BodyBytes = length,
        };

    public static TestRequest PostChunked() =>
        new("POST / HTTP/1.1\r\n", "Transfer-Encoding: chunked\r\n", BodyFraming.Chunked);

    public static TestRequest Upgrade() =>
        new("GET /ws HTTP/1.1\r\n", "Connection: Upgrade\r\nUpgrade: websocket\r\n") { IsUpgrade = true };
}
