using Millrace.HttpServer.Tests.Upstreams.Kit;
using Millrace.HttpServer.Upstreams;

namespace Millrace.HttpServer.Tests.Upstreams;

/// <summary>
/// An upstream whose response has no certain end: the exchange fails, the connection closes, and no other exchange gets its bytes.
/// </summary>
public class FramingFaultTests : UpstreamFixture
{
    public static TheoryData<string, string> Heads => new()
    {
        { "both lengths", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n" },
        { "both lengths, the other order", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n" },
        { "two equal lengths", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n" },
        { "two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n" },
        { "a list of lengths", "HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\n" },
        { "a length with a sign", "HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\n" },
        { "a coding that is not chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n" },
        { "a coding before chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n" },
        { "chunked twice", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked\r\n\r\n" },
        { "chunked in HTTP/1.0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" },
        { "a folded line", "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n" },
        { "a folded first line", "HTTP/1.1 200 OK\r\n A: b\r\n\r\n" },
        { "a space before the colon", "HTTP/1.1 200 OK\r\nContent-Length : 5\r\n\r\n" },
        { "a NUL in a value", "HTTP/1.1 200 OK\r\nA: b\0c\r\n\r\n" },
        { "a bare CR in a value", "HTTP/1.1 200 OK\r\nA: b\rC: d\r\n\r\n" },
        { "a bare LF", "HTTP/1.1 200 OK\nContent-Length: 5\n\n" },
        { "a bare LF after a field", "HTTP/1.1 200 OK\r\nA: b\nC: d\r\n\r\n" },
        { "a name with a space", "HTTP/1.1 200 OK\r\nA b: c\r\n\r\n" },
        { "no colon", "HTTP/1.1 200 OK\r\nAb\r\n\r\n" },
        { "no status", "HTTP/1.1 OK\r\n\r\n" },
        { "four digits", "HTTP/1.1 2000 OK\r\n\r\n" },
        { "a status below 100", "HTTP/1.1 099 OK\r\n\r\n" },
        { "HTTP/2", "HTTP/2.0 200 OK\r\n\r\n" },
        { "an empty line first", "\r\nHTTP/1.1 200 OK\r\n\r\n" },
        { "another protocol", "SSH-2.0-OpenSSH_9.2\r\n" },
        { "no HTTP at all", "hello, world: this is not a response at all\r\n\r\n" },
        { "a length with 204", "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n" },
        { "chunks with 204", "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n" },
        { "a length with 103", "HTTP/1.1 103 Early Hints\r\nContent-Length: 5\r\n\r\n" },
        { "101 that nobody asked for", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n" },
        { "too many fields", $"HTTP/1.1 200 OK\r\n{string.Concat(Enumerable.Repeat("A: b\r\n", 101))}\r\n" },
        { "a large head", $"HTTP/1.1 200 OK\r\nA: {new string('a', 33_000)}\r\n\r\n" },
        { "a large head without an end", $"HTTP/1.1 200 OK\r\nA: {new string('a', 33_000)}" },
        { "a long reason", $"HTTP/1.1 200 {new string('a', 9_000)}" },
    };

    public static TheoryData<string, string> Bodies => new()
    {
        { "a size that is none", "g\r\n" },
        { "a size without digits", "\r\n" },
        { "a size with a sign", "+5\r\nhello\r\n0\r\n\r\n" },
        { "a size with 0x", "0x5\r\nhello\r\n0\r\n\r\n" },
        { "a size that is too large", "fffffffffffffffff\r\n" },
        { "a bare LF after the size", "5\nhello\r\n0\r\n\r\n" },
        { "a chunk that is longer than its size", "5\r\nhello!\r\n0\r\n\r\n" },
        { "a chunk without CRLF", "5\r\nhello0\r\n\r\n" },
        { "a bad extension", "5;\r\nhello\r\n0\r\n\r\n" },
        { "endless extensions", $"5;a={new string('b', 5_000)}\r\n" },
        { "a folded trailer", "5\r\nhello\r\n0\r\nA: b\r\n c\r\n\r\n" },
        { "a bad trailer", "5\r\nhello\r\n0\r\nA b\r\n\r\n" },
        { "endless trailers", $"0\r\nA: {new string('b', 9_000)}\r\n\r\n" },
    };

    [Theory]
    [MemberData(nameof(Heads))]
    public async Task A_malformed_head_is_a_502_and_the_end_of_its_connection(string fault, string head)
    {
        RawUpstream upstream = await StartAsync();
        (TestSession session, UpstreamWire wire) = await BeginAsync(upstream);
        await wire.SendAsync(head);
        await AssertFailedAsync(fault, session, wire, 502);
        Assert.Empty(session.Heads);
        await AssertNextIsOnAnotherAsync(upstream);
    }

    [Theory]
    [MemberData(nameof(Heads))]
    public async Task A_malformed_head_is_refused_byte_by_byte_as_well(string fault, string head)
    {
        RawUpstream upstream = await StartAsync();
        (TestSession session, UpstreamWire wire) = await BeginAsync(upstream);
        Task sending = head.Length < 1_000 ? wire.SendSlowlyAsync(head) : wire.SendAsync(head);
        await AssertFailedAsync(fault, session, wire, 502);
        // The rest may have no reader any more.
        await sending.ContinueWith(static _ => { }, TaskScheduler.Default);
    }

    [Theory]
    [MemberData(nameof(Bodies))]
    public async Task Malformed_chunks_cut_the_response(string fault, string body)
    {
        RawUpstream upstream = await StartAsync();
        (TestSession session, UpstreamWire wire) = await BeginAsync(upstream);
        await wire.SendAsync("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body);
        await AssertFailedAsync(fault, session, wire, 502);
        Assert.Single(session.Heads);
        await AssertNextIsOnAnotherAsync(upstream);
    }

    [Theory]
    [InlineData("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel")]
    [InlineData("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel")]
    [InlineData("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")]
    [InlineData("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n")]
    [InlineData("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nA: b\r\n")]
    [InlineData("HTTP/1.1 200 O")]
    [InlineData("HTTP/1.1 200 OK\r\nContent-Le")]
    [InlineData("")]
    [InlineData("HTTP/1.1 103 Early Hints\r\n\r\n")]
    public async Task An_early_end_cuts_the_response(string part)
    {
        RawUpstream upstream = await StartAsync();
        (TestSession session, UpstreamWire wire) = await BeginAsync(upstream);
        await wire.SendAsync(part);
        wire.FinishSending();
        await AssertFailedAsync("an early end", session, wire, 502);
    }

    [Theory]
    [InlineData("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel")]
    [InlineData("HTTP/1.1 200 OK\r\n\r\nhel")]
    [InlineData("HTTP/1.1 200 O")]
    [InlineData("")]
    public async Task A_reset_cuts_the_response_one_that_ends_with_its_connection_too(string part)
    {
        RawUpstream upstream = await StartAsync();
        (TestSession session, UpstreamWire wire) = await BeginAsync(upstream);
        await wire.SendAsync(part);
        if (part.EndsWith("hel", StringComparison.Ordinal))
        {
            await session.BodyAsync("hel");
        }

        wire.Reset();
        await session.EndedAsync();
        Assert.Equal((UpstreamPhase.Failed, 502), (session.Phase, session.Failure.Status));
    }

    [Theory]
    [InlineData("GET", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "!")]
    [InlineData("GET", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "\r\n")]
    [InlineData("GET", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")]
    [InlineData("GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", "0\r\n\r\n")]
    [InlineData("GET", "HTTP/1.1 204 No Content\r\n\r\n", "hello")]
    [InlineData("GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", "hello")]
    [InlineData("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "hello")]
    public async Task Surplus_bytes_close_the_connection_whether_they_come_with_the_response_or_after_it(
        string method, string response, string surplus)
    {
        RawUpstream upstream = await StartAsync();
        TestRequest request = new($"{method} / HTTP/1.1\r\n");
        (TestSession together, UpstreamWire first) = await BeginAsync(upstream, request);
        await first.SendAsync(response + surplus);
        await together.EndedAsync();
        Assert.Equal(UpstreamPhase.Complete, together.Phase);
        await first.AssertEndsAsync();

        (TestSession alone, UpstreamWire second) = await BeginAsync(upstream, request);
        await second.SendAsync(response);
        await alone.EndedAsync();
        await second.SendAsync(surplus);
        await second.AssertEndsAsync();
        Assert.Equal((0, 2L), (Counters.Idle, Counters.Malformed));
        await AssertNextIsOnAnotherAsync(upstream);
    }

    [Fact]
    public async Task A_flood_of_informational_responses_fails_the_exchange()
    {
        RawUpstream upstream = await StartAsync();
        (TestSession session, UpstreamWire wire) = await BeginAsync(upstream);
        await wire.SendAsync(string.Concat(Enumerable.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", 33)));
        await AssertFailedAsync("a flood", session, wire, 502);
        Assert.Equal(32, session.Heads.Count);
    }

    private static async Task AssertFailedAsync(string fault, TestSession session, UpstreamWire wire, int status)
    {
        await session.EndedAsync();
        Assert.True(session.Phase == UpstreamPhase.Failed, fault);
        Assert.Equal(status, session.Failure.Status);
        Assert.NotEmpty(session.Failure.Reason);
        await wire.AssertEndsAsync();
    }

    private async Task AssertNextIsOnAnotherAsync(RawUpstream upstream)
    {
        (TestSession session, UpstreamWire wire) = await BeginAsync(upstream);
        await wire.SendAsync("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nmine");
        await session.EndedAsync();
        Assert.Equal("mine", session.Body);
    }
}
