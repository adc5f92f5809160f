using Millrace.Fuzz.Tests.Kit;
using Millrace.Http;

namespace Millrace.Fuzz.Tests.Targets;

/// <summary>The heads of an upstream's responses, their framing included (RFC 9112 sections 4 to 6).</summary>
internal sealed class ResponseHeadTarget : FuzzTarget
{
    private const int PrefixesMax = 24;

    private static readonly HeadLimits[] AllLimits =
        [HeadLimits.Default, new(64, 120, 3), new(100, 400, 100)];

    private readonly GuardedMemory _fragment = new(4096);
    private readonly ResponseHead _head = new();

    public override string Name => "response-head";

    public override int InputBytesMax => 2048;

    public override int OutcomesMin => 20;

    public override IReadOnlyList<string> Words =>
    [
        "HTTP/1.1 200 OK\r\n", "HTTP/1.0 200 OK\r\n", "HTTP/1.1 204 \r\n", "HTTP/1.1 304\r\n", "HTTP/1.1 101 x\r\n", "\r\n", "\r\n\r\n",
        "Content-Length: 3\r\n", "Content-Length: 3, 3\r\n", "Transfer-Encoding: chunked\r\n", "transfer-encoding: x, chunked\r\n",
        "Transfer-Encoding:\x0B chunked\r\n", "Connection: close\r\n", "Connection: keep-alive\r\n", "Content-Length : 1\r\n",
        " folded\r\n", "\n", "\r", "+1", "18446744073709551617", "\0", " ",
    ];

    public override byte[] Generate(Random random) => ResponseGenerator.Any(random);

    public override string Check(ReadOnlySpan<byte> input)
    {
        byte[] bytes = input.ToArray();
        string outcome = "";
        foreach (HeadLimits limits in AllLimits)
        {
            foreach (bool isForHead in (bool[])[false, true])
            {
                HeadResult result = ResponseHeadParser.Parse(input, _head, isForHead, limits);
                string whole = ResponseDescription.Of(result, _head, input);
                Agree(ReferenceResponse.Describe(bytes, isForHead, limits), whole, "head");
                outcome += result.IsRefused ? $"{result.Refusal} "
                    : result.IsIncomplete ? "incomplete "
                    : $"{_head.Status / 100} {_head.Version} {_head.Body} {_head.KeepAlive} ";
                CheckPrefixes(input, isForHead, limits, whole);
                CheckWaiting(input, isForHead, limits, result);
            }
        }

        return outcome;
    }

    /// <summary>Any split is a series of prefixes: once one is decided, all longer ones must agree.</summary>
    private void CheckPrefixes(ReadOnlySpan<byte> input, bool isForHead, HeadLimits limits, string whole)
    {
        string decided = "incomplete";
        int step = Math.Max(1, input.Length / PrefixesMax);
        for (int length = input.Length % step; length <= input.Length; length += step)
        {
            ReadOnlySpan<byte> prefix = _fragment.Copy(input[..length]);
            string now = ResponseDescription.Of(ResponseHeadParser.Parse(prefix, _head, isForHead, limits), _head, prefix);
            Require(decided == "incomplete" || decided == now, $"{length} bytes: {decided} became {now}");
            decided = now;
        }

        Agree(whole, decided, "all bytes in pieces");
    }

    /// <summary>A caller that parses only when <see cref="ResponseHeadParser.MayBeDecided"/> says so misses no complete head.</summary>
    private void CheckWaiting(ReadOnlySpan<byte> input, bool isForHead, HeadLimits limits, HeadResult whole)
    {
        HeadResult waiting = default;
        int step = Math.Max(1, input.Length / 7);
        for (int length = 0, scanned = 0; waiting.IsIncomplete && length < input.Length; scanned = length)
        {
            length = Math.Min(input.Length, length + step);
            ReadOnlySpan<byte> prefix = _fragment.Copy(input[..length]);
            if (ResponseHeadParser.MayBeDecided(prefix, scanned, limits))
            {
                waiting = ResponseHeadParser.Parse(prefix, _head, isForHead, limits);
            }
        }

        // A refusal it did not look for is found with the next line feed, at the latest with the limit.
        bool isLate = waiting.IsIncomplete && whole.IsRefused && whole.Refusal is not HeadRefusal.HeadTooLarge;
        Require(waiting == whole || isLate, $"waiting: {waiting} is not {whole}");
    }
}
