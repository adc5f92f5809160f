using System.Globalization;
using System.Text;
using Millrace.HttpServer.Tests.Http2.Kit;
using Millrace.HttpServer.Tests.Kit;
using Millrace.Tests.Shared;

namespace Millrace.HttpServer.Tests.Proxying.Conformance;

/// <summary>
/// Ambiguous framings, in requests and in responses, in front of a connection that is used again, pipelined, and shared with others of both
/// protocols. Each request and each response has a mark: nobody gets another's response, and the upstream no request that nobody meant.
/// </summary>
public sealed class DesyncMatrixTests : ProxyConformanceTest
{
    private const string Smuggled = "GET /api/smuggled HTTP/1.1\r\nHost: a\r\n\r\n";
    private const string Foreign = "HTTP/1.1 200 OK\r\nX-Answer: foreign\r\nContent-Length: 7\r\n\r\nforeign";

    /// <summary>Field lines of a POST, and what follows its head.</summary>
    private static readonly (string Fields, string Body)[] Requests =
    [
        ("Content-Length: 44\r\nTransfer-Encoding: chunked\r\n", $"0\r\n\r\n{Smuggled}"),
        ("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", $"27\r\n{Smuggled}\r\n0\r\n\r\n"),
        ("Content-Length: 44\r\nTransfer-Encoding: xchunked\r\n", $"0\r\n\r\n{Smuggled}"),
        ("Content-Length: 44\r\nTransfer-Encoding : chunked\r\n", $"0\r\n\r\n{Smuggled}"),
        ("Content-Length: 44\r\nTransfer-Encoding:\vchunked\r\n", $"0\r\n\r\n{Smuggled}"),
        ("Content-Length: 44\r\nTransfer-Encoding: chunked, identity\r\n", $"0\r\n\r\n{Smuggled}"),
        ("Content-Length: 44\r\nTransfer-Encoding\r\n : chunked\r\n", $"0\r\n\r\n{Smuggled}"),
        ("Content-Length: 44\r\nX-A: 1\nTransfer-Encoding: chunked\r\n", $"0\r\n\r\n{Smuggled}"),
        ("Content-Length: 44\r\nX-A: 1\rTransfer-Encoding: chunked\r\n", $"0\r\n\r\n{Smuggled}"),
        ("Content-Length: 44\r\nTransfer-Encoding:\r\n chunked\r\n", $"0\r\n\r\n{Smuggled}"),
        ("Content-Length: 44\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", $"0\r\n\r\n{Smuggled}"),
        ("Content-Length: 0\r\nContent-Length: 39\r\n", Smuggled),
        ("Content-Length: 39\r\nContent-Length: 0\r\n", Smuggled),
        ("Content-Length: 0, 39\r\n", Smuggled),
        ("Content-Length: +39\r\n", Smuggled),
        ("Content-Length: 0x27\r\n", Smuggled),
        ("Content-Length : 39\r\n", Smuggled),
        ("Content-Length: 39 \0\r\n", Smuggled),
        ("Content-Length: 18446744073709551655\r\n", Smuggled),
        ("Connection: Content-Length\r\nContent-Length: 39\r\n", Smuggled),
        ("Connection: Transfer-Encoding\r\nTransfer-Encoding: chunked\r\n", $"27\r\n{Smuggled}\r\n0\r\n\r\n"),
        ("Connection: Host, Content-Length\r\nContent-Length: 39\r\n", Smuggled),
        ("Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 39\r\n", Smuggled),
        ("Expect: 100-continue\r\nContent-Length: 39\r\n", Smuggled),
        ("Transfer-Encoding: chunked\r\n", $"0000000000000000000000000\r\n\r\n{Smuggled}"),
        ("Transfer-Encoding: chunked\r\n", $"0;a\nb\r\n\r\n{Smuggled}"),
        ("Transfer-Encoding: chunked\r\n", $"0\n\n{Smuggled}"),
        ("Transfer-Encoding: chunked\r\n", $"5\r\nhello0\r\n\r\n{Smuggled}"),
        ("Transfer-Encoding: chunked\r\n", $"100000000000000000\r\n\r\n{Smuggled}"),
        ("Transfer-Encoding: chunked\r\n", "0\r\nContent-Length: 39\r\nTransfer-Encoding: chunked\r\nHost: b\r\n\r\n"),
    ];

    private static readonly (string Response, bool Closes)[] Responses =
    [
        ($"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nContent-Length: 64\r\n\r\n{Foreign}", false),
        ($"HTTP/1.1 200 OK\r\nContent-Length: 69\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{Foreign}", false),
        ($"HTTP/1.1 200 OK\r\nTransfer-Encoding: xchunked\r\nContent-Length: 0\r\n\r\n{Foreign}", false),
        ($"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello{Foreign}", false),
        ($"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello{Foreign}", true),
        ($"HTTP/1.1 204 No Content\r\n\r\n{Foreign}", false),
        ($"HTTP/1.1 204 No Content\r\nContent-Length: 64\r\n\r\n{Foreign}", false),
        ($"HTTP/1.1 304 Not Modified\r\nContent-Length: 64\r\n\r\n{Foreign}", false),
        ($"HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\n{Foreign}", false),
        ($"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{Foreign}", false),
        ($"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\n\n{Foreign}", false),
        ($"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello0\r\n\r\n{Foreign}", false),
        ($"HTTP/1.1 200 OK\r\nX-A: 1\r\n Content-Length: 64\r\nContent-Length: 0\r\n\r\n{Foreign}", false),
        ($"HTTP/1.1 200 OK\r\nContent-Length : 64\r\nContent-Length: 0\r\n\r\n{Foreign}", false),
        ($"HTTP/1.1 200 OK\nContent-Length: 0\n\n{Foreign}", false),
        ($"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n{Foreign}", false),
        ($"HTTP/1.1 103 Early Hints\r\nContent-Length: 64\r\n\r\n{Foreign}", false),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhello", true),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel", true),
    ];

    public static TheoryData<int> RequestCases => [.. Enumerable.Range(0, Requests.Length)];

    public static TheoryData<int> ResponseCases => [.. Enumerable.Range(0, Responses.Length)];

    /// <summary>The attack comes first on its connection, after a request of its own, and in front of one; others ask all the time.</summary>
    [Theory]
    [MemberData(nameof(RequestCases))]
    public Task An_ambiguous_request_reaches_nobody_as_another(int index) => WithUpstreamAsync(async (site, upstream) =>
    {
        (string fields, string body) = Requests[index];
        string attack = $"POST /api/attack HTTP/1.1\r\nHost: a\r\n{fields}\r\n{body}";
        string before = "GET /api/before HTTP/1.1\r\nHost: a\r\n\r\n";
        string after = "GET /api/after HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
        int number = 0;
        string[][] attacks = [[attack], [before, attack], [before + attack], [attack + after], [attack, after], [before + attack + after]];
        foreach (string[] writes in attacks)
        {
            Task<string[]> victims = AskAsOthersAsync(site, number++);
            string text = await SendAsync(site, writes);
            AssertOwn(text, "/api/before", "/api/attack", "/api/after");
            Assert.Empty(await victims);
        }

        Assert.DoesNotContain("/api/smuggled", upstream.Requests.Select(TargetOf));
        Assert.All(upstream.Requests.Where(static request => TargetOf(request) == "/api/attack"), AssertIsMeant);
    });

    /// <summary>The response to one is ambiguous: those to its other requests, and to others, are their own.</summary>
    [Theory]
    [MemberData(nameof(ResponseCases))]
    public Task An_ambiguous_response_reaches_nobody_as_another(int index) => WithUpstreamAsync(async (site, upstream) =>
    {
        upstream.Script("/api/odd", new UpstreamScript(Responses[index].Response, Responses[index].Closes));
        int number = 0;
        foreach (string method in (List<string>)["GET", "HEAD", "POST"])
        {
            string odd = $"{method} /api/odd HTTP/1.1\r\nHost: a\r\n{(method == "POST" ? "Content-Length: 0\r\n" : "")}\r\n";
            string after = "GET /api/after HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
            string[][] attacks = [[odd, after], [odd + after]];
            foreach (string[] writes in attacks)
            {
                Task<string[]> victims = AskAsOthersAsync(site, number++);
                string text = await SendAsync(site, writes);
                Assert.DoesNotContain("foreign", text, StringComparison.Ordinal);
                AssertOwn(text, "/api/after");
                Assert.Empty(await victims);
            }
        }

        // Streams of one connection, on the same upstream connections.
        Http2Wire client = await Http2Wire.OpenAsync(site);
        for (int streamId = 1; streamId < 40; streamId += 4)
        {
            string own = $"/api/{streamId}";
            await client.SendAsync(
                Frame.Headers(streamId, Block.Get("/api/odd")), Frame.Headers(streamId + 2, Block.Get(own)));
            Outcome odd = OutcomeOf(await client.ReadAsync(streamId).WaitAsync(Deadline));
            Assert.DoesNotContain("foreign", odd.Head + odd.Body, StringComparison.Ordinal);
            Outcome next = OutcomeOf(await client.ReadAsync(streamId + 2).WaitAsync(Deadline));
            Assert.Equal((200, own), (next.Status, next.Body));
        }
    });

    private static string TargetOf(string request) => request.Split(' ')[1];

    /// <summary>A request that is passed on keeps its body: as content, whatever it looks like.</summary>
    private static void AssertIsMeant(string request)
    {
        int head = request.IndexOf("\r\n\r\n", StringComparison.Ordinal);
        Assert.StartsWith("POST /api/attack HTTP/1.1\r\nHost: a\r\n", request, StringComparison.Ordinal);
        Assert.Single(request[..head].Split("\r\n"), static line =>
            line.StartsWith("Content-Length: ", StringComparison.OrdinalIgnoreCase)
            || line.Equals("Transfer-Encoding: chunked", StringComparison.OrdinalIgnoreCase));
    }

    /// <summary>All that comes on a connection for these writes.</summary>
    private static async Task<string> SendAsync(RunningSite site, string[] writes)
    {
        Wire wire = await site.ConnectAsync();
        foreach (string write in writes)
        {
            await wire.SendAsMuchAsWelcomeAsync(Encoding.Latin1.GetBytes(write));
        }

        wire.FinishSending();
        (byte[] bytes, _) = await wire.ReadToEndAsync().WaitAsync(Deadline);
        return Encoding.Latin1.GetString(bytes);
    }

    /// <summary>Marks in what a connection brought are of its own requests, in their order.</summary>
    private static void AssertOwn(string text, params string[] targets)
    {
        string[] marks =
        [
            .. text.Split("\r\n")
                .Where(static line => line.StartsWith("X-Answer: ", StringComparison.OrdinalIgnoreCase))
                .Select(static line => line["X-Answer: ".Length..]),
        ];
        int at = 0;
        foreach (string mark in marks)
        {
            int next = Array.IndexOf(targets, mark, at);
            Assert.True(next >= 0, $"'{mark}' is nobody's here, or not in its order: {text}");
            at = next + 1;
        }
    }

    /// <summary>Others ask meanwhile, over both protocols; what they got that is not theirs.</summary>
    private static async Task<string[]> AskAsOthersAsync(RunningSite site, int number)
    {
        Outcome[] outcomes = await Task.WhenAll(Enumerable.Range(0, 8).Select(
            victim => AskAsync(site, TargetOf(number, victim), isHttp2: victim % 2 == 0)));
        return
        [
            .. outcomes
                .Where((outcome, victim) => outcome is not { Status: 200, IsWhole: true, Rest: "" } || outcome.Body != TargetOf(number, victim))
                .Select(static outcome => outcome.ToString()),
        ];
    }

    private static string TargetOf(int number, int victim) => string.Create(CultureInfo.InvariantCulture, $"/api/{number}/{victim}");
}
