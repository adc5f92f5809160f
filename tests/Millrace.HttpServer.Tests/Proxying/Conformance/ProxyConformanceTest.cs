using System.Globalization;
using System.Text;
using Millrace.Http;
using Millrace.HttpServer.Tests.Http2.Kit;
using Millrace.HttpServer.Tests.Kit;
using Millrace.StaticFiles.Rules;
using Millrace.Tests.Shared;

namespace Millrace.HttpServer.Tests.Proxying.Conformance;

/// <summary>What a client got for one request.</summary>
/// <param name="Status">Of the final response; 0 if none came.</param>
/// <param name="Head">With its lines, in the coding of HTTP/1.1; interim responses before it.</param>
/// <param name="Body">As far as it came.</param>
/// <param name="IsWhole">Whether the response ended where it said.</param>
/// <param name="Rest">What came after its end.</param>
internal sealed record Outcome(int Status, string Head, string Body, bool IsWhole, string Rest = "");

/// <summary>
/// A raw client, the server as a proxy, and a raw upstream. Whatever the client sends, the upstream gets requests that were meant and
/// nothing else; whatever the upstream sends, each client gets its own response or an error.
/// </summary>
public abstract class ProxyConformanceTest : SiteFixture
{
    private const string Canary = "/api/canary";

    private static readonly bool[] BothProtocols = [false, true];

    private protected static readonly TimeSpan Deadline = TimeSpan.FromSeconds(60);

    /// <summary>Runs a test between an upstream and a site that sends it <c>/api/*</c>, with no more fields than there must be.</summary>
    private protected async Task WithUpstreamAsync(Func<RunningSite, MarkingUpstream, Task> test)
    {
        await using var upstream = MarkingUpstream.Start();
        RunningSite site = await StartAsync(options => options with
        {
            Proxies = [new ProxyRule("/api/*", [upstream.Url])],
            ProxyForwarded = ForwardedFields.None,
        });
        await test(site, upstream);
    }

    /// <summary>A request is answered by the server, and nothing of it reaches the upstream.</summary>
    private protected Task RefusedAsync(string request, int status = 400) => WithUpstreamAsync(async (site, upstream) =>
    {
        Wire wire = await site.ConnectAsync();
        await wire.SendAsMuchAsWelcomeAsync(Encoding.Latin1.GetBytes(request));
        wire.FinishSending();
        (byte[] bytes, _) = await wire.ReadToEndAsync();
        Outcome outcome = OutcomeOf(bytes, isHead: false, WireEnd.Finished);
        Assert.Equal(status, outcome.Status);
        Assert.Equal("", outcome.Rest);
        await AssertOnlyCanaryAsync(site, upstream);
    });

    /// <summary>A request's head is good and its body is not: the upstream never gets it whole, and the client no response of the upstream's.</summary>
    private protected Task RefusedBodyAsync(string body, int status = 400) => WithUpstreamAsync(async (site, upstream) =>
    {
        Wire wire = await site.ConnectAsync();
        await wire.SendAsMuchAsWelcomeAsync(Encoding.Latin1.GetBytes($"POST /api/a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{body}"));
        wire.FinishSending();
        (byte[] bytes, _) = await wire.ReadToEndAsync();
        Outcome outcome = OutcomeOf(bytes, isHead: false, WireEnd.Finished);
        Assert.True(outcome.Status == status || bytes.Length == 0, outcome.Head);
        Assert.Equal("", outcome.Rest);
        await AssertOnlyCanaryAsync(site, upstream);
    });

    /// <summary>A request reaches the upstream, byte for byte, and its response the client.</summary>
    private protected Task ForwardedAsync(string request, string expected) => WithUpstreamAsync(async (site, upstream) =>
    {
        Wire wire = await site.ConnectAsync();
        await wire.SendAsync(request);
        string target = expected.Split(' ')[1];
        Response response = await wire.ReadResponseAsync(request.Split(' ')[0]).WaitAsync(Deadline);
        Assert.Equal((200, target), (response.Status, response.Field("X-Answer")));
        Assert.Equal([expected], upstream.Requests);
        await AssertOnlyCanaryAsync(site, upstream, expected);
    });

    /// <summary>A response of the upstream's is none: clients of both protocols get a 502, and the next request its own response.</summary>
    private protected Task BadGatewayAsync(string response, bool closes = false) => WithUpstreamAsync(async (site, upstream) =>
    {
        upstream.Script("/api/bad", new UpstreamScript(response, closes));
        foreach (bool isHttp2 in BothProtocols)
        {
            Outcome outcome = await AskAsync(site, "/api/bad", isHttp2: isHttp2);
            Assert.True(outcome is { Status: 502, IsWhole: true, Rest: "" }, $"HTTP/{(isHttp2 ? 2 : 1)}: {outcome}");
            await AssertNextIsOwnAsync(site, isHttp2);
        }
    });

    /// <summary>A response of the upstream's ends wrong: clients see that it is not whole, and the next request gets its own.</summary>
    private protected Task CutAsync(string response, bool closes = false) => WithUpstreamAsync(async (site, upstream) =>
    {
        upstream.Script("/api/bad", new UpstreamScript(response, closes));
        foreach (bool isHttp2 in BothProtocols)
        {
            Outcome outcome = await AskAsync(site, "/api/bad", isHttp2: isHttp2);
            Assert.True(outcome is { IsWhole: false } or { Status: 502 }, $"HTTP/{(isHttp2 ? 2 : 1)}: {outcome}");
            Assert.Equal("", outcome.Rest);
            await AssertNextIsOwnAsync(site, isHttp2);
        }
    });

    /// <summary>A response is passed on, its body whole and no more; the next request gets its own.</summary>
    private protected Task PassedAsync(
        string response, int status, string body, bool closes = false, string method = "GET", Action<Outcome>? check = null) =>
        WithUpstreamAsync(async (site, upstream) =>
        {
            upstream.Script("/api/odd", new UpstreamScript(response, closes));
            foreach (bool isHttp2 in BothProtocols)
            {
                Outcome outcome = await AskAsync(site, "/api/odd", method, isHttp2);
                Assert.True(outcome.Status == status && outcome.Body == body && outcome is { IsWhole: true, Rest: "" }, $"HTTP/{(isHttp2 ? 2 : 1)}: {outcome}");
                check?.Invoke(outcome);
                await AssertNextIsOwnAsync(site, isHttp2);
            }
        });

    /// <summary>Asks for a target on a connection of its own.</summary>
    private protected static async Task<Outcome> AskAsync(RunningSite site, string target, string method = "GET", bool isHttp2 = false)
    {
        if (isHttp2)
        {
            Http2Wire client = await Http2Wire.OpenAsync(site);
            await client.SendAsync(Frame.Headers(1, Block.Request(method, target)));
            return OutcomeOf(await client.ReadAsync(1).WaitAsync(Deadline));
        }

        Wire wire = await site.ConnectAsync();
        await wire.SendAsync($"{method} {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        (byte[] bytes, WireEnd end) = await wire.ReadToEndAsync().WaitAsync(Deadline);
        return OutcomeOf(bytes, method == "HEAD", end);
    }

    private protected static Outcome OutcomeOf(Exchange exchange)
    {
        string[] statuses = [.. exchange.Fields.Where(static field => field.Name == ":status").Select(static field => field.Value)];
        string head = string.Concat(exchange.Fields.Select(static field => $"{field.Name}: {field.Value}\r\n"));
        int status = statuses.Length == 0 ? 0 : int.Parse(statuses[^1], CultureInfo.InvariantCulture);
        return new Outcome(status, head, exchange.Text, exchange.Reset is null or Http2Error.NoError && exchange.IsWhole);
    }

    /// <summary>Reads one response after its interim ones, by its framing alone.</summary>
    internal static Outcome OutcomeOf(byte[] bytes, bool isHead, WireEnd end)
    {
        string text = Encoding.Latin1.GetString(bytes);
        int from = 0;
        while (true)
        {
            int head = text.IndexOf("\r\n\r\n", from, StringComparison.Ordinal) + 4;
            if (head < 4 || !text.AsSpan(from).StartsWith("HTTP/1.1 "))
            {
                return new Outcome(0, text, "", IsWhole: false);
            }

            int status = int.Parse(text.AsSpan(from + 9, 3), NumberStyles.None, CultureInfo.InvariantCulture);
            string lines = text[from..head];
            if (status is >= 100 and < 200 and not 101)
            {
                from = head;
                continue;
            }

            return OutcomeOf(status, text[..head], lines, text[head..], isHead, end);
        }
    }

    /// <summary>The next request, of another client, gets its own response.</summary>
    private protected static async Task AssertNextIsOwnAsync(RunningSite site, bool isHttp2)
    {
        Outcome next = await AskAsync(site, Canary, isHttp2: isHttp2);
        Assert.Equal((200, Canary, true, ""), (next.Status, next.Body, next.IsWhole, next.Rest));
    }

    /// <summary>A next request reaches the upstream, and is the only one beside what was meant.</summary>
    private protected static async Task AssertOnlyCanaryAsync(RunningSite site, MarkingUpstream upstream, params string[] meant)
    {
        await AssertNextIsOwnAsync(site, isHttp2: false);
        Assert.Equal(meant.Length + 1, upstream.Requests.Length);
        Assert.Equal(meant, upstream.Requests[..^1]);
        Assert.StartsWith($"GET {Canary} HTTP/1.1\r\n", upstream.Requests[^1], StringComparison.Ordinal);
    }

    private static Outcome OutcomeOf(int status, string head, string lines, string content, bool isHead, WireEnd end)
    {
        if (isHead || status is 204 or 304)
        {
            return new Outcome(status, head, "", IsWhole: true, content);
        }

        if (lines.Contains("\r\nTransfer-Encoding: chunked\r\n", StringComparison.OrdinalIgnoreCase))
        {
            return OfChunks(status, head, content);
        }

        int at = lines.IndexOf("\r\nContent-Length: ", StringComparison.OrdinalIgnoreCase);
        if (at < 0)
        {
            return new Outcome(status, head, content, end == WireEnd.Finished);
        }

        string length = lines[(at + "\r\nContent-Length: ".Length)..];
        int count = int.Parse(length[..length.IndexOf('\r', StringComparison.Ordinal)], NumberStyles.None, CultureInfo.InvariantCulture);
        return content.Length < count
            ? new Outcome(status, head, content, IsWhole: false)
            : new Outcome(status, head, content[..count], IsWhole: true, content[count..]);
    }

    private static Outcome OfChunks(int status, string head, string content)
    {
        var body = new StringBuilder();
        int at = 0;
        while (true)
        {
            int end = content.IndexOf("\r\n", at, StringComparison.Ordinal);
            if (end < 0 || !int.TryParse(content[at..end], NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture, out int size))
            {
                return new Outcome(status, head, body.ToString(), IsWhole: false);
            }

            if (size == 0)
            {
                int last = content.IndexOf("\r\n\r\n", end, StringComparison.Ordinal);
                return last < 0
                    ? new Outcome(status, head, body.ToString(), IsWhole: false)
                    : new Outcome(status, head + content[(end + 2)..(last + 2)], body.ToString(), IsWhole: true, content[(last + 4)..]);
            }

            at = end + 2 + size + 2;
            if (at > content.Length)
            {
                return new Outcome(status, head, body.Append(content[(end + 2)..]).ToString(), IsWhole: false);
            }

            body.Append(content, end + 2, size);
        }
    }
}
