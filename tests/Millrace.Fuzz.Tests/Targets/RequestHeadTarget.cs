using System.Text;
using Millrace.Fuzz.Tests.Kit;
using Millrace.Http;

namespace Millrace.Fuzz.Tests.Targets;

/// <summary>Request heads, their framing included (RFC 9112 sections 2 to 6).</summary>
internal sealed class RequestHeadTarget : FuzzTarget
{
    private const int PrefixesMax = 24;

    private static readonly HeadLimits[] AllLimits =
        [HeadLimits.Default, new(64, 120, 3), new(100, 400, 100)];

    private readonly GuardedMemory _fragment = new(4096);
    private readonly RequestHead _head = new();

    public override string Name => "request-head";

    public override int InputBytesMax => 2048;

    public override int OutcomesMin => 20;

    public override IReadOnlyList<string> Words =>
    [
        "GET ", "HEAD ", "OPTIONS * ", "CONNECT a:1 ", "POST ", " HTTP/1.1\r\n", " HTTP/1.0\r\n", " HTTP/2.0\r\n", "\r\n", "\r\n\r\n",
        "Host: a\r\n", "Content-Length: 3\r\n", "Content-Length: 3, 3\r\n", "Transfer-Encoding: chunked\r\n",
        "transfer-encoding: x, chunked\r\n", "Transfer-Encoding:\x0B chunked\r\n", "Connection: close\r\n",
        "Connection: keep-alive\r\n", "Expect: 100-continue\r\n", "http://", "https://h:1/", "[::1]", "//", "?", "#", ":",
        "Content-Length : 1\r\n", " folded\r\n", "\n", "\r", "0x10", "+1", "-1", "18446744073709551617",
    ];

    public override byte[] Generate(Random random) => HeadGenerator.Any(random);

    public override string Check(ReadOnlySpan<byte> input)
    {
        byte[] bytes = input.ToArray();
        string outcome = "";
        foreach (HeadLimits limits in AllLimits)
        {
            HeadResult result = RequestHeadParser.Parse(input, _head, limits);
            string whole = HeadDescription.Of(result, _head, input);
            Agree(ReferenceParser.Describe(bytes, limits), whole, "head");
            outcome += Summary(result) + " ";
            if (result.IsComplete && limits.HeadBytesMax == HeadLimits.Default.HeadBytesMax)
            {
                CheckRoundTrip(input, whole);
            }

            CheckPrefixes(input, limits, whole);
            CheckWaiting(input, limits, result);
        }

        return outcome;
    }

    private string Summary(HeadResult result) => result.IsRefused ? $"{result.Refusal}"
        : result.IsIncomplete ? "incomplete"
        : $"{_head.Method} {_head.Version} {_head.Target.Form} {_head.Body} {_head.KeepAlive} {_head.ExpectContinue} "
            + $"{Math.Min(_head.Fields.Length, 4)}";

    /// <summary>Any split is a series of prefixes: once one is decided, all longer ones must agree.</summary>
    private void CheckPrefixes(ReadOnlySpan<byte> input, HeadLimits limits, string whole)
    {
        string decided = "incomplete";
        int step = Math.Max(1, input.Length / PrefixesMax);
        for (int length = input.Length % step; length <= input.Length; length += step)
        {
            ReadOnlySpan<byte> prefix = _fragment.Copy(input[..length]);
            string now = HeadDescription.Of(RequestHeadParser.Parse(prefix, _head, limits), _head, prefix);
            Require(decided == "incomplete" || decided == now, $"{length} bytes: {decided} became {now}");
            decided = now;
        }

        Agree(whole, decided, "all bytes in pieces");
    }

    /// <summary>A caller that parses only when <see cref="RequestHeadParser.MayBeDecided"/> says so misses no complete head.</summary>
    private void CheckWaiting(ReadOnlySpan<byte> input, HeadLimits limits, HeadResult whole)
    {
        HeadResult waiting = default;
        int step = Math.Max(1, input.Length / 7);
        for (int length = 0, scanned = 0; waiting.IsIncomplete && length < input.Length; scanned = length)
        {
            length = Math.Min(input.Length, length + step);
            ReadOnlySpan<byte> prefix = _fragment.Copy(input[..length]);
            if (RequestHeadParser.MayBeDecided(prefix, scanned, limits))
            {
                waiting = RequestHeadParser.Parse(prefix, _head, limits);
            }
        }

        // A refusal it did not look for is found with the next line feed, at the latest with the limit.
        bool isLate = waiting.IsIncomplete && whole.IsRefused
            && whole.Refusal is not (HeadRefusal.HeadTooLarge or HeadRefusal.RequestLineTooLong);
        Require(waiting == whole || isLate, $"waiting: {waiting} is not {whole}");
    }

    /// <summary>A head written again from what was understood means the same.</summary>
    private void CheckRoundTrip(ReadOnlySpan<byte> input, string description)
    {
        RequestHeadParser.Parse(input, _head, HeadLimits.Default);
        var text = new StringBuilder();
        string version = _head.Version == HttpVersion.Http10 ? "HTTP/1.0" : "HTTP/1.1";
        text.Append($"{_head.MethodText.Text(input)} {_head.Target.Text.Text(input)} {version}\r\n");
        foreach (FieldLine line in _head.Fields)
        {
            text.Append($"{line.NameText.Text(input)}: {line.Value.Text(input)}\r\n");
        }

        byte[] again = Latin1.Bytes(text.Append("\r\n").ToString());
        HeadResult result = RequestHeadParser.Parse(again, _head, HeadLimits.Default);
        string[] lines = HeadDescription.Of(result, _head, again).Split('\n');
        Require(result.Consumed == again.Length, "a head written anew is not complete");
        Agree(string.Join('\n', description.Split('\n')[1..]), string.Join('\n', lines[1..]), "a head written anew");
    }
}
