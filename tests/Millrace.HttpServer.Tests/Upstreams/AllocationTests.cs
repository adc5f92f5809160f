#if !DEBUG // A Debug build keeps ledgers of what was lent, and they allocate.
using Millrace.Engine;
using Millrace.Http;
using Millrace.HttpServer.Tests.Kit;
using Millrace.HttpServer.Tests.Upstreams.Kit;
using Millrace.HttpServer.Upstreams;

namespace Millrace.HttpServer.Tests.Upstreams;

/// <summary>An exchange on a pooled connection allocates nothing: measured on the reactor's own thread, around thousands of them.</summary>
public class AllocationTests : UpstreamFixture
{
    private const int Exchanges = 4_000;

    [Theory]
    [InlineData("GET", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nServer: a\r\n\r\nhello", 1)]
    [InlineData("GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\nA: b\r\n\r\n", 1)]
    [InlineData("GET", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 204 No Content\r\nKeep-Alive: timeout=5\r\n\r\n", 1)]
    [InlineData("POST", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 1)]
    [InlineData("GET", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 8)]
    public async Task Exchanges_on_a_kept_connection_allocate_nothing(string method, string response, int atOnce)
    {
        // The upstream answers on a thread of its own: only this side is measured.
        RawUpstream upstream = await StartAsync();
        using var stopped = new CancellationTokenSource();
        Task serving = ServeAsync(upstream, System.Text.Encoding.ASCII.GetBytes(response), atOnce, stopped.Token);
        var runs = new Run[atOnce];
        for (int i = 0; i < atOnce; i++)
        {
            runs[i] = new Run(Reactor, Pool, method == "POST");
        }

        await RunAsync(Exchanges / 4);
        await ReactorAllocations.AssertNoneAsync(Reactor, rounds: 3, () => RunAsync(Exchanges));
        Assert.Equal(0, Counters.Failed);
        await stopped.CancelAsync();
        upstream.Dispose();
        await serving.ContinueWith(static _ => { }, TaskScheduler.Default);

        async Task RunAsync(int count)
        {
            foreach (Run run in runs)
            {
                run.Start(count / atOnce);
            }

            foreach (Run run in runs)
            {
                await run.EndedAsync();
            }
        }
    }

    private static async Task ServeAsync(RawUpstream upstream, byte[] response, int connections, CancellationToken stopped)
    {
        var all = new List<Task>();
        for (int i = 0; i < connections; i++)
        {
            UpstreamWire wire = await upstream.AcceptAsync();
            all.Add(AnswerAsync(wire, response, stopped));
        }

        await Task.WhenAll(all);
    }

    private static async Task AnswerAsync(UpstreamWire wire, byte[] response, CancellationToken stopped)
    {
        byte[] buffer = new byte[4096];
        int tail = 0;
        while (await wire.Socket.ReceiveAsync(buffer.AsMemory(tail), stopped) is > 0 and int count)
        {
            int end = tail + count;
            bool isWhole = buffer.AsSpan(0, end).EndsWith("\r\n\r\n"u8) || buffer.AsSpan(0, end).EndsWith("\r\n\r\nbody"u8);
            tail = isWhole ? 0 : end;
            if (isWhole && !IsAwaitingBody(buffer.AsSpan(0, end)))
            {
                await wire.Socket.SendAsync(response, stopped);
            }
            else
            {
                tail = end;
            }
        }
    }

    private static bool IsAwaitingBody(ReadOnlySpan<byte> text) => text.StartsWith("POST"u8) && !text.EndsWith("body"u8);

    /// <summary>One exchange after the other on the reactor, without an allocation of its own.</summary>
    private sealed class Run
    {
        private readonly Reactor _reactor;
        private readonly UpstreamPool _pool;
        private readonly bool _hasBody;
        private readonly Action _progressed;
        private readonly Action<object?> _start;
        private UpstreamExchange? _exchange;
        private int _left;
        private bool _hasWritten;
        private volatile bool _isDone;

        public Run(Reactor reactor, UpstreamPool pool, bool hasBody)
        {
            _reactor = reactor;
            _pool = pool;
            _hasBody = hasBody;
            _progressed = OnProgressed;
            _start = _ => Begin();
        }

        public void Start(int count)
        {
            _left = count;
            _isDone = false;
            _reactor.Post(_start, null);
        }

        public async Task EndedAsync()
        {
            using var deadline = new CancellationTokenSource(TimeSpan.FromSeconds(60));
            while (!_isDone)
            {
                await Task.Delay(1, deadline.Token);
            }
        }

        private void Begin()
        {
            _hasWritten = !_hasBody;
            _exchange = _pool.Begin(
                new UpstreamRequest
                {
                    Line = _hasBody ? "POST / HTTP/1.1\r\n"u8 : "GET / HTTP/1.1\r\n"u8,
                    Host = "a"u8,
                    Fields = _hasBody ? "Content-Length: 4\r\n"u8 : "Accept: */*\r\n"u8,
                    Method = _hasBody ? Method.Post : Method.Get,
                    Body = _hasBody ? BodyFraming.Length : BodyFraming.None,
                    BodyBytes = 4,
                },
                _progressed);
            OnProgressed();
        }

        private void OnProgressed()
        {
            UpstreamExchange exchange = _exchange!;
            if (!_hasWritten && exchange.BodyRoom > 0)
            {
                _hasWritten = true;
                exchange.WriteBody("body"u8);
                exchange.EndBody(default);
            }

            while (exchange.Phase is UpstreamPhase.Informational or UpstreamPhase.Head)
            {
                exchange.TakeHead();
            }

            while (exchange.Available.Length > 0)
            {
                exchange.Consume(exchange.Available.Length);
            }

            if (exchange.Phase is UpstreamPhase.Complete or UpstreamPhase.Failed)
            {
                exchange.Release();
                if (--_left == 0)
                {
                    _isDone = true;
                }
                else
                {
                    Begin();
                }
            }
        }
    }
}
#endif
