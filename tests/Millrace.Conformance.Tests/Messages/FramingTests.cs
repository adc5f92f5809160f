using Millrace.Conformance.Tests.Kit;

namespace Millrace.Conformance.Tests.Messages;

/// <summary>Where a request ends: what two readers could see differently is refused, and the connection with it.</summary>
public class FramingTests
{
    private const string Section = "RFC 9112 6.3";
    private const string Get = "GET /one.txt HTTP/1.1\r\nHost: localhost\r\n";
    private const string Post = "POST /one.txt HTTP/1.1\r\nHost: localhost\r\n";

    /// <summary>What an attacker would like to have taken for a request of its own.</summary>
    private const string Smuggled = "GET /text.txt HTTP/1.1\r\nHost: localhost\r\n\r\n";

    [Theory]
    [Behaviour("RFC 9112 6.1", 26, "Content-Length with Transfer-Encoding ends the connection after at most one answer.")]
    public async Task A_length_with_a_transfer_coding_ends_the_connection(Site site)
    {
        using Wire wire = await site.ConnectAsync();
        await wire.SendAsync($"{Get}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{Smuggled}");
        (await wire.ReadResponseAsync()).Is(400, 200);
        await wire.EndsAsync();
    }

    [Theory]
    [Behaviour(
        BehaviourAttribute.Choice, 26,
        "Content-Length with Transfer-Encoding is refused, in either order (RFC 9112 6.3 allows it).",
        NotOnKestrel = "Kestrel drops the length.")]
    public Task A_length_with_a_transfer_coding_is_400(Site site) => Expect.EachAsync(
        ["Content-Length: 5\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 5"],
        fields => site.RefusesAsync($"{Post}{fields}\r\n\r\n0\r\n\r\n{Smuggled}", 400));

    [Theory]
    [Behaviour(Section, 26, "Two lengths that differ are refused, and the connection ends.")]
    public Task Two_lengths_are_refused(Site site) => Expect.EachAsync(
        ["Content-Length: 0\r\nContent-Length: 46", "Content-Length: 46\r\ncontent-length: 0", "Content-Length: 0, 46"],
        fields => site.RefusesAsync($"{Post}{fields}\r\n\r\n{Smuggled}", 400));

    [Theory]
    [Behaviour(
        Section, 26,
        "A length that is not a number is refused, and the connection ends.",
        NotOnKestrel = "Kestrel takes +5.")]
    public Task A_length_that_is_no_number_is_refused(Site site) => Expect.EachAsync(
        ["-1", "+5", "5 5", "0x10", "1e3", "5;", "five", "5.0", "\"5\"", "99999999999999999999999", "18446744073709551617", ""],
        value => site.RefusesAsync($"{Post}Content-Length: {value}\r\n\r\n{Smuggled}", 400, 411, 413));

    [Theory]
    [Behaviour("RFC 9112 6.1", 26, "A transfer coding that is not known is refused, and the connection ends.")]
    public Task An_unknown_transfer_coding_is_refused(Site site) => Expect.EachAsync(
        ["bogus", "xchunked", "chunke", "gzip, bogus", "chunked bogus", "\"chunked\""],
        value => site.RefusesAsync($"{Post}Transfer-Encoding: {value}\r\n\r\n{Smuggled}", 400, 501));

    [Theory]
    [Behaviour(Section, 26, "A body whose last transfer coding is not chunked is refused, and the connection ends.")]
    public Task A_body_that_is_not_chunked_last_is_refused(Site site) => Expect.EachAsync(
        ["chunked, gzip", "gzip", "identity", "chunked, identity"],
        value => site.RefusesAsync($"{Post}Transfer-Encoding: {value}\r\n\r\n0\r\n\r\n{Smuggled}", 400, 501));

    [Theory]
    [Behaviour(
        "RFC 9112 7.1", 26,
        "Chunked applied twice is refused.",
        NotOnKestrel = "Kestrel looks at the last coding only, when a body is read.")]
    public Task Chunked_twice_is_refused(Site site) => Expect.EachAsync(
        ["Transfer-Encoding: chunked, chunked", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"],
        fields => site.RefusesAsync($"{Post}{fields}\r\n\r\n0\r\n\r\n{Smuggled}", 400, 501));

    [Theory]
    [Behaviour(
        "RFC 9112 6.1", 26,
        "Transfer-Encoding in HTTP/1.0 is faulty framing: the connection ends after at most one answer.",
        NotOnKestrel = "Kestrel keeps the connection.")]
    public async Task A_transfer_coding_in_http_1_0_ends_the_connection(Site site)
    {
        using Wire wire = await site.ConnectAsync();
        await wire.SendAsync($"GET /one.txt HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{Smuggled}");
        (await wire.ReadResponseAsync()).Is(200, 400, 501);
        await wire.EndsAsync();
    }

    [Theory]
    [Behaviour("RFC 9112 7", 26, "The name chunked is case-insensitive.")]
    public async Task Chunked_has_no_case(Site site)
    {
        using Wire wire = await site.ConnectAsync();
        await wire.SendAsync($"{Get}Transfer-Encoding: CHUNKED\r\n\r\n5\r\nhello\r\n0\r\n\r\n");
        (await wire.ReadResponseAsync()).IsWhole(Site.Files["/one.txt"]);
    }

    [Theory]
    [Behaviour("RFC 9110 9.3.1", 26, "The body of a GET is no second request.")]
    public Task The_body_of_a_get_is_no_request(Site site) => ResponsesOnceAsync(
        site, $"{Get}Content-Length: {Smuggled.Length}\r\n\r\n{Smuggled}", 200, 400, 413);

    [Theory]
    [Behaviour("RFC 9110 9.3.1", 26, "The chunked body of a GET is no second request.")]
    public Task The_chunked_body_of_a_get_is_no_request(Site site) => ResponsesOnceAsync(
        site, $"{Get}Transfer-Encoding: chunked\r\n\r\n{Smuggled.Length:x}\r\n{Smuggled}\r\n0\r\n\r\n", 200, 400, 413);

    [Theory]
    [Behaviour("RFC 9110 9.3.2", 26, "The body of a HEAD is no second request.")]
    public Task The_body_of_a_head_is_no_request(Site site) => ResponsesOnceAsync(
        site, $"HEAD /one.txt HTTP/1.1\r\nHost: localhost\r\nContent-Length: {Smuggled.Length}\r\n\r\n{Smuggled}", 200, 400, 413);

    [Theory]
    [Behaviour(Section, 26, "The body of a POST that is refused is no second request.")]
    public Task The_body_of_a_refused_post_is_no_request(Site site) => ResponsesOnceAsync(
        site, $"{Post}Content-Length: {Smuggled.Length}\r\n\r\n{Smuggled}", 200, 403, 405, 501);

    [Theory]
    [Behaviour("RFC 9112 7.1.1", 26, "Chunk extensions are ignored.")]
    public Task Chunk_extensions_are_ignored(Site site) => ResponsesOnceAsync(
        site, $"{Get}Transfer-Encoding: chunked\r\n\r\n5;a=b;c=\"d;e\"\r\nhello\r\n0;last\r\n\r\n", 200);

    [Theory]
    [Behaviour("RFC 9112 7.1.2", 26, "Trailers are ignored.")]
    public Task Trailers_are_ignored(Site site) => ResponsesOnceAsync(
        site, $"{Get}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 1\r\nIf-None-Match: *\r\n\r\n", 200);

    [Theory]
    [Behaviour("RFC 9112 7.1", 26, "Chunk sizes are hexadecimal, in any case, with leading zeros.")]
    public Task Chunk_sizes_are_hexadecimal(Site site) => Expect.EachAsync(
        ["a", "A", "0a", "000A"],
        size => ResponsesOnceAsync(site, $"{Get}Transfer-Encoding: chunked\r\n\r\n{size}\r\n0123456789\r\n0\r\n\r\n", 200));

    [Theory]
    [Behaviour("RFC 9112 7.1", 26, "Bytes after a malformed chunk get no response.")]
    public Task A_malformed_chunk_ends_the_connection(Site site) => Expect.EachAsync(
        ["zz\r\nhello", "-1\r\nhello", "0x5\r\nhello", "+5\r\nhello", "\r\n", "5\r\nhelloX\r\n", "fffffffffffffffff\r\nhello",
            "5 5\r\nhello"],
        async chunk =>
        {
            using Wire wire = await site.ConnectAsync();
            await wire.SendAsync($"{Get}Transfer-Encoding: chunked\r\n\r\n{chunk}\r\n0\r\n\r\n{Smuggled}");
            (await wire.ReadResponseAsync()).Is(400, 413, 200);
            await wire.EndsAsync();
        });

    [Theory]
    [Behaviour(
        "RFC 9112 11.2", 26,
        "Framing is checked before the method is refused.",
        NotOnKestrel = "Kestrel drops a length beside a coding.")]
    public Task Framing_is_checked_before_the_method(Site site) => Expect.EachAsync(
        ["Content-Length: 1\r\nContent-Length: 2", "Content-Length: x", "Content-Length: 5\r\nTransfer-Encoding: chunked"],
        async fields => (await site.SendAsync($"DELETE /one.txt HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n\r\n0\r\n\r\n")).Is(400));

    [Theory]
    [Behaviour("RFC 9112 9.3", 26, "A large body is read or refused: its request is answered.")]
    public async Task A_large_body_is_answered(Site site)
    {
        using Wire wire = await site.ConnectAsync();
        Task sending = wire.SendAsync($"{Post}Content-Length: 8000000\r\n\r\n{new string('b', 8_000_000)}");
        (await wire.ReadResponseAsync("POST")).Is(200, 403, 405, 413, 501);
        await sending;
    }

    [Theory]
    [Behaviour("RFC 9112 8", 26, "A request that ends within its head is not answered with success.")]
    public async Task A_cut_head_is_not_answered_with_success(Site site)
    {
        using Wire wire = await site.ConnectAsync();
        await wire.SendAsync("GET /one.txt HTTP/1.1\r\nHost: local");
        await wire.FinishSendingAsync();
        byte[] response = await wire.ReadToEndAsync();
        Expect.That(!response.AsSpan().StartsWith("HTTP/1.1 2"u8), "2xx");
    }

    /// <summary>One answer with a status of these; then either an end, or the next request is understood.</summary>
    private static async Task ResponsesOnceAsync(Site site, string request, params int[] statuses)
    {
        using Wire wire = await site.ConnectAsync();
        await wire.SendAsync(request);
        (await wire.ReadResponseAsync(request[..request.IndexOf(' ', StringComparison.Ordinal)])).Is(statuses);
        await wire.SendAsync(Site.Request("GET", "/other.txt"));
        try
        {
            (await wire.ReadResponseAsync()).IsWhole(Site.Files["/other.txt"]);
        }
        catch (Nonconformance closed) when (closed.Message == "closed without an answer")
        {
            // As good: what follows on a connection that has ended is not read as a request.
        }
    }
}
