using System.Globalization;
using System.Text;
using Millrace.Simulation.Tests.Faults;
using Millrace.Simulation.Tests.Runs;

namespace Millrace.Simulation.Tests.Upstreams;

/// <summary>What an upstream does when it has sent what it sends of an answer.</summary>
internal enum AnswerEnd
{
    Keep,
    Close,
    Reset,
    Hang,
}

/// <summary>An answer with its faults: which bytes are sent, where it pauses, how it ends.</summary>
internal sealed class UpstreamAnswer
{
    private readonly World _world;
    private readonly int _pauseAt;
    private byte[] _bytes;
    private int _sent;
    private bool _hasPaused;

    private UpstreamAnswer(World world, byte[] bytes)
    {
        _world = world;
        _bytes = bytes;
        _pauseAt = world.Random.Below(bytes.Length + 1);
    }

    public UpstreamAttempt Attempt { get; } = new();

    public AnswerEnd End { get; private init; }

    /// <summary>Whether the request is there, or need not be.</summary>
    public bool MayBegin { get; private set; }

    /// <summary>Whether the rest of the request stays unread.</summary>
    public bool ReadsNoMore { get; private set; }

    /// <summary>What follows on the connection is not to be trusted.</summary>
    public bool IsPoisoned { get; private set; }

    public bool Pauses { get; private init; }

    /// <summary>After so many of its bytes the answer is whole; what follows is too much. Not where its end is the connection's.</summary>
    private int WholeBytes { get; set; } = int.MaxValue;

    public long PausedUntilMs { get; private set; }

    /// <summary>After so many of its bytes it is a tunnel; the largest value for never.</summary>
    private int SwitchBytes { get; init; } = int.MaxValue;

    /// <summary>Whether a tunnel follows the head.</summary>
    public bool IsTunnel => SwitchBytes != int.MaxValue;

    /// <summary>Whether the connection is one.</summary>
    public bool HasSwitched => _sent >= SwitchBytes;

    /// <summary>Whether the upstream closes its socket where it ends its direction, and reads no more.</summary>
    public bool ClosesWhole { get; private init; }

    public ReadOnlySpan<byte> Left => _bytes.AsSpan(_sent);

    public bool IsSent => _sent == _bytes.Length;

    /// <summary>Whether it never ends, and nothing is wrong with what came of it.</summary>
    private bool HangsInAnswer { get; init; }

    public bool IsFaulty => Attempt.Fault is not null || End != AnswerEnd.Keep || IsPoisoned;

    public static UpstreamAnswer Draw(World world, ProxiedExchange exchange, int connection)
    {
        SeededRandom random = world.Random;
        byte[] whole = exchange.ToAnswer(random);
        bool isCloseDelimited = exchange.Framing == AnswerFraming.Close && exchange.HasContent;
        bool isEarly = !exchange.RequestBody.IsEmpty && world.Strikes(FaultKind.UpstreamAnswersEarly, connection);
        bool pauses = world.Strikes(FaultKind.UpstreamPauses, connection);
        UpstreamAnswer answer = DrawCut(world, exchange, connection, whole, isCloseDelimited, pauses)
            ?? DrawWhole(world, exchange, connection, whole, isCloseDelimited, pauses);
        answer.MayBegin = isEarly;
        answer.ReadsNoMore = !exchange.RequestBody.IsEmpty && world.Strikes(FaultKind.UpstreamStopsReading, connection);
        bool isStuck = answer.ReadsNoMore && !isEarly;
        if (isStuck)
        {
            answer.Attempt.Fault ??= FaultKind.UpstreamStopsReading;
        }

        if (answer.ReadsNoMore && isEarly && answer.End == AnswerEnd.Keep)
        {
            // A server that does not read the whole request closes (RFC 9112, section 9.3); else the next one would wait unread.
            answer.SayClose();
        }

        answer.Attempt.Hangs = isStuck || answer.HangsInAnswer;
        return answer;
    }

    /// <summary>A tunnel: cut anywhere, by a reset or in order, or whole.</summary>
    public static UpstreamAnswer DrawTunnel(World world, ProxiedExchange exchange, int connection, string key)
    {
        SeededRandom random = world.Random;
        bool pauses = world.Strikes(FaultKind.UpstreamPauses, connection);
        bool isBadSwitch = exchange.Tunnel!.IsHttp2 && random.Chance(500);
        FaultKind? fault = world.Strikes(FaultKind.UpstreamResets, connection) ? FaultKind.UpstreamResets
            : world.Strikes(FaultKind.UpstreamHangs, connection) ? FaultKind.UpstreamHangs
            : world.Strikes(FaultKind.UpstreamEndsEarly, connection) ? FaultKind.UpstreamEndsEarly
            : world.Strikes(FaultKind.UpstreamMalformed, connection) ? FaultKind.UpstreamMalformed
            : null;
        byte[] head = Encoding.ASCII.GetBytes(SimulatedTunnel.SwitchFor(exchange, isBadSwitch && fault == FaultKind.UpstreamMalformed ? "" : key));
        if (fault == FaultKind.UpstreamMalformed)
        {
            byte[] bytes = isBadSwitch ? head : MalformedAnswer.Draw(random, exchange);
            var malformed = new UpstreamAnswer(world, bytes) { End = random.Pick<AnswerEnd>(AnswerEnd.Close, AnswerEnd.Reset), Pauses = pauses };
            malformed.Attempt.Fault = fault;
            return malformed;
        }

        byte[] whole = [.. head, .. exchange.Tunnel.Down.Span];
        byte[] sent = fault is null ? whole : whole[..random.Below(random.Chance(200) ? head.Length : whole.Length + 1)];
        bool isInHead = sent.Length < head.Length;
        var answer = new UpstreamAnswer(world, sent)
        {
            End = fault == FaultKind.UpstreamResets ? AnswerEnd.Reset
                : fault == FaultKind.UpstreamHangs ? AnswerEnd.Hang
                : fault == FaultKind.UpstreamEndsEarly || random.Chance(500) ? AnswerEnd.Close
                : AnswerEnd.Keep,
            Pauses = pauses,
            HangsInAnswer = fault == FaultKind.UpstreamHangs,
            SwitchBytes = head.Length,
            ClosesWhole = world.Strikes(FaultKind.UpstreamCloses, connection),
        };

        // Within the tunnel an end in order is one that may be, however early.
        answer.Attempt.Fault = fault == FaultKind.UpstreamEndsEarly && !isInHead ? null : fault;
        answer.Attempt.Hangs = answer.HangsInAnswer;
        return answer;
    }

    private void SayClose()
    {
        int before = _bytes.Length;
        _bytes = SayingClose(_bytes);
        WholeBytes += WholeBytes == int.MaxValue ? 0 : _bytes.Length - before;
    }

    public void OnSent(int count)
    {
        _sent += count;
        if (HasSwitched)
        {
            Attempt.HasSwitched = true;
            Attempt.TunnelSent = _sent - SwitchBytes;
        }

        if (_sent >= WholeBytes)
        {
            NoteWhole();
        }
    }

    /// <summary>The request is there, all of it in one read perhaps, so that there was nothing to stop at.</summary>
    public void OnRequestRead()
    {
        MayBegin = true;
        ReadsNoMore = false;
        Attempt.Hangs = HangsInAnswer;
        if (Attempt.Fault == FaultKind.UpstreamStopsReading)
        {
            Attempt.Fault = null;
        }
    }

    public void NoteWhole() => Attempt.IsWhole = Attempt.Fault is null;

    /// <summary>Whether it pauses here.</summary>
    public bool TryPause(SimulatedUpstreams upstreams, out int pauseMs)
    {
        pauseMs = 0;
        if (!Pauses || _hasPaused || _sent < _pauseAt)
        {
            return false;
        }

        _hasPaused = true;
        pauseMs = _world.Random.Between(1, upstreams.Shape.PauseMs);
        PausedUntilMs = _world.NowMs + pauseMs;
        upstreams.BeSlowFor(pauseMs + _world.Shape.SlackMs);
        return true;
    }

    /// <summary>An answer that does not come whole; null where no such fault is drawn.</summary>
    private static UpstreamAnswer? DrawCut(
        World world, ProxiedExchange exchange, int connection, byte[] whole, bool isCloseDelimited, bool pauses)
    {
        FaultKind? fault = world.Strikes(FaultKind.UpstreamResets, connection) ? FaultKind.UpstreamResets
            : world.Strikes(FaultKind.UpstreamHangs, connection) ? FaultKind.UpstreamHangs
            : world.Strikes(FaultKind.UpstreamEndsEarly, connection) ? FaultKind.UpstreamEndsEarly
            : world.Strikes(FaultKind.UpstreamMalformed, connection) ? FaultKind.UpstreamMalformed
            : null;
        if (fault is null)
        {
            return null;
        }

        if (fault == FaultKind.UpstreamMalformed)
        {
            bool hangs = world.Random.Chance(300);
            var malformed = new UpstreamAnswer(world, MalformedAnswer.Draw(world.Random, exchange))
            {
                End = hangs ? AnswerEnd.Hang : world.Random.Pick<AnswerEnd>(AnswerEnd.Close, AnswerEnd.Reset),
                Pauses = pauses,
            };
            malformed.Attempt.Fault = fault;
            return malformed;
        }

        // What is delimited by its end looks whole where it ends in order: only within its head it does not.
        int most = fault == FaultKind.UpstreamEndsEarly && isCloseDelimited ? whole.AsSpan().LastIndexOf("\r\n\r\n"u8) + 3 : whole.Length - 1;
        if (fault == FaultKind.UpstreamEndsEarly && isCloseDelimited)
        {
            most = exchange.Content.IsEmpty ? most : whole.Length - exchange.Content.Length - 1;
        }

        AnswerEnd end = fault == FaultKind.UpstreamResets ? AnswerEnd.Reset
            : fault == FaultKind.UpstreamHangs ? AnswerEnd.Hang
            : AnswerEnd.Close;
        var cut = new UpstreamAnswer(world, whole[..world.Random.Below(most + 1)]) { End = end, Pauses = pauses, HangsInAnswer = end == AnswerEnd.Hang };
        cut.Attempt.Fault = fault;
        return cut;
    }

    private static UpstreamAnswer DrawWhole(
        World world, ProxiedExchange exchange, int connection, byte[] whole, bool isCloseDelimited, bool pauses)
    {
        bool closes = isCloseDelimited || world.Strikes(FaultKind.UpstreamCloses, connection);
        bool hasSurplus = !isCloseDelimited && world.Strikes(FaultKind.UpstreamSurplus, connection);

        // A whole answer that comes when the connection serves again is that of its next request, as far as anybody can tell: it comes only
        // behind one that has said that no other will.
        whole = hasSurplus && closes ? SayingClose(whole) : whole;
        byte[] surplus = !hasSurplus ? [] : closes ? ForeignAnswer(exchange) : "surplus\r\n\r\n"u8.ToArray();
        return new UpstreamAnswer(world, [.. whole, .. surplus])
        {
            End = closes ? AnswerEnd.Close : AnswerEnd.Keep,
            Pauses = pauses,
            IsPoisoned = hasSurplus,
            WholeBytes = isCloseDelimited ? int.MaxValue : whole.Length,
        };
    }

    private static byte[] SayingClose(byte[] whole)
    {
        int first = whole.AsSpan().IndexOf("X-Answer: "u8);
        return [.. whole[..first], .. "Connection: close\r\n"u8, .. whole[first..]];
    }

    /// <summary>A whole answer that nobody has asked for.</summary>
    private static byte[] ForeignAnswer(ProxiedExchange exchange) => Encoding.ASCII.GetBytes(string.Create(
        CultureInfo.InvariantCulture, $"HTTP/1.1 200 OK\r\nX-Answer: {exchange.Id + 1_000_000}\r\nContent-Length: 7\r\n\r\nforeign"));
}

/// <summary>Answers whose framing or head nobody may read as whole.</summary>
internal static class MalformedAnswer
{
    private static readonly string[] Heads =
    [
        "Content-Length: 5\r\nContent-Length: 6\r\n",
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Content-Length: +5\r\n",
        "Content-Length: 0x5\r\n",
        "Content-Length: 5, 6\r\n",
        "Transfer-Encoding: chunked, chunked\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding: chunked, identity\r\n",
        "X-Folded: a\r\n b\r\nContent-Length: 5\r\n",
        "Content-Length : 5\r\n",
        "X Y: 1\r\nContent-Length: 5\r\n",
        "Content-Length: 5\r\nX-Nul: a\0b\r\n",
        "Content-Length: 5\r\nX-Cr: a\rb\r\n",
        "Content-Length: 5\r\nno colon\r\n",
    ];

    private static readonly string[] Lines = ["HTTP/1.1 20 OK", "HTTP/1.1 2000 OK", "HTTP/2.0 200 OK", "200 OK", "HTTP/1.1  200 OK", " HTTP/1.1 200 OK", "HTTP/1.1 099 X"];

    /// <summary>Of some content, in hexadecimal how many bytes it has before it.</summary>
    private static readonly string[] Chunked =
    [
        "zz\r\n{1}\r\n0\r\n\r\n",
        "-{0}\r\n{1}\r\n0\r\n\r\n",
        "{0}\r\n{1}X\r\n0\r\n\r\n",
        "ffffffffffffffffff\r\n{1}",
        "{0}\r\n{1}\r\n0\n\n",
        "{0}\n{1}\r\n0\r\n\r\n",
        "\r\n0\r\n\r\n",
        "0x{0}\r\n{1}\r\n0\r\n\r\n",
    ];

    public static byte[] Draw(SeededRandom random, ProxiedExchange exchange)
    {
        bool mayBeChunked = exchange.HasContent && exchange.Content.Length >= 5;
        string content = Encoding.Latin1.GetString(exchange.Content.Span[..Math.Min(5, exchange.Content.Length)]);
        string text = random.Below(mayBeChunked ? 3 : 2) switch
        {
            0 => $"HTTP/1.1 {exchange.Status} Answer\r\n{exchange.Mark}\r\n{random.Pick<string>(Heads)}\r\nhello",
            1 => $"{random.Pick<string>(Lines)}\r\n{exchange.Mark}\r\nContent-Length: 5\r\n\r\nhello",
            _ => $"HTTP/1.1 {exchange.Status} Answer\r\n{exchange.Mark}\r\nTransfer-Encoding: chunked\r\n\r\n{random.Pick<string>(Chunked).Replace("{0}", "5", StringComparison.Ordinal).Replace("{1}", content, StringComparison.Ordinal)}",
        };
        return Encoding.Latin1.GetBytes(text);
    }
}
